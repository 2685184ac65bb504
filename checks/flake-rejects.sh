#!/usr/bin/env bash
# Breaks a copy of this tree in one way after another: checks/flake.sh has to fail
# each time, and to say why.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# breaks WHAT WORDS FILE SED-SCRIPT COMMAND...: with FILE changed, COMMAND fails
# and its output has WORDS.
breaks() {
  local what=$1 words=$2 file=$3 script=$4
  shift 4
  rm -rf "$work/tree"
  mkdir "$work/tree"
  git -C "$root" ls-files -z | tar -C "$root" --null -T - -cf - | tar -C "$work/tree" -xf -
  cd "$work/tree"
  sed -i "$script" "$file"
  if cmp -s "$file" "$root/$file"; then
    echo "$what: the change of $file changes nothing" >&2
    exit 1
  fi
  git init -q
  git add -A
  if "$@" >"$work/log" 2>&1; then
    echo "$what: not noticed by: $*" >&2
    exit 1
  fi
  if ! grep -q -e "$words" "$work/log"; then
    cat "$work/log" >&2
    echo "$what: fails without the words: $words" >&2
    exit 1
  fi
  echo "ok: $what"
}

check() { bash checks/flake.sh build --no-link --print-build-logs ".#checks.$system.$1"; }
system=$(uname -m)-linux

stale='s/-..../-AAAA/'
breaks "a stale vendor hash" "hash mismatch" nix/vendor-hash "$stale" \
  check identity
breaks "a stale vendor hash in a store that has the old modules" "vendor-hash.sh -w" nix/vendor-hash "$stale" \
  bash checks/vendor-hash.sh
breaks "a go.mod that asks for a newer Go" "go.mod asks for Go 1.99.0, and this nixpkgs builds with Go" go.mod 's/^go .*/go 1.99.0/' \
  check identity
breaks "a lock of another input" "nixos-unstable" flake.nix 's/nixpkgs-unstable/nixos-unstable/' \
  check identity
breaks "an undeclared input" "jq: command not found" checks/home-module.nix 's/nativeBuildInputs = \[ pkgs.jq \]/nativeBuildInputs = [ ]/' \
  check home-module
breaks "a fleet with a home path" "home-path" fleet/.mcpx.json 's|"mcpServers": {|&"broken": {"command": "/home/ada/bin/broken"},|' \
  check fleet
breaks "gopls at the wrong scope" "workspace-scope" fleet/.mcpx.json 's/"worktree"/"global"/' \
  check fleet
breaks "a module option of the wrong type" "mcpx.scope' is not of type" checks/home-module.nix 's/mcpx.scope = "worktree"/mcpx.scope = "planet"/' \
  check home-module
breaks "a config that mcpx refuses" "url: set beside command" checks/home-module.nix 's/note = "for another host";/& command = "github";/' \
  check home-module
