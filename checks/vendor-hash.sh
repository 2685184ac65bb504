#!/usr/bin/env bash
# Says whether nix/vendor-hash is the hash of what `go mod vendor` makes of this
# tree, which is what buildGoModule compares it with; -w writes it. A store that
# has the modules of an older hash never builds them again, so `nix flake check`
# sees a stale hash on a fresh machine only: this sees it everywhere.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The sources that nix/package.nix selects: go mod vendor follows their imports.
mkdir "$work/src"
git -C "$root" ls-files -z -- go.mod go.sum cmd pkg fleet checks |
  tar -C "$root" --null -T - -cf - | tar -C "$work/src" -xf -
(cd "$work/src" && GOFLAGS='' GO111MODULE=on GOTOOLCHAIN=local GOWORK=off go mod vendor -o "$work/vendor")

got=$(nix --extra-experimental-features nix-command hash path "$work/vendor" 2>"$work/err") ||
  { cat "$work/err" >&2; exit 1; }
have=$(cat "$root/nix/vendor-hash")
if [ "$got" = "$have" ]; then
  echo "nix/vendor-hash is right: $got"
elif [ "${1:-}" = -w ]; then
  echo "$got" >"$root/nix/vendor-hash"
  echo "nix/vendor-hash is now $got"
else
  echo "nix/vendor-hash is $have, but go mod vendor gives $got" >&2
  echo "hint: bash checks/vendor-hash.sh -w" >&2
  exit 1
fi
