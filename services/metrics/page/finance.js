// Finance: periods and what keeps one open, drift, adjustments, statements, the chain of seals.

import { get } from "./api.js";
import { card, empty, field, figures, fill, h, heading, instant, paged, saving, select, short, table, tag } from "./dom.js";
import { money, number, signed, zone } from "./format.js";
import { sealTable } from "./seals.js";

const ROWS = 20;
const STATE = { open: "open", over: "over, not closed", closed: "closed" };

export function finance(me) {
  const detail = h("div");
  return [
    heading("Books", "What is billed, what may still move, and why"),
    figures([
      ["Final until", instant(me.final_until)],
      ["Closed until", instant(me.closed_until)],
      ["Publication", number(me.publication_number)],
    ]),
    card("Billing periods", paged(ROWS, (page) => periods(page, detail)), detail),
    card("Statements", statement(me)),
    card("Adjustments", paged(ROWS, adjustments)),
    card("Drift: live against final", drift(me)),
    card("Seals", paged(ROWS, seals)),
  ];
}

async function periods(page, detail) {
  const found = await get("/v1/periods", page);
  if (!found.total_count) return { ...found, content: empty("No hour is sealed yet. A period appears with its first sealed hour.") };
  const why = (row) => h("button", { type: "button", onclick: () => fill(detail, () => keepsOpen(row.period)) }, `What keeps ${row.period} open`);
  const content = table("Billing periods are UTC months, newest first", [
    { name: "Period", of: (row) => row.period },
    { name: "State", of: (row) => tag(row.state, STATE[row.state]) },
    { name: "Sealed hours", of: (row) => h("span", null, `${number(row.sealed_hour_count)} of ${number(row.hour_count)}`), isNumber: true },
    { name: "Billable clicks", of: (row) => row.billable_clicks, isNumber: true },
    { name: "Closed", of: (row) => (row.closed_at ? [instant(row.closed_at), `by ${row.closed_by}`] : why(row)) },
    { name: "Root digest", of: (row) => short(row.root_digest) },
  ], found.rows);
  return { ...found, content };
}

async function keepsOpen(period) {
  const found = await get(`/v1/periods/${period}`);
  const disputes = found.open_disputes.map((one) => h("li", null, `Dispute ${one.case_id} of advertiser ${one.advertiser_id} is open: its outcome will be an adjustment.`));
  if (!found.reason_count) {
    return h("div", { class: "note good" }, h("p", null, `Nothing known stands against closing ${period}. `, h("code", null, `tallystick period close ${period} --actor NAME`), " recounts every hour from raw, then closes it."),
      h("ul", { class: "plain" }, disputes));
  }
  return h("div", { class: "note warn" }, h("p", null, h("strong", null, `${period} cannot be closed yet:`)),
    h("ul", { class: "plain" }, found.reasons.map((reason) => h("li", null, reason)), disputes),
    found.reason_count > found.reasons.length ? h("p", null, `and ${number(found.reason_count - found.reasons.length)} more`) : null);
}

export function statement(me) {
  const place = h("div");
  fill(place, async () => {
    const closed = await get("/v1/statements", { limit: 500 });
    if (!closed.total_count) return empty("No period is closed yet. A statement exists from the close of its period on.");
    const period = select(closed.rows.map((row) => [row.period, row.period]));
    const advertiser = h("input", { inputmode: "numeric", required: true, size: 12, autocomplete: "off", id: "statement-advertiser" });
    const days = select([...new Set(["UTC", zone])].map((name) => [name, name]), zone);
    const isOwn = me.role === "advertiser";
    const asked = (format) => () => ({ advertiser_id: isOwn ? null : advertiser.value.trim() || null, time_zone: days.value, format });
    const buttons = h("div", { class: "row" });
    const show = () => buttons.replaceChildren(...[["csv", "CSV"], ["xlsx", "Excel"], ["parquet", "Parquet"]].map(([format, name]) => saving(`Save as ${name}`, `/v1/statements/${period.value}`, asked(format))));
    period.addEventListener("change", show);
    show();
    return [h("div", { class: "filters row" }, field("Period", period), isOwn ? null : field("Advertiser", advertiser), field("Days of", days)), buttons];
  });
  return place;
}

