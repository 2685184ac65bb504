// The page: enter with the code in the address, follow the daemon, draw.
import { render } from "./preact.js";
import { el } from "./dom.js";
import { enter, follow } from "./daemon.js";
import { state, change, onChange } from "./store.js";
import { header, problems, blank } from "./frame.js";
import { sessions } from "./sessions.js";
import { servers, refreshLogs } from "./servers.js";
import { rules } from "./rules.js";

const page = document.getElementById("page");

function view() {
  if (!state.status) return blank(state.ended);
  return el("div", { class: state.ended ? "ended" : "" }, header(), el("main", { id: "main" }, problems(), sessions(), servers(), rules()));
}

onChange(() => render(view(), page));

const end = (error) => change((s) => (s.ended = { msg: error.msg ?? String(error), hint: error.hint ?? "" }));

function heard(name, data) {
  change((s) => (s[name] = data));
  if (name === "status") refreshLogs();
}

async function run() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname); // a code that was used says nothing, and still
  if (!code) return end({ msg: "This page is opened by a command.", hint: "in a terminal, type: mcpx ui" });
  await enter(code);
  for (;;) {
    await follow(heard); // it throws once the daemon is gone
    await new Promise((done) => setTimeout(done, 500));
  }
}

change();
run().catch(end);
