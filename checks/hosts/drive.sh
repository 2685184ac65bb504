#!/usr/bin/env bash
# Drive a real MCP host, offline, against one stdio MCP server, with a stub model.
#   drive.sh CLIENT DIR 'STEPS' -- SERVER [ARG...]
#   drive.sh claude /repo '{"tool":"go_package_api","args":{"packagePaths":["example.com/m"]}}' -- mcpx connect gopls
# CLIENT: claude | codex | opencode | gemini. Their npm packages are looked for in $CLIENTS
# (default $HOME/.cache/mcpx-hosts; npm i @anthropic-ai/claude-code @openai/codex opencode-ai @google/gemini-cli).
# HOME is a throw-away directory; what is in $SEED is copied there first, and if the
# server is an mcpx its daemon is stopped at the end. Prints the tool results the
# model would have seen. $FILE, when set, is a file of the client's with an entry
# "srv", as mcpx render makes it, that is used in place of SERVER's.
# Several steps: one JSON object a line in STEPS. Exit status: that of the client.
set -u
client=$1 dir=$2 steps=$3; shift 3; [ "$1" = -- ] && shift
here=$(cd "$(dirname "$0")" && pwd); bin=${CLIENTS:-$HOME/.cache/mcpx-hosts}/node_modules/.bin
home=$(mktemp -d /var/tmp/drive.XXXXXX); log=$home/stub.log; : > "$log"
# No CLIENT state of the caller's may leak in.
unset CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_PROJECT_DIR CLAUDE_CODE_ENTRYPOINT AI_AGENT
port=$((20000 + RANDOM % 20000)); st=(); while IFS= read -r l; do [ -n "$l" ] && st+=("$l"); done <<<"$steps"
node "$here/modelstub.mjs" $port "$log" "${st[@]}" >/dev/null & stub=$!
case $1 in */mcpx|mcpx) mcpx=$1 ;; *) mcpx= ;; esac
trap 'kill $stub 2>/dev/null; [ -n "$mcpx" ] && HOME=$home "$mcpx" stop >/dev/null; rm -rf "$home"' EXIT
[ -n "${SEED:-}" ] && cp -R "$SEED/." "$home/"
for _ in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep .1; done
srv=$(node -e 'console.log(JSON.stringify({command:process.argv[1],args:process.argv.slice(2)}))' "$@")
place() { # puts the entry of $FILE into the settings just written
  [ -n "${FILE:-}" ] || return 0
  case $1 in
  *.toml) sed -i '/^\[mcp_servers/,$d' "$1" && cat "$FILE" >>"$1" ;;
  *) node -e 'const fs=require("fs"),[,a,b]=process.argv;fs.writeFileSync(a,JSON.stringify(Object.assign(JSON.parse(fs.readFileSync(a)),JSON.parse(fs.readFileSync(b)))))' "$1" "$FILE" ;;
  esac
}
export HOME=$home; cd "$dir"
case $client in
claude)
  echo "{\"mcpServers\":{\"srv\":$srv}}" > "$home/mcp.json"; place "$home/mcp.json"
  ANTHROPIC_BASE_URL=http://127.0.0.1:$port ANTHROPIC_API_KEY=dummy CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
    timeout ${LIMIT:-120} "$bin/claude" -p "go" --mcp-config "$home/mcp.json" --strict-mcp-config --allowedTools "mcp__srv EnterWorktree ExitWorktree Bash" ${EXTRA:-} </dev/null >"$home/out" 2>&1 ;;
codex)
  mkdir -p "$home/.codex"; node -e 'const s=JSON.parse(process.argv[1]),p=process.argv[2];console.log(`model="stub"\nmodel_provider="stub"\napproval_policy="never"\ncheck_for_update_on_startup=false\n[model_providers.stub]\nname="stub"\nbase_url="http://127.0.0.1:${p}/v1"\nwire_api="responses"\n[analytics]\nenabled=false\n[mcp_servers.srv]\ncommand=${JSON.stringify(s.command)}\nargs=${JSON.stringify(s.args)}\nstartup_timeout_sec=60\ndefault_tools_approval_mode="approve"`)' "$srv" $port > "$home/.codex/config.toml"; place "$home/.codex/config.toml"
  timeout ${LIMIT:-120} "$bin/codex" exec --skip-git-repo-check -s danger-full-access ${EXTRA:-} "go" </dev/null >"$home/out" 2>&1 ;;
opencode)
  mkdir -p "$home/.config/opencode"; node -e 'const s=JSON.parse(process.argv[1]),p=process.argv[2];console.log(JSON.stringify({autoupdate:false,share:"disabled",model:"stub/m",provider:{stub:{npm:"@ai-sdk/openai-compatible",name:"stub",options:{baseURL:`http://127.0.0.1:${p}/v1`,apiKey:"x"},models:{m:{name:"m",tool_call:true}}}},mcp:{srv:{type:"local",command:[s.command,...s.args],enabled:true}}}))' "$srv" $port > "$home/.config/opencode/opencode.json"; place "$home/.config/opencode/opencode.json"
  timeout ${LIMIT:-120} "$bin/opencode" run ${EXTRA:-} "go" </dev/null >"$home/out" 2>&1 ;;
gemini)
  mkdir -p "$home/.gemini"; echo "{\"mcpServers\":{\"srv\":$srv},\"security\":{\"folderTrust\":{\"enabled\":false},\"auth\":{\"selectedType\":\"gemini-api-key\"}},\"privacy\":{\"usageStatisticsEnabled\":false}}" > "$home/.gemini/settings.json"; place "$home/.gemini/settings.json"
  GEMINI_API_KEY=dummy GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:$port timeout ${LIMIT:-120} "$bin/gemini" -m gemini-2.5-flash --approval-mode yolo ${EXTRA:-} -p "go" </dev/null >"$home/out" 2>&1 ;;
*) echo "unknown client $client" >&2; exit 2 ;;
esac
rc=$?
[ -n "${VERBOSE:-}" ] && { cat "$log"; tail -20 "$home/out"; }
grep '^RESULT ' "$log" | cut -c8-
grep -m1 '^POST .*next=MISSING' "$log"
exit $rc