async function adjustments(page) {
  const found = await get("/v1/adjustments", page);
  if (!found.total_count) return { ...found, content: empty("No adjustments. They appear when something is found out about a closed period.") };
  const content = table("Differences of closed periods, newest first", [
    { name: "Case", of: (row) => `${row.case_id}, ${row.line_number}` },
    { name: "Charge hour", of: (row) => instant(row.charge_hour) },
    { name: "Advertiser", of: (row) => String(row.advertiser_id) },
    { name: "Ad", of: (row) => String(row.ad_id) },
    { name: "Clicks", of: (row) => h("span", null, signed(row.delta_clicks)), isNumber: true },
    { name: "Amount", of: (row) => h("span", null, money(row.amount_micros, row.currency)), isNumber: true },
    { name: "Billed in", of: (row) => row.billing_period },
    { name: "Reason", of: (row) => row.reason },
    { name: "Asked, approved", of: (row) => `${row.requested_by}, ${row.approved_by}` },
  ], found.rows);
  return { ...found, content };
}

function drift(me) {
  if (!me.final_until) return empty("Nothing is final yet. Drift is known once an hour is sealed.");
  const end = new Date(me.final_until);
  const place = h("div");
  const days = select([["1", "last day"], ["7", "last 7 days"], ["31", "last 31 days"]], "7");
  const load = () => {
    const from = `${new Date(end - days.value * 86400e3).toISOString().slice(0, 13)}:00Z`;
    place.replaceChildren(paged(ROWS, (page) => drifted({ ...page, from, to: me.final_until })));
  };
  days.addEventListener("change", load);
  load();
  return [h("div", { class: "row" }, field("Final hours of the", days)), place];
}

async function drifted(asked) {
  const found = await get("/v1/drift", asked);
  if (!found.total_count) return { ...found, content: empty("No clicks in these hours. Take a longer range.") };
  const summaries = table(`By advertiser, the largest error first: ${number(found.summaries.length)} of ${number(found.advertiser_count)}`, [
    { name: "Advertiser", of: (row) => String(row.advertiser_id) },
    { name: "Hours", of: (row) => row.hour_count, isNumber: true },
    { name: "Within bar, per mille", of: (row) => row.within_bar_per_mille, isNumber: true },
    { name: "Live", of: (row) => row.live_clicks, isNumber: true },
    { name: "Final", of: (row) => row.final_clicks, isNumber: true },
    { name: "Median error", of: (row) => row.median_error_clicks, isNumber: true },
    { name: "Largest error", of: (row) => row.largest_error_clicks, isNumber: true },
    { name: "in hour", of: (row) => instant(row.largest_error_hour) },
  ], found.summaries);
  const hours = table("By hour and advertiser, newest first", [
    { name: "Hour", of: (row) => h("a", { href: `#/audit?hour=${row.hour}` }, instant(row.hour)) },
    { name: "Advertiser", of: (row) => String(row.advertiser_id) },
    { name: "Live", of: (row) => row.live_clicks, isNumber: true },
    { name: "Final", of: (row) => row.final_clicks, isNumber: true },
    { name: "Difference", of: (row) => h("span", null, signed(row.difference_clicks)), isNumber: true },
    { name: "Alert", of: (row) => (row.is_alert ? tag("bad", "alert") : "no") },
  ], found.rows);
  return { ...found, content: [summaries, h("details", null, h("summary", null, "Hour by hour"), hours)] };
}

async function seals(page) {
  const found = await get("/v1/seals", page);
  if (!found.total_count) return { ...found, content: empty("No hour is sealed yet.") };
  const chain = found.is_chain_whole
    ? h("p", null, tag("good", "chain is whole"), " head ", short(found.head_hash))
    : h("div", { class: "note error", role: "alert" }, h("p", null, h("strong", null, "The chain is broken.")), h("ul", { class: "plain" }, found.findings.map((one) => h("li", null, one))));
  return { ...found, content: [chain, sealTable(found.rows, "Seals, newest first")] };
}
