// What stands around the rest.
import { el, refusal } from "./dom.js";
import { state } from "./store.js";
import { ago, count, memory } from "./words.js";

export const blank = (ended) =>
  el("main", { class: "blank" }, el("h1", null, "mcpx"), ended ? refusal(ended) : el("p", { role: "status" }, "asking the daemon"));

export function header() {
  const { daemon, sessions, servers, instances } = state.status;
  const links = [["Sessions", sessions.length], ["Servers", new Set([...servers.map((s) => s.name), ...instances.map((i) => i.server)]).size], ["Rules", state.rules?.rules.length ?? 0]];
  return el("header", { class: "top" },
    el("a", { class: "skip", href: "#main" }, "Skip to the sessions"),
    el("h1", null, "mcpx"),
    el("p", { class: "quiet" }, `${daemon.version}, up ${ago(daemon.startedAt)}, ${daemon.children === 1 ? "1 process" : `${daemon.children} processes`}, ${memory(daemon.rssBytes)} itself`),
    el("nav", { "aria-label": "Parts of this page" }, links.map(([name, n]) => el("a", { href: "#" + name.toLowerCase() }, `${name} `, el("span", { class: "quiet" }, String(n))))),
    state.ended ? refusal(state.ended) : el("p", { class: "live", role: "status" }, "live"),
  );
}

// problems are what a person should mend; there is nothing to see without any.
export function problems() {
  const list = state.status.problems;
  if (list.length === 0) return null;
  return el("section", { "aria-labelledby": "problems" },
    el("h2", { id: "problems" }, count(list.length, "problem")),
    el("ul", { class: "problems" }, list.map((p) =>
      el("li", { class: p.warning ? "warn" : "bad" },
        el("p", null, el("strong", null, p.warning ? "warning" : "error"), " ", [p.where, p.server, p.field].filter(Boolean).join(": "), ": ", p.message),
        p.hint && el("p", { class: "hint" }, p.hint)))),
  );
}
