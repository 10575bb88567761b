// Numbers and instants as a reader wants them. An instant comes as ISO 8601 in UTC and is shown in the reader's zone.

const counts = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { year: "numeric", month: "short", day: "2-digit" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const offset = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" });

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

// Numbers that JavaScript cannot hold arrive as text (api.js).
export function number(value) {
  return value === null || value === undefined ? "–" : counts.format(typeof value === "string" ? BigInt(value) : value);
}

export function signed(value) {
  return value > 0 ? `+${number(value)}` : number(value);
}

export function money(micros, currency) {
  return micros === null || micros === undefined ? "–" : `${counts.format(Number(micros) / 1e6)} ${currency}`;
}

export function seconds(value) {
  return value === null || value === undefined ? "–" : `${value.toFixed(1)} s`;
}

export function local(iso) {
  const at = new Date(iso);
  return `${day.format(at)}, ${clock.format(at)}`;
}

export function localClock(iso) {
  return clock.format(new Date(iso));
}

export function localDay(iso) {
  return day.format(new Date(iso)).slice(0, 6);
}

export function utc(iso) {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

export function zoneName(iso) {
  return offset.formatToParts(new Date(iso)).find((part) => part.type === "timeZoneName").value;
}

// What <input type="datetime-local"> holds of an instant, and back.
export function toInput(date) {
  const two = (value) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function isoMinute(date) {
  return `${date.toISOString().slice(0, 16)}Z`;
}
