#!/usr/bin/env bash
# Real hosts, offline, in both checkouts of one repository, through
# `mcpx connect gopls`: each model must be shown its own checkout's function.
#   checks/hosts.sh [claude codex opencode gemini]
# Needs node and git, the hosts in $CLIENTS (npm i @anthropic-ai/claude-code @openai/codex
# opencode-ai @google/gemini-cli) and gopls on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d /var/tmp/hosts.XXXXXX)
trap 'rm -rf "$work"' EXIT
go build -o "$work/bin/mcpx" ./cmd/mcpx
gopls=$(command -v gopls)
mkdir -p "$work/seed/.config/mcpx"
cat >"$work/seed/.config/mcpx/config.json" <<EOF
{"mcpServers": {"gopls": {"command": "$gopls", "args": ["mcp"], "env": {"GOPROXY": "off", "GOCACHE": "$(go env GOCACHE)"}, "mcpx": {"scope": "worktree"}}}}
EOF
git() { command git -c user.name=t -c user.email=t@example.com -c init.defaultBranch=main "$@"; }
mkdir -p "$work/main"
printf 'module example.com/fixture\n\ngo 1.24\n' >"$work/main/go.mod"
git -C "$work/main" init -q
git -C "$work/main" add .
git -C "$work/main" commit -qm start
git -C "$work/main" worktree add -q -b feature "$work/feature"
printf 'package fixture\n\nfunc OnlyOnMain() {}\n' >"$work/main/f.go"
printf 'package fixture\n\nfunc OnlyOnFeature() {}\n' >"$work/feature/f.go"

hosts=${*:-claude codex opencode gemini}
failed=0
for host in $hosts; do
  for checkout in main:OnlyOnMain feature:OnlyOnFeature; do
    dir=$work/${checkout%%:*} want=${checkout##*:} began=$(date +%s.%N)
    got=$(SEED=$work/seed checks/hosts/drive.sh "$host" "$dir" \
      '{"tool":"go_package_api","args":{"packagePaths":["example.com/fixture"]}}' -- "$work/bin/mcpx" connect gopls 2>&1) || true
    took=$(echo "$(date +%s.%N) - $began" | bc 2>/dev/null || echo '?')
    if [[ $got == *"$want"* ]] && [[ $(grep -c -o 'OnlyOn[A-Z]' <<<"$got") == 1 ]]; then
      printf 'ok    %-9s %-8s %s (%.1f s)\n' "$host" "${checkout%%:*}" "$want" "$took"
    else
      printf 'FAIL  %-9s %-8s want %s, got: %s\n' "$host" "${checkout%%:*}" "$want" "$got"
      failed=1
    fi
  done
done

# All under one roof: five servers behind one entry, of which each host calls two.
mkdir -p "$work/roof/.config/mcpx"
cat >"$work/roof/.config/mcpx/config.json" <<EOF
{"mcpServers": {
  "gopls": {"command": "$gopls", "args": ["mcp"], "env": {"GOPROXY": "off", "GOCACHE": "$(go env GOCACHE)"}, "mcpx": {"scope": "worktree"}},
  "here":  {"command": "$work/bin/mcpx", "args": ["demo-server"], "mcpx": {"scope": "cwd"}},
  "one":   {"command": "$work/bin/mcpx", "args": ["demo-server"]},
  "mine":  {"command": "$work/bin/mcpx", "args": ["demo-server"], "mcpx": {"scope": "session"}},
  "broken": {"command": "/nowhere/server"}}}
EOF
for host in $hosts; do
  got=$(SEED=$work/roof checks/hosts/drive.sh "$host" "$work/feature" \
    '{"tool":"gopls__go_package_api","args":{"packagePaths":["example.com/fixture"]}}
{"tool":"here__whoami","args":{}}' -- "$work/bin/mcpx" connect 2>&1) || true
  if [[ $got == *OnlyOnFeature* ]] && [[ $got == *"$work/feature"* ]]; then
    printf 'ok    %-9s five servers under one roof\n' "$host"
  else
    printf 'FAIL  %-9s five servers under one roof: got: %s\n' "$host" "$got"
    failed=1
  fi
done

# The same with the files that mcpx render makes, config and entries alike.
mkdir -p "$work/fleet/machines"
cat >"$work/fleet/.mcpx.json" <<'EOF'
{"mcpServers": {"srv": {"command": "gopls", "args": ["mcp"], "mcpx": {"scope": "worktree"}}}}
EOF
cat >"$work/fleet/machines/here.json" <<EOF
{"home": "$HOME", "hosts": ["claude-code", "codex", "opencode", "gemini"], "mcpServers": {"srv": {
  "command": "$gopls", "env": {"GOPROXY": "off", "GOCACHE": "$(go env GOCACHE)"}}}}
EOF
"$work/bin/mcpx" render --machine here --fleet "$work/fleet" --out "$work/out" >/dev/null
mkdir -p "$work/rendered/.config"
cp -R "$work/out/mcpx" "$work/rendered/.config/mcpx"
printf 'package fixture\n\nfunc OnlyOnMain() {}\n' >"$work/main/f.go"
for host in $hosts; do
  extra=
  case $host in
  claude) file=claude-code/.mcp.json ;;
  codex) file=codex/config.toml extra='-c mcp_servers.srv.default_tools_approval_mode="approve"' ;;
  opencode) file=opencode/opencode.json ;;
  gemini) file=gemini/settings.json ;;
  esac
  got=$(PATH=$work/bin:$PATH SEED=$work/rendered FILE=$work/out/hosts/$file EXTRA=$extra checks/hosts/drive.sh "$host" "$work/main" \
    '{"tool":"go_package_api","args":{"packagePaths":["example.com/fixture"]}}' -- mcpx connect srv 2>&1) || true
  if [[ $got == *OnlyOnMain* ]]; then
    printf 'ok    %-9s rendered %s\n' "$host" "$file"
  else
    printf 'FAIL  %-9s rendered %s: got: %s\n' "$host" "$file" "$got"
    failed=1
  fi
done

# Claude Code's EnterWorktree moves the session mid-connection and tells no server.
if [[ $hosts == *claude* ]]; then
  printf 'package fixture\n\nfunc Committed() {}\n' >"$work/main/f.go"
  git -C "$work/main" add . && git -C "$work/main" commit -qm committed
  printf 'package fixture\n\nfunc OnlyOnMain() {}\n' >"$work/main/f.go"
  ask='{"tool":"go_package_api","args":{"packagePaths":["example.com/fixture"]}}'
  got=$(SEED=$work/seed checks/hosts/drive.sh claude "$work/main" "$ask
{\"tool\":\"EnterWorktree\",\"args\":{\"name\":\"moved\"}}
$ask
{\"tool\":\"ExitWorktree\",\"args\":{\"action\":\"keep\"}}
$ask" -- "$work/bin/mcpx" connect gopls 2>&1 | grep -o 'OnlyOnMain\|Committed' | tr '\n' ' ') || true
  if [ "$got" = "OnlyOnMain Committed OnlyOnMain " ]; then
    echo 'ok    claude    moved into a worktree and back: each answer is its own checkout'\''s'
  else
    echo "FAIL  claude    moved into a worktree and back: $got"
    failed=1
  fi
fi
exit $failed
