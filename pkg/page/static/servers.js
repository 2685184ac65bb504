// Servers and their processes.
import { el, button, fact, refusal } from "./dom.js";
import { logs, restart } from "./daemon.js";
import { state, change, place } from "./store.js";
import { ago, count, memory, sorted, stateTone } from "./words.js";

const tail = 20; // lines of stderr that are shown
const lookAfter = 2000; // ms between two looks at them

export function servers() {
  const { servers: known, instances } = state.status;
  const all = sorted([...known.map((s) => s.name), ...instances.map((i) => i.server)]);
  return el("section", { "aria-labelledby": "servers" },
    el("h2", { id: "servers" }, "Servers"),
    all.length === 0 && el("p", { class: "quiet" }, "No server is configured."),
    el("div", { class: "cards" }, all.map((name) => el("article", { key: name, class: "card", "aria-label": `server ${name}` }, server(name, known.find((s) => s.name === name), instances.filter((i) => i.server === name))))),
  );
}

function server(name, known, instances) {
  const idle = known?.listed ? `idle, ${count(known.tools, "tool")} kept` : "idle";
  return [
    el("h3", null, name, known?.scope && el("span", { class: "quiet" }, known.scope === "global" ? " one for all" : ` one for each ${known.scope}`)),
    instances.length === 0 && el("p", { class: `state ${stateTone(known?.state ?? "", false)}` }, known?.state && known.state !== "idle" ? known.state : idle, known?.reason && `: ${known.reason}`),
    instances.map((i) => el("div", { key: i.key, class: "instance" }, instance(i))),
    refusal(state.told[name]),
    instances.length > 0 && stderr(name),
  ];
}

function instance(i) {
  const era = [i.era, i.protocolVersion].filter(Boolean).join(" ");
  return [
    el("p", { class: `state ${stateTone(i.words, i.dead)}` }, i.words),
    el("dl", null,
      fact("key", el("span", { class: "path" }, place(i.key))),
      fact("root", i.root && el("span", { class: "path" }, place(i.root))),
      fact("directory", i.cwd && el("span", { class: "path" }, place(i.cwd)), i.cwdSource && el("span", { class: "quiet" }, ` from ${i.cwdSource}`)),
      fact("era", era),
      fact("process", i.pid > 0 && `${i.pid}, ${memory(i.rssBytes)}, ${ago(i.startedAt)}`),
      fact("use", `${count(i.sessions, "session")}, ${count(i.leases, "lease")}, ${count(i.calls, "call")}, ${count(i.errors, "error")}`),
      fact("last error", i.lastError),
    ),
    el("div", { class: "buttons" }, button("Restart", () => startAfresh(i), { "aria-label": `Restart ${i.server} ${i.key}` })),
  ];
}

async function startAfresh(i) {
  try {
    await restart(i.server, i.key);
    change((s) => (s.told[i.server] = null));
  } catch (error) {
    change((s) => (s.told[i.server] = error));
  }
}

// stderr are the last lines a server wrote there, asked for once somebody looks.
function stderr(name) {
  const kept = state.logs[name];
  const toggled = (event) => {
    if (event.target.open) read(name);
    else change((s) => delete s.logs[name]);
  };
  return el("details", { onToggle: toggled },
    el("summary", null, "stderr"),
    kept && el("pre", { tabindex: 0, "aria-label": `last stderr lines of ${name}` }, kept.lines.length === 0 ? "nothing" : kept.lines.map((l) => `${l.time.slice(11, 19)} ${l.pid} ${l.line}\n`)),
    kept && refusal(kept.error),
  );
}

async function read(name) {
  const kept = { at: Date.now(), lines: state.logs[name]?.lines ?? [], error: null };
  change((s) => (s.logs[name] = kept));
  try {
    kept.lines = (await logs(name)).slice(-tail);
  } catch (error) {
    kept.error = error;
  }
  change();
}

export function refreshLogs() {
  for (const [name, kept] of Object.entries(state.logs)) {
    if (Date.now() - kept.at > lookAfter) read(name);
  }
}
