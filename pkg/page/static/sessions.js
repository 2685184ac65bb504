// Sessions: where each stands, what it sees and why, and a switch for each server.
import { el, button, fact, refusal } from "./dom.js";
import { flip, moveRoots } from "./daemon.js";
import { state, change, place, toolsOf } from "./store.js";
import { ago, count, pathOf, sorted, stateTone, tone } from "./words.js";

// act changes a session and shows what it came to: the answer is the session as it
// is then.
async function act(id, what) {
  change(); // a switch shows what is, until the daemon has answered
  try {
    const now = await what;
    change((s) => {
      s.told[id] = null;
      s.status.sessions = s.status.sessions.map((old) => (old.id === id ? now : old));
    });
  } catch (error) {
    change((s) => (s.told[id] = error));
  }
}

export function sessions() {
  const list = state.status.sessions;
  return el("section", { "aria-labelledby": "sessions" },
    el("h2", { id: "sessions" }, "Sessions"),
    list.length === 0 && el("p", { class: "quiet" }, "No session is open. Hosts open one with mcpx connect."),
    el("div", { class: "cards" }, list.map((s) => el("article", { key: s.id, class: "card", "aria-label": `session ${s.id}` }, session(s)))),
  );
}

function session(s) {
  const rows = rowsOf(s);
  const tools = (on) => rows.filter((r) => r.can && r.on === on).reduce((n, r) => n + r.tools, 0);
  return [
    el("h3", null, el("span", { class: `badge ${tone(s.badge)}` }, "MCP ", s.badge), " ", s.host.name || "a host", el("span", { class: "quiet" }, " ", s.host.version)),
    el("p", { class: "path" }, place(s.cwd.path || "no directory"), el("span", { class: "quiet" }, " from ", s.cwd.origin || "nowhere")),
    s.cwd.stale && el("p", { class: "warn" }, "may be out of date: ", s.cwd.stale),
    el("dl", null,
      fact("session", s.id, el("span", { class: "quiet" }, `, ${count(s.connections, "connection")}, ${ago(s.since)}`)),
      fact("inside", s.parent),
      fact("decided by", s.override !== null ? `a switch: ${s.override}` : s.rule !== null ? `rule ${place(s.rule)}` : "the default"),
      fact("frozen", s.frozen && `it keeps the rules it began with; now they would give: ${s.frozen}`),
      fact("tools", `${tools(true)} visible, ${tools(false)} hidden`),
    ),
    el("div", { class: "switches", role: "group", "aria-label": "servers of this session" }, rows.map((r) => row(s, r))),
    el("div", { class: "buttons" },
      button("All", () => act(s.id, flip(s.id, { op: "all" }))),
      button("None", () => act(s.id, flip(s.id, { op: "none" }))),
      button("Back to the rule", () => act(s.id, flip(s.id, { op: "reset" })), { disabled: s.override === null })),
    refusal(state.told[s.id]),
    roots(s),
  ];
}

// rowsOf are the servers that a session has, could have, or is promised.
function rowsOf(s) {
  const seen = Object.fromEntries(s.servers.map((v) => [v.name, v]));
  return sorted([...s.visible, ...s.hidden, ...Object.keys(seen)]).map((name) => {
    const on = s.visible.includes(name);
    return {
      name, on, can: on || s.hidden.includes(name), dead: seen[name]?.dead ?? false,
      reason: seen[name]?.reason, tools: seen[name]?.tools || toolsOf(name),
      state: seen[name]?.state ?? (on ? "not connected to" : s.override !== null ? "hidden by switch" : "hidden by rule"),
    };
  });
}

// row is one server, all of which is the switch.
function row(s, r) {
  const flipped = () => act(s.id, flip(s.id, { op: r.on ? "deny" : "allow", servers: [r.name] }));
  return el("label", { key: r.name, class: `row ${r.on ? "on" : "off"}`, title: r.reason },
    el("input", { type: "checkbox", role: "switch", checked: r.on, disabled: !r.can || state.ended !== null, onChange: flipped }),
    el("span", { class: "name" }, r.name),
    el("span", { class: `state ${stateTone(r.state, r.dead)}` }, place(r.state)),
    el("span", { class: "quiet tools" }, r.tools > 0 && count(r.tools, "tool")));
}

// roots are the session's own, which a person may set.
function roots(s) {
  const field = `dir-${s.id}`;
  const to = (op, ...dirs) => act(s.id, moveRoots(s.id, { op, dirs }));
  const typed = () => document.getElementById(field).value.trim();
  const add = (event) => {
    event.preventDefault();
    to("add", typed());
  };
  return el("details", { class: "roots" },
    el("summary", null, count(s.roots.length, "root")),
    el("ul", null, s.roots.map((r) =>
      el("li", { key: r.uri }, el("span", { class: "path" }, place(pathOf(r.uri))), el("span", { class: "quiet" }, " ", r.origin, r.ignored && `, ignored: ${r.ignored}`),
        !r.ignored && button("Remove", () => to("remove", pathOf(r.uri)), { "aria-label": `Remove root ${pathOf(r.uri)}` })))),
    el("form", { onSubmit: add },
      el("label", { for: field }, "Directory"),
      el("input", { id: field, type: "text", list: "directories", autocomplete: "off", spellcheck: false }),
      el("div", { class: "buttons" },
        el("button", { type: "submit" }, "Add"),
        button("Only this", () => to("set", typed())),
        button("Back to the host's", () => to("reset")))),
  );
}
