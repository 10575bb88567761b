// Signing in, and which view is shown. What a role may see is decided by the API; here it only decides what is offered.

import { get, token } from "./api.js";
import { audit } from "./audit.js";
import { clicks } from "./clicks.js";
import { card, h, heading, problem } from "./dom.js";
import { finance, statement } from "./finance.js";
import { zone } from "./format.js";
import { operation } from "./operation.js";

const VIEWS = {
  clicks: { name: "Clicks", roles: ["advertiser", "finance", "auditor", "operator", "approve"], show: clicks },
  statements: { name: "Statements", roles: ["advertiser"], show: (me) => [heading("Statements", "What is billed, by closed month"), card("Save a statement", statement(me))] },
  books: { name: "Books", roles: ["finance", "auditor", "approve"], show: finance },
  audit: { name: "Audit", roles: ["auditor", "finance"], show: audit },
  operation: { name: "Operation", roles: ["operator"], show: operation },
};
const FIRST = { advertiser: "clicks", finance: "books", auditor: "audit", operator: "operation", approve: "books" };

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const who = document.getElementById("who");
let me = null;

function route() {
  const [name, query] = location.hash.replace(/^#\//, "").split("?");
  const isOffered = VIEWS[name] && VIEWS[name].roles.includes(me.role);
  return [isOffered ? name : FIRST[me.role], new URLSearchParams(isOffered ? query : "")];
}

function show() {
  if (location.hash === "#main") return;
  if (!me) return;
  const [name, asked] = route();
  nav.replaceChildren(...Object.entries(VIEWS).filter(([, view]) => view.roles.includes(me.role)).map(([key, view]) => h("a", { href: `#/${key}`, "aria-current": key === name && "page" }, view.name)));
  who.replaceChildren(h("span", { class: "hint" }, `times of ${zone} beside UTC`), h("span", null, me.advertiser_id ? `advertiser ${me.advertiser_id}` : me.person ? `${me.person}, ${me.role}` : me.role), h("button", { type: "button", onclick: () => signOut() }, "Sign out"));
  main.replaceChildren(...VIEWS[name].show(me, asked).filter(Boolean));
}

function signOut(reason) {
  token.forget();
  me = null;
  nav.replaceChildren();
  who.replaceChildren();
  signIn(reason);
}

function signIn(reason) {
  const text = h("textarea", { id: "token", required: true, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  const said = h("div", null, reason ? problem(reason) : null);
  const form = h("form", {
    class: "card",
    onsubmit: (event) => {
      event.preventDefault();
      token.keep(text.value.trim());
      enter();
    },
  },
  h("div", { class: "field" }, h("label", { for: "token" }, "Your token"), text,
    h("span", { class: "hint" }, "It stays in this tab until you close it or sign out.")),
  said, h("div", { class: "row" }, h("button", { class: "first" }, "Sign in")));
  main.replaceChildren(h("div", { class: "sign-in card" }, heading("Clicks that were counted twice", "Sign in with the token that your operator made by tallystick token."), form));
  text.focus();
}

async function enter() {
  main.replaceChildren(h("p", { class: "loading", role: "status" }, "Loading"));
  try {
    me = await get("/v1/me");
  } catch (error) {
    signOut(error);
    return;
  }
  show();
}

addEventListener("hashchange", show);
addEventListener("signed-out", (event) => signOut(event.detail));
if (token.get()) enter();
else signIn();
