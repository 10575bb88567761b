// The API of this origin, with the reader's token. The token lives as long as the tab and is never part of an address.

const KEY = "tallystick-token";
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d{16,}/g;

export const token = {
  get: () => sessionStorage.getItem(KEY),
  keep: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

export class Refusal extends Error {
  constructor(status, said) {
    super(said.found);
    Object.assign(this, { status, ...said });
  }
}

// A part that is null is left out; an empty one is sent, since it may mean something.
function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

async function ask(path, parameters) {
  let response;
  try {
    response = await fetch(address(path, parameters), {
      headers: { Authorization: `Bearer ${token.get()}` }, cache: "no-store", credentials: "omit", redirect: "error",
    });
  } catch {
    throw new Refusal(0, {
      error: "unreachable", found: "the metrics process does not answer", expected: "an answer",
      remedy: "try again; if it lasts, tell the operator",
    });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({
    error: "unknown", found: `status ${response.status}`, expected: "an answer", remedy: "tell the operator",
  }));
  throw new Refusal(response.status, said);
}

// Ids of 16 digits and more become text: JavaScript would round them.
export async function get(path, parameters = {}) {
  const text = await (await ask(path, parameters)).text();
  return JSON.parse(text.replace(LONG_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`)));
}

export async function download(path, parameters = {}) {
  const response = await ask(path, parameters);
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") || "");
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name ? name[1] : "download";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
