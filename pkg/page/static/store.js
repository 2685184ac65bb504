// What is known, and one way to change it.

export const state = {
  status: null, // GET /v1/status
  rules: null, // GET /v1/rules, and what each known directory gets
  ended: null, // why the page is no longer live: {msg, hint}
  told: {}, // what the last change of a session or server came to, by its id
  logs: {}, // last stderr lines of servers, by name
  edit: null, // the rule that is being edited
};

let draw = () => {};
export const onChange = (f) => (draw = f);

// change edits the state and draws it.
export function change(f) {
  f?.(state);
  draw();
}

// names are all servers that anybody here has heard of.
export function names() {
  const { status, rules } = state;
  return [
    ...status.servers.map((s) => s.name),
    ...status.instances.map((i) => i.server),
    ...status.sessions.flatMap((s) => [...s.visible, ...s.hidden]),
    ...(rules?.rules ?? []).flatMap((r) => (r.servers === "*" ? [] : r.servers)),
    ...(!rules || rules.default === "*" ? [] : rules.default),
  ];
}

// place is a path as people write it, and so is each in a text.
export function place(text) {
  const { home } = state.status.daemon;
  if (!home || home === "/") return text;
  return text.split(home).reduce((out, rest) => out + (/^($|[^\w.-])/.test(rest) && !/[\w~.-]$/.test(out) ? "~" : home) + rest);
}

// toolsOf is how many tools a server has, as far as anybody knows.
export function toolsOf(name) {
  const of = (list, key) => list.filter((x) => x[key] === name).map((x) => x.tools);
  return Math.max(0, ...of(state.status.instances, "server"), ...of(state.status.servers, "name"));
}
