// Clicks over time as bars: what is final is filled, what is live is hatched, and a line with a label parts the two.

import { h, s } from "./dom.js";
import { local, localClock, localDay, number, utc } from "./format.js";

const WIDEST = 1000;
const NARROWEST = 300;
const HEIGHT = 300;
const LEFT = 52;
const TICK_WIDTH = 150;
const RIGHT = 12;
const TOP = 34;
const BOTTOM = 34;
const LENGTH = { minute: 60e3, hour: 3600e3, day: 86400e3 };
const LABEL_WIDTH = 190;

// The top of the scale: 1, 2 or 5 times a power of ten for each of four steps.
function scaleTop(most) {
  const rough = Math.max(1, most) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((found) => found >= rough);
  return Math.max(1, Math.ceil(step)) * 4;
}

export function legend() {
  const key = (content) => s("svg", { width: 18, height: 12, class: "key", "aria-hidden": "true" }, content);
  return h("div", { class: "legend" },
    h("span", null, key(s("rect", { width: 18, height: 12, class: "final" })), "final: sealed, this is billed"),
    h("span", null, key([hatch("hatch-key"), s("rect", { x: 0.5, y: 0.5, width: 17, height: 11, fill: "url(#hatch-key)", class: "live-edge-key" })]), "live: an estimate, it still moves"));
}

function hatch(id) {
  return s("defs", null, s("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { width: 7, height: 7, class: "hatch" }), s("line", { x1: 0, y1: 0, x2: 0, y2: 7, class: "hatch-line" })));
}

// As many units as there are pixels, so that text keeps its size on a phone. A card takes some 60 of them.
function widthHere() {
  return Math.min(WIDEST, Math.max(NARROWEST, document.getElementById("main").clientWidth - 60));
}

export function chart(answer) {
  const width = widthHere();
  const from = Date.parse(answer.from);
  const to = Date.parse(answer.to);
  const length = LENGTH[answer.granularity];
  const most = scaleTop(Math.max(...answer.rows.map((row) => Number(row.clicks)), 1));
  const x = (at) => LEFT + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (clicks) => HEIGHT - BOTTOM - (clicks / most) * (HEIGHT - TOP - BOTTOM);
  const bars = { final: "", live: "" };
  for (const row of answer.rows) {
    const start = x(Date.parse(row.bucket));
    const full = x(Date.parse(row.bucket) + length) - start;
    const gap = Math.min(2, full * 0.2);
    bars[row.final ? "final" : "live"] += `M${start.toFixed(2)} ${y(0)}v${(y(row.clicks) - y(0)).toFixed(2)}h${(full - gap).toFixed(2)}V${y(0)}z`;
  }
  const lines = [0, 1, 2, 3, 4].map((part) => {
    const clicks = (most / 4) * part;
    return [s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(clicks), y2: y(clicks) }),
      s("text", { x: LEFT - 8, y: y(clicks) + 4, "text-anchor": "end" }, number(clicks))];
  });
  const cursor = s("rect", { class: "cursor", y: TOP, height: HEIGHT - TOP - BOTTOM, width: 0 });
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", tabindex: "0", "aria-label": summary(answer) },
    hatch("hatch-live"), lines, times(from, to, x, width),
    s("path", { d: bars.final, class: "final", "data-part": "final" }),
    s("path", { d: bars.live, fill: "url(#hatch-live)", class: "live-fill", "data-part": "live" }),
    s("path", { d: bars.live, class: "live-edge" }),
    boundary(answer, from, to, x, width), cursor);
  const said = h("output", null, "Point at a bar, or focus the chart and use the arrow keys.");
  reading(svg, cursor, said, answer, x, length, width);
  return [legend(), svg, said];
}

function summary(answer) {
  const sum = (isFinal) => answer.rows.filter((row) => row.final === isFinal).reduce((total, row) => total + Number(row.clicks), 0);
  const until = answer.final_until ? `final until ${utc(answer.final_until)}` : "nothing is final yet";
  return `Clicks by ${answer.granularity} from ${utc(answer.from)} to ${utc(answer.to)}: ${number(sum(true))} final, ${number(sum(false))} live; ${until}. The table below has each figure.`;
}

function times(from, to, x, width) {
  const count = Math.max(2, Math.floor(width / TICK_WIDTH));
  const isLong = to - from > 2 * LENGTH.day;
  return Array.from({ length: count + 1 }, (_, index) => {
    const at = from + ((to - from) / count) * index;
    const iso = new Date(at).toISOString();
    const anchor = index === 0 ? "start" : index === count ? "end" : "middle";
    const text = isLong ? localDay(iso) : count < 4 ? localClock(iso) : `${localDay(iso)} ${localClock(iso)}`;
    return s("text", { x: x(at), y: HEIGHT - 10, "text-anchor": anchor }, text);
  });
}

// The line stands at final_until, wherever that is in the range; outside of it the chart says which side it shows.
function boundary(answer, from, to, x, width) {
  if (!answer.final_until) return s("text", { x: LEFT, y: 18, class: "boundary-text" }, "nothing is final yet: all of this is live");
  const until = Date.parse(answer.final_until);
  if (until >= to) return s("text", { x: LEFT, y: 18, class: "boundary-text" }, "all of this range is final");
  if (until <= from) return s("text", { x: LEFT, y: 18, class: "boundary-text" }, "all of this range is live");
  const at = x(until);
  const isLeft = at > width - RIGHT - LABEL_WIDTH;
  return s("g", { "data-final-until": answer.final_until },
    s("line", { class: "boundary", x1: at, x2: at, y1: 8, y2: HEIGHT - BOTTOM }),
    s("text", { class: "boundary-text", x: at + (isLeft ? -8 : 8), y: 18, "text-anchor": isLeft ? "end" : "start" }, `final until ${local(answer.final_until)}`));
}

function reading(svg, cursor, said, answer, x, length, width) {
  const rows = answer.rows;
  let chosen = rows.length;
  const show = (index) => {
    if (!rows.length) return;
    chosen = Math.min(Math.max(index, 0), rows.length - 1);
    const row = rows[chosen];
    const start = Date.parse(row.bucket);
    cursor.setAttribute("x", x(start));
    cursor.setAttribute("width", x(start + length) - x(start));
    said.replaceChildren(`${local(row.bucket)} (${utc(row.bucket)}): ${number(row.clicks)} clicks, ${row.final ? "final" : "live"}`);
  };
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -rows.length, End: rows.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(chosen + step);
  });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const after = rows.findIndex((row) => x(Date.parse(row.bucket)) > at);
    show((after < 0 ? rows.length : after) - 1);
  });
}
