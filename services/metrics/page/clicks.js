// Clicks over time: for an advertiser its own, for others of whom they name.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { empty, field, figures, fill, h, heading, instant, saving, select, table, tag } from "./dom.js";
import { isoMinute, number, toInput, utc } from "./format.js";

const HOUR = 3600e3;
const ROWS_SHOWN = 50;
const GROUPS = [["", "nothing"], ["ad", "ad"], ["campaign", "campaign"], ["country", "country"], ["device", "device"]];
const COLUMN = { advertiser: "advertiser_id", campaign: "campaign_id", ad: "ad_id", country: "country", device: "device" };
const PATH = "/v1/ads/metrics";
const FAR = 72 * HOUR;

// Up to now; where nothing was counted for days, up to a while after what is final.
function firstEnd(me) {
  const now = Date.parse(me.now);
  const until = me.final_until ? Date.parse(me.final_until) : now;
  const end = now - until > FAR ? until + 12 * HOUR : now;
  return new Date(Math.ceil(end / HOUR) * HOUR);
}

function moment(label, date) {
  const input = h("input", { type: "datetime-local", required: true, value: toInput(date) });
  const hint = h("span", { class: "hint" });
  const tell = () => hint.replaceChildren(input.value ? utc(new Date(input.value).toISOString()) : "choose a time");
  input.addEventListener("input", tell);
  tell();
  return { input, tell, part: field(label, input, hint) };
}

export function clicks(me) {
  const end = firstEnd(me);
  const from = moment("From", new Date(end - 24 * HOUR));
  const to = moment("To", end);
  const granularity = select([["minute", "minute"], ["hour", "hour"], ["day", "day (UTC)"]], "hour");
  const isAdvertiser = me.role === "advertiser";
  const group = select(isAdvertiser ? GROUPS : [...GROUPS, ["advertiser", "advertiser"]], "ad");
  const id = (placeholder) => h("input", { inputmode: "numeric", size: 6, placeholder, autocomplete: "off" });
  const [ads, campaign, advertiser] = [id("all"), id("all"), id("all")];
  const place = h("div", { id: "answer", class: "card", "aria-live": "off" });
  const question = () => ({
    from: isoMinute(new Date(from.input.value)), to: isoMinute(new Date(to.input.value)), granularity: granularity.value,
    ad_ids: ads.value.replace(/\s/g, "") || null, campaign_id: campaign.value.trim() || null,
    advertiser_id: advertiser.value.trim() || null,
  });
  const show = () => fill(place, async () => {
    const asked = question();
    const total = await get(PATH, { ...asked, group_by: "" });
    const grouped = group.value ? await get(PATH, { ...asked, group_by: group.value }) : total;
    return parts(total, grouped, { ...asked, group_by: group.value });
  });
  const last = (hours, grain) => h("button", {
    type: "button",
    onclick: () => {
      from.input.value = toInput(new Date(end - hours * HOUR));
      to.input.value = toInput(end);
      granularity.value = grain;
      from.tell();
      to.tell();
      show();
    },
  }, hours > 24 ? `${hours / 24} days` : "24 hours");
  const form = h("form", {
    class: "filters",
    onsubmit: (event) => {
      event.preventDefault();
      show();
    },
  },
  from.part, to.part, field("By", granularity), field("Group table by", group), field("Ads", ads), field("Campaign", campaign),
  isAdvertiser ? null : field("Advertiser", advertiser),
  h("button", { class: "first" }, "Show"));
  show();
  return [
    heading("Clicks", isAdvertiser ? `All ads of advertiser ${me.advertiser_id}` : "All advertisers, or one of them"),
    h("section", { class: "card", "aria-label": "What to show" }, form,
      h("div", { class: "row" }, h("span", { class: "hint" }, "The last"), last(24, "hour"), last(168, "hour"), last(720, "day"))),
    place,
  ];
}

function parts(total, grouped, asked) {
  const sum = (isFinal) => total.rows.filter((row) => row.final === isFinal).reduce((all, row) => all + Number(row.clicks), 0);
  const head = figures([
    ["Final clicks", number(sum(true))],
    ["Live clicks", number(sum(false))],
    ["Final until", instant(total.final_until)],
    ["Closed until", instant(total.closed_until)],
  ]);
  if (!total.rows.length) {
    return [head, empty("No clicks in this range. Widen it, or take filters away.")];
  }
  const file = (format) => () => ({ ...asked, format });
  return [
    h("h2", null, "Clicks over time"), ...chart(total), head,
    h("div", { class: "head" }, h("h2", null, "Each figure"),
      h("div", { class: "row" }, saving("Save as CSV", `${PATH}/file`, file("csv")), saving("Save as Excel", `${PATH}/file`, file("xlsx")))),
    rows(grouped, asked.group_by),
  ];
}

// A long answer grows by the button, newest first.
function rows(answer, group) {
  const column = COLUMN[group];
  const sorted = [...answer.rows].reverse();
  const place = h("div");
  const columns = [
    { name: `Start of the ${answer.granularity}`, of: (row) => instant(row.bucket) },
    ...(column ? [{ name: group[0].toUpperCase() + group.slice(1), of: (row) => String(row[column]) }] : []),
    { name: "Clicks", of: (row) => row.clicks, isNumber: true },
    { name: "State", of: (row) => (row.final ? tag("final", "final") : tag("live", "live")) },
  ];
  const show = (count) => {
    const caption = `Clicks by ${answer.granularity}${group ? ` and ${group}` : ""}, newest first: ${number(Math.min(count, sorted.length))} of ${number(sorted.length)} rows`;
    const more = h("button", { type: "button", onclick: () => show(count + 10 * ROWS_SHOWN) }, "Show more rows");
    place.replaceChildren(table(caption, columns, sorted.slice(0, count)), ...(count < sorted.length ? [h("div", { class: "row pager" }, more)] : []));
  };
  show(ROWS_SHOWN);
  return place;
}
