// The table of seals, which finance and auditors look at.

import { h, instant, short, table } from "./dom.js";
import { number } from "./format.js";

export function reasons(counted) {
  const said = Object.entries(counted).filter(([, count]) => Number(count)).map(([reason, count]) => `${number(count)} ${reason.replaceAll("_", " ")}`);
  return said.join(", ") || "none";
}

export function sealTable(rows, caption) {
  return table(caption, [
    { name: "Seal", of: (row) => h("span", null, String(row.seal_number)), isNumber: true },
    { name: "Hour", of: (row) => h("a", { href: `#/audit?hour=${row.hour}` }, instant(row.hour)) },
    { name: "Revision", of: (row) => row.revision, isNumber: true },
    { name: "Raw", of: (row) => row.raw_clicks, isNumber: true },
    { name: "Billable", of: (row) => row.billable_clicks, isNumber: true },
    { name: "Digest", of: (row) => short(row.digest) },
    { name: "Hash", of: (row) => short(row.hash) },
    { name: "Sealed", of: (row) => instant(row.sealed_at) },
    { name: "By", of: (row) => [row.actor, row.case_id ? h("div", { class: "hint" }, `${row.case_id}: ${row.reason}`) : null] },
  ], rows);
}
