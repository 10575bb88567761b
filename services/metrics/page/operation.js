// Operators: lag, freshness, the last batches, what the next seal waits for, alerts.

import { get } from "./api.js";
import { card, empty, figures, fill, h, heading, instant, table, tag } from "./dom.js";
import { number, seconds } from "./format.js";

export function operation() {
  const place = h("div", { class: "card" });
  const show = () => fill(place, async () => state(await get("/v1/status")));
  show();
  return [
    h("div", { class: "head" }, heading("Operation", "How the installation is doing now"), h("button", { type: "button", onclick: show }, "Look again")),
    place,
  ];
}

function state(found) {
  const lag = (query) => (found.lag ? number(Object.values(found.lag.events[query] || {}).reduce((all, one) => all + one, 0)) : "not known");
  const fresh = found.freshness_seconds;
  return [
    found.alerts.length
      ? h("div", { class: "note error", role: "alert" }, h("p", null, h("strong", null, "Alerts")), h("ul", { class: "plain" }, found.alerts.map((one) => h("li", null, one))))
      : h("p", null, tag("good", "no alerts")),
    figures([
      ["Stream", found.is_stream_running ? "runs" : "does not run"],
      ["Live is behind by", lag("live")],
      ["Archive is behind by", lag("archive")],
      ["Freshness, p95", fresh ? seconds(fresh.p95) : "not known"],
      ["Freshness, worst", fresh ? seconds(fresh.worst) : "not known"],
      ["Final until", instant(found.final_until)],
    ]),
    h("h2", null, "The next seal"), next(found.next_seal),
    found.lag ? partitions(found.lag.events) : empty("The log does not answer, so nothing is known of lag. ", h("p", null, h("code", null, "tallystick broker"), " starts the embedded one.")),
    h("h2", null, "The last batches"), batches(found.batches),
  ];
}

function next(seal) {
  if (!seal) return empty("No click is archived yet. The first hour is sealed after it ended.");
  const expected = h("p", null, "Expected ", seal.expected_at ? instant(seal.expected_at) : "at a time that nobody can tell");
  if (!seal.waits_for.length) return h("div", { class: "note good" }, h("p", null, "Hour ", instant(seal.hour), " may be sealed now."));
  return h("div", { class: "note warn inline" }, h("p", null, "Hour ", instant(seal.hour), " waits for:"),
    h("ul", { class: "plain" }, seal.waits_for.map((one) => h("li", null, one))), expected);
}

function partitions(events) {
  const names = Object.keys(events);
  const numbers = [...new Set(names.flatMap((name) => Object.keys(events[name])))].sort((a, b) => a - b);
  return table("Records of the log that were not looked at yet", [
    { name: "Partition", of: (row) => row },
    ...names.map((name) => ({ name, of: (row) => events[name][row] ?? null, isNumber: true })),
  ], numbers);
}

function batches(rows) {
  if (!rows.length) return empty("No batch in the last hour.");
  return table("Newest first", [
    { name: "Ended", of: (row) => instant(row.ended_at) },
    { name: "Query", of: (row) => row.query },
    { name: "Took", of: (row) => h("span", null, seconds((Date.parse(row.ended_at) - Date.parse(row.started_at)) / 1000)), isNumber: true },
    { name: "In", of: (row) => row.in_count, isNumber: true },
    { name: "Duplicate", of: (row) => row.duplicate_count, isNumber: true },
    { name: "Late", of: (row) => row.late_count, isNumber: true },
    { name: "Counted", of: (row) => row.counted_count, isNumber: true },
  ], rows);
}
