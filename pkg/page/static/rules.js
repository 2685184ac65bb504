// Rules: the document, an editor for one row at a time, and what it would come to.
import { el, several, button, refusal } from "./dom.js";
import { editRules } from "./daemon.js";
import { state, change, names, place, toolsOf } from "./store.js";
import { allowed, count, sorted, tone } from "./words.js";

const pause = 150; // ms after the last key before the daemon is asked what would be

export function rules() {
  const r = state.rules;
  return el("section", { "aria-labelledby": "rules" },
    el("h2", { id: "rules" }, "Rules"),
    r && several(
      el("p", { class: "path" }, place(r.path)),
      el("p", { class: "quiet" }, policy(r)),
      r.problems.map((p) => el("div", { class: `refusal ${p.warning ? "warn" : ""}` }, el("p", null, [p.where, p.field].filter(Boolean).join(": "), ": ", p.message), p.hint && el("p", { class: "hint" }, p.hint))),
      el("ul", { class: "rules" },
        r.rules.map((rule) => el("li", { key: rule.path }, row(rule.path, rule.servers, false))),
        el("li", { key: "" }, row("", r.default, true))),
      state.edit?.fresh ? editor() : el("div", { class: "buttons" }, button("Add a rule", () => edit("", [], { fresh: true }), { id: "add-rule" })),
      el("h3", null, "Known directories"),
      el("ul", { class: "sees" }, r.sees.map((s) => el("li", { key: s.dir }, el("span", { class: "path" }, place(s.dir)), " ", badge(s), el("span", { class: "quiet" }, " ", s.rule === null ? "the default" : `rule ${place(s.rule)}`)))),
      r.sees.length === 0 && el("p", { class: "quiet" }, "No session is open and no rule is written, so no directory is known."),
      el("datalist", { id: "directories" }, r.sees.map((s) => el("option", { key: s.dir, value: s.dir }))),
    ),
  );
}

const badge = (s) => el("span", { class: `badge ${tone(s.badge)}` }, "MCP ", s.badge);

function policy(r) {
  const broken = r.onError === "closed" ? "hides every server (onError: closed)" : "shows every server (onError: open)";
  const live = r.applyToRunningSessions ? "A change reaches running sessions at once." : "Running sessions keep the rules they began with.";
  const there = r.exists ? "" : "The file does not exist yet: every session sees every server. ";
  return `${there}What is hidden is also refused. A document that cannot be read ${broken}. ${live}`;
}

// row is a rule, or the default, as it is written.
function row(path, servers, isDefault) {
  const e = state.edit;
  if (e && !e.fresh && e.isDefault === isDefault && e.path === path) return editor();
  const what = isDefault ? "directories without a rule" : place(path);
  return el("div", { class: "rule" },
    el("span", { class: "path" }, what), " ", el("span", null, allowed(servers)),
    button("Edit", () => edit(path, servers, { isDefault }), { "aria-label": `Edit the rule for ${what}` }));
}

function edit(path, servers, { isDefault = false, fresh = false }) {
  change((s) => (s.edit = {
    path, isDefault, fresh, error: null, then: null,
    mode: servers === "*" ? "all" : servers.length === 0 && !fresh ? "none" : "some",
    picked: new Set(servers === "*" ? [] : servers),
  }));
  document.getElementById("rule-path")?.focus();
  document.querySelector(".editor input[type=radio]:checked")?.focus();
  preview();
}

// close ends the editing and puts the focus where it can go on.
function close() {
  change((s) => (s.edit = null));
  document.getElementById("add-rule")?.focus();
}

function editor() {
  const e = state.edit;
  const set = (f) => {
    f(e);
    preview();
    change();
  };
  const choice = (mode, text) => el("label", { class: "choice" }, el("input", { type: "radio", name: "mode", checked: e.mode === mode, onChange: () => set((e) => (e.mode = mode)) }), " ", text);
  const save = (event) => {
    event.preventDefault();
    submit(asked());
  };
  return el("form", { class: "editor", onSubmit: save, "aria-label": e.fresh ? "a new rule" : `the rule for ${e.isDefault ? "all other directories" : e.path}` },
    e.fresh
      ? el("div", null, el("label", { for: "rule-path" }, "Directory"), el("input", { id: "rule-path", type: "text", required: true, list: "directories", autocomplete: "off", spellcheck: false, value: e.path, onInput: (event) => set((e) => (e.path = event.target.value)) }))
      : el("p", { class: "path" }, e.isDefault ? "directories without a rule" : e.path),
    el("fieldset", null, el("legend", null, "Servers that are seen there"), choice("all", "All"), choice("none", "None"), choice("some", "These:"),
      el("div", { class: "picker" }, sorted(names()).map((name) => pick(e, name, set)))),
    refusal(e.error),
    outcome(e),
    el("div", { class: "buttons" },
      el("button", { type: "submit", class: "main" }, "Save"),
      button("Cancel", close),
      !e.fresh && !e.isDefault && button("Remove the rule", () => submit({ op: "unset", path: e.path }))),
  );
}

function pick(e, name, set) {
  const known = state.status.servers.find((s) => s.name === name);
  const live = state.status.instances.some((i) => i.server === name) || state.status.sessions.some((s) => s.visible.includes(name) || s.hidden.includes(name));
  const mark = known?.state === "disabled" || known?.state === "untrusted" ? known.state : known || live ? count(toolsOf(name), "tool") : "no such server";
  const toggled = (event) => set((e) => {
    e.mode = "some";
    if (event.target.checked) e.picked.add(name);
    else e.picked.delete(name);
  });
  return el("label", { key: name, class: "choice" }, el("input", { type: "checkbox", checked: e.mode === "all" || (e.mode === "some" && e.picked.has(name)), onChange: toggled }), " ", name, " ", el("span", { class: "quiet" }, mark));
}

// outcome is what the known directories would get.
function outcome(e) {
  if (!e.then) return null;
  const now = Object.fromEntries(state.rules.sees.map((s) => [s.dir, s]));
  const other = e.then.filter((s) => now[s.dir] && String(now[s.dir].visible) !== String(s.visible));
  if (other.length === 0) return el("p", { class: "quiet", role: "status" }, "It changes nothing in the known directories.");
  return el("div", { role: "status" }, el("p", null, "It would change:"),
    el("ul", { class: "sees" }, other.map((s) => el("li", { key: s.dir }, el("span", { class: "path" }, place(s.dir)), " ", badge(now[s.dir]), " → ", badge(s)))));
}

// asked is the change that the editor holds.
function asked() {
  const e = state.edit;
  const servers = { all: "*", none: [], some: sorted(e.picked) }[e.mode];
  return e.isDefault ? { op: "default", servers } : { op: "set", path: e.fresh ? place(e.path.trim()) : e.path, servers };
}

const known = () => state.rules.sees.map((s) => s.dir);

let timer = 0;
function preview() {
  clearTimeout(timer);
  const e = state.edit;
  timer = setTimeout(async () => {
    if (state.edit !== e || (e.fresh && !e.path.trim())) return;
    let then = null;
    try {
      then = (await editRules({ ...asked(), dry: true }, known())).sees;
    } catch {
      // saving will say why not
    }
    if (state.edit === e) change(() => (e.then = then));
  }, pause);
}

async function submit(what) {
  try {
    const now = await editRules(what, known());
    change((s) => (s.rules = now));
    close();
  } catch (error) {
    change((s) => s.edit && (s.edit.error = error));
  }
}
