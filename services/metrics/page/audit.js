// Auditors: an hour with its equation, and disputes down to the single click, with the pack.

import { get } from "./api.js";
import { card, empty, field, figures, fill, h, heading, instant, paged, saving, table, tag } from "./dom.js";
import { local, money, number, signed, utc } from "./format.js";
import { reasons, sealTable } from "./seals.js";

const ROWS = 20;
const HOUR = 3600e3;

export function audit(me, asked) {
  const last = me.final_until ? `${new Date(Date.parse(me.final_until) - HOUR).toISOString().slice(0, 13)}:00:00Z` : null;
  const chosen = asked.get("hour") || last;
  const detail = h("div");
  const disputes = card("Disputes", paged(ROWS, (page) => list(page, detail)), detail);
  if (asked.get("case")) fill(detail, () => dispute(asked.get("case")));
  return [
    heading("Audit", "Each raw click of an hour is billable, or excluded for a reason"),
    chosen ? hour(chosen) : empty("Nothing is final yet. An hour can be looked at once it is sealed."),
    disputes,
  ];
}

function hour(at) {
  const input = h("input", { type: "datetime-local", step: "3600", required: true, value: at.slice(0, 16) });
  const form = h("form", {
    class: "filters",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/audit?hour=${input.value.slice(0, 13)}:00:00Z`;
    },
  }, field("Hour (UTC)", input, h("span", { class: "hint" }, `${local(at)} here`)), h("button", { class: "first" }, "Show"));
  return card(`Hour ${utc(at)}`, form, paged(ROWS, async (page) => {
    const found = await get(`/v1/hours/${at}`, page);
    return { ...found, content: equation(found) };
  }));
}

function equation(found) {
  if (!found.is_final) return empty("This hour is not sealed and published yet: its clicks are in no final figure. Choose an earlier one.");
  const seal = found.seals[0];
  const terms = Object.entries(seal.excluded_clicks).map(([reason, count]) => ` + ${number(count)} ${reason.replaceAll("_", " ")}`);
  const isWhole = !found.violations.length;
  return [
    h("p", { class: "equation", id: "equation" }, `${number(seal.raw_clicks)} raw = ${number(seal.billable_clicks)} billable${terms.join("")} `, isWhole ? tag("good", "adds up") : tag("bad", "does not add up")),
    isWhole ? null : h("ul", { class: "plain note error" }, found.violations.map((one) => h("li", null, one))),
    found.total_count ? table("Each advertiser up to the cut of the seal", [
      { name: "Advertiser", of: (row) => String(row.advertiser_id) },
      { name: "Raw", of: (row) => row.raw_clicks, isNumber: true },
      { name: "Billable", of: (row) => row.billable_clicks, isNumber: true },
      { name: "Excluded, by reason", of: (row) => reasons(row.excluded_clicks) },
      { name: "", of: (row) => (row.is_conserved ? tag("good", "adds up") : tag("bad", "does not")) },
    ], found.rows) : empty("No click in this hour. It is sealed all the same."),
    h("h2", null, "Its seals"), sealTable(found.seals, "Revisions of this hour, the one that holds first"),
  ];
}

async function list(page, detail) {
  const found = await get("/v1/disputes", page);
  if (!found.total_count) {
    return { ...found, content: empty("No disputes. ", h("p", null, h("code", null, "tallystick dispute open"), " opens one.")) };
  }
  const open = (row) => h("button", { type: "button", onclick: () => fill(detail, () => dispute(row.case_id)) }, `Look into ${row.case_id}`);
  const content = table("Newest first", [
    { name: "Case", of: (row) => row.case_id },
    { name: "State", of: (row) => tag(row.state === "open" ? "open" : "closed", row.state) },
    { name: "Advertiser", of: (row) => String(row.advertiser_id) },
    { name: "From", of: (row) => instant(row.start) },
    { name: "To", of: (row) => instant(row.end) },
    { name: "Claimed", of: (row) => row.claimed_clicks, isNumber: true },
    { name: "Claim", of: (row) => row.claim },
    { name: "", of: open },
  ], found.rows);
  return { ...found, content };
}

async function dispute(id) {
  const path = `/v1/disputes/${encodeURIComponent(id)}`;
  const found = await get(path, { limit: 500 });
  const costs = Object.entries(found.amounts_micros).map(([currency, micros]) => money(micros, currency)).join(", ");
  return [
    h("div", { class: "head" }, h("h2", null, `Dispute ${id}`), saving("Save the pack", `${path}/pack`, () => ({}))),
    figures([
      ["Billed in the range", number(found.billable_clicks)],
      ["Claimed", number(found.dispute.claimed_clicks)],
      ["Amount", costs || "no price"],
    ]),
    warning(found.missing_hours, "is not sealed and published yet: its clicks are in no figure"),
    warning(found.incomplete_hours, "has lost raw events: excluded clicks may be missing"),
    table("By hour and ad", [
      { name: "Hour", of: (row) => h("a", { href: `#/audit?hour=${row.hour}&case=${id}` }, instant(row.hour)) },
      { name: "Ad", of: (row) => String(row.ad_id) },
      { name: "Billable", of: (row) => row.billable_clicks, isNumber: true },
      { name: "Not billable", of: (row) => reasons(row.excluded_clicks) },
    ], found.rows),
    h("details", null, h("summary", null, "Each click, with what became of it and why"), later(() => paged(ROWS, (page) => clicks(`${path}/clicks`, page)))),
    found.adjustments.length ? table("Adjustments of its hours", [
      { name: "Case", of: (row) => row.case_id },
      { name: "Charge hour", of: (row) => instant(row.charge_hour) },
      { name: "Clicks", of: (row) => h("span", null, signed(row.delta_clicks)), isNumber: true },
      { name: "Reason", of: (row) => row.reason },
    ], found.adjustments) : null,
    sealTable(found.seals, "Seals of its hours"),
    table("What happened", [
      { name: "When", of: (row) => instant(row.recorded_at) },
      { name: "What", of: (row) => row.kind },
      { name: "Who", of: (row) => row.actor },
      { name: "Says", of: (row) => row.reason },
    ], found.dispute.events),
  ];
}

// Loads when it is opened for the first time: single clicks are read from raw.
function later(make) {
  const place = h("div");
  queueMicrotask(() => place.closest("details").addEventListener("toggle", () => place.childElementCount || place.append(make())));
  return place;
}

async function clicks(path, page) {
  const found = await get(path, page);
  const content = table("Click events of the hours of the dispute, by log position", [
    { name: "Position", of: (row) => h("code", null, `${row.log}:${row.partition}:${row.offset}`) },
    { name: "Clicked", of: (row) => instant(row.clicked_at) },
    { name: "Impression", of: (row) => h("code", null, row.impression_id) },
    { name: "Ad", of: (row) => String(row.ad_id) },
    { name: "Outcome", of: (row) => tag(row.outcome === "billable" ? "good" : "live", (row.reason || row.outcome).replaceAll("_", " ")) },
    { name: "Why", of: (row) => row.why },
  ], found.rows);
  return { ...found, content };
}

function warning(hours, text) {
  return hours.length ? h("ul", { class: "plain note warn" }, hours.map((at) => h("li", null, `Hour ${utc(at)} ${text}.`))) : null;
}
