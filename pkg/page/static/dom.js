// Elements and the text in them. All that is shown goes through el, as text: a
// server's words are never markup, and what would hide or turn them is written
// out (threat T27).
import { h, Fragment } from "./preact.js";

// Controls, marks of direction, what takes no room, and tags.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export const clean = (text) =>
  text.replace(unseen, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

const child = (kid) =>
  typeof kid === "string" ? clean(kid) : Array.isArray(kid) ? kid.map(child) : kid;

export const el = (tag, props, ...kids) => h(tag, props, ...kids.map(child));
export const several = (...kids) => h(Fragment, null, ...kids.map(child));

// button is one that does something; what it says is what it does.
export const button = (text, onClick, more) => el("button", { type: "button", onClick, ...more }, text);

// fact is a term and what it is, left out when there is nothing to say.
export const fact = (term, ...what) =>
  what.some((w) => w !== "" && w !== null && w !== undefined && w !== false) && el("div", { class: "fact" }, el("dt", null, term), el("dd", null, ...what));

// refusal is an error of the daemon's, with what to do.
export const refusal = (error) =>
  error && el("div", { class: "refusal", role: "alert" }, el("p", null, error.msg), error.hint && el("p", { class: "hint" }, error.hint));
