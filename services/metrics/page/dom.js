// Elements, tables and states. Text from outside only ever becomes text, never markup.

import { download, Refusal } from "./api.js";
import { local, number, utc, zoneName } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function instant(iso) {
  if (!iso) return "–";
  return h("time", { datetime: iso, title: zoneName(iso) }, local(iso), h("span", { class: "utc" }, utc(iso)));
}

export function tag(kind, text) {
  return h("span", { class: `tag ${kind}` }, text);
}

export function short(text) {
  return text ? h("code", { class: "short", title: text }, text) : "–";
}

export function card(title, ...children) {
  return h("section", { class: "card", "aria-label": title }, h("div", { class: "head" }, h("h2", null, title)), children);
}

export function heading(title, lead) {
  document.title = `${title} – Tallystick`;
  return h("div", null, h("h1", null, title), lead ? h("p", { class: "lead" }, lead) : null);
}

export function figures(pairs) {
  return h("dl", { class: "figures" }, pairs.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

// columns: {name, of, isNumber}; the first one heads its row.
export function table(caption, columns, rows) {
  const kind = (column) => (column.isNumber ? { class: "number" } : {});
  const cell = (column, row, index) => {
    const value = column.of(row);
    const shown = column.isNumber && (typeof value === "number" || typeof value === "string") ? number(value) : value ?? "–";
    return h(index ? "td" : "th", index ? kind(column) : { ...kind(column), scope: "row" }, shown);
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", null,
      h("caption", null, caption),
      h("thead", null, h("tr", null, columns.map((column) => h("th", { ...kind(column), scope: "col" }, column.name)))),
      h("tbody", null, rows.map((row) => h("tr", null, columns.map((column, index) => cell(column, row, index)))))));
}

export function empty(text, ...more) {
  return h("div", { class: "note" }, h("p", null, text), more);
}

export function problem(error) {
  if (!(error instanceof Refusal)) throw error;
  return h("div", { class: "note error", role: "alert" },
    h("p", null, h("strong", null, "Not possible: "), error.found, "."),
    h("p", null, `Expected: ${error.expected}. What to do: ${error.remedy}.`));
}

// Fills a place by what `make` resolves to; says meanwhile that it loads, and what is wrong if it fails.
// A later call for the same place wins over an earlier one that answers late.
const turns = new WeakMap();
export async function fill(place, make) {
  const turn = (turns.get(place) || 0) + 1;
  turns.set(place, turn);
  place.dataset.place = "";
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(h("p", { class: "loading", role: "status" }, "Loading"));
  let found;
  try {
    found = await make();
  } catch (error) {
    if (error.status === 401) {
      dispatchEvent(new CustomEvent("signed-out", { detail: error }));
      return;
    }
    found = problem(error);
  }
  if (turns.get(place) !== turn) return;
  place.replaceChildren(...[found].flat(3).filter(Boolean));
  place.removeAttribute("aria-busy");
}

// A place that pages through an answer with offset and total_count.
export function paged(limit, load) {
  const place = h("div", { class: "pages" });
  const show = (offset) => fill(place, async () => {
    const { content, total_count: total, has_more: more } = await load({ limit, offset });
    const next = total === undefined ? more : offset + limit < total;
    if (!offset && !next) return content;
    const of = total === undefined ? "" : ` of ${number(total)}`;
    const last = total === undefined ? offset + limit : Math.min(offset + limit, total);
    return [content, h("div", { class: "row pager" },
      h("button", { type: "button", disabled: !offset, onclick: () => show(Math.max(0, offset - limit)) }, "Previous"),
      h("button", { type: "button", disabled: !next, onclick: () => show(offset + limit) }, "Next"),
      h("span", { class: "hint" }, `${number(offset + 1)} to ${number(last)}${of}`))];
  });
  show(0);
  return place;
}

export function saving(label, path, parameters) {
  const said = h("span", { role: "status", class: "hint" });
  const button = h("button", {
    type: "button",
    onclick: async () => {
      button.disabled = true;
      said.replaceChildren("Preparing the file");
      try {
        await download(path, parameters());
        said.replaceChildren("Saved");
      } catch (error) {
        said.replaceChildren(problem(error));
      }
      button.disabled = false;
    },
  }, label);
  return h("span", { class: "row" }, button, said);
}

export function field(label, control, hint) {
  control.id = control.id || `field-${label.toLowerCase().replace(/\W+/g, "-")}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, hint);
}

export function select(options, value) {
  return h("select", null, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
}
