// What the page asks of the daemon. The token lives here, in memory, and goes
// nowhere but into a header (threat T32).

let token = "";

// Refused is what the daemon, or the gate, answers in place of a result.
export class Refused extends Error {
  constructor(status, body) {
    super(body.msg ?? "");
    this.status = status;
    this.msg = [body.server && `server "${body.server}"`, body.field, body.msg].filter(Boolean).join(": ");
    this.hint = body.hint ?? "";
  }
}

async function send(method, path, body, more = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", ...more });
  } catch {
    throw new Refused(0, { msg: "the daemon does not answer", hint: "it has ended, or was replaced: mcpx ui opens another page" });
  }
  if (response.ok) return response;
  const text = await response.text();
  let said = { msg: text.trim() };
  try {
    said = JSON.parse(text);
  } catch {
    // the gate answers in words
  }
  throw new Refused(response.status, said);
}

const ask = async (...args) => (await send(...args)).json();

export async function enter(code) {
  token = (await ask("POST", "/token", { code })).token;
}

// follow hands over each event until the stream ends, which throws when the
// daemon is no longer there or knows this page no more.
export async function follow(on) {
  const response = await send("GET", "/v1/events");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ; ) {
    const { value, done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const event = { name: "", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      if (event.data) on(event.name, JSON.parse(event.data));
    }
  }
}

const dirs = (list) => list.map((dir) => "dir=" + encodeURIComponent(dir)).join("&");

export const flip = (id, change) => ask("PUT", `/v1/sessions/${encodeURIComponent(id)}/visible`, change);
export const moveRoots = (id, change) => ask("PUT", `/v1/sessions/${encodeURIComponent(id)}/roots`, change);
export const restart = (server, key) => ask("POST", "/v1/restart", { server, key });
export const editRules = (change, see) => ask("PUT", "/v1/rules?" + dirs(see), change);

export async function logs(server) {
  const text = await (await send("GET", "/v1/logs?server=" + encodeURIComponent(server))).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}
