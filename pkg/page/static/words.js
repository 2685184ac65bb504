// Words for figures and states. Nothing here draws or asks.

export const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

export const memory = (bytes) => (bytes ? `${Math.max(1, Math.round(bytes / 2 ** 20))} MB` : "");

export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (!time || time.startsWith("0001")) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

// tone is the colour of a badge: what needs a look first.
export function tone(badge) {
  if (badge.includes("!")) return "bad";
  if (badge.includes("•") || badge.startsWith("none")) return "warn";
  return badge.includes("*") ? "hand" : "good";
}

// stateTone is the colour of a server's state.
export function stateTone(state, dead) {
  if (dead || state.startsWith("unknown")) return "bad";
  if (state.startsWith("connected")) return "good";
  return state.startsWith("starting") || state === "untrusted" || state === "invalid" ? "warn" : "still";
}

export function pathOf(uri) {
  try {
    const url = new URL(uri);
    return url.protocol === "file:" ? decodeURIComponent(url.pathname) : uri;
  } catch {
    return uri;
  }
}

// allowed says what a rule allows: "*" or names.
export const allowed = (servers) =>
  servers === "*" ? "all" : servers.length === 0 ? "none" : servers.join(", ");

export const sorted = (names) => [...new Set(names)].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
