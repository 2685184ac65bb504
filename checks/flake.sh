#!/usr/bin/env bash
# `nix flake check` for a machine that reaches neither GitHub nor a binary cache:
# Nix's own evaluator, builder and network-less sandbox, with nix/testing/stub, a
# test double, in place of nixpkgs. It needs root, Go and git, and installs Nix
# from Debian. Where nixpkgs can be had, run `nix flake check` itself.
#
#   bash checks/flake.sh              every check
#   bash checks/flake.sh COMMAND...   another command of nix, such as
#                                     run .#mcpx -- render --machine laptop
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v nix >/dev/null || ! command -v jq >/dev/null; then
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends nix-bin jq
fi

stub=$(mktemp -d)
trap 'rm -rf "$stub"' EXIT
cp -r nix/testing/stub/. "$stub"
# The version of gopls that .ci/run tests with.
GOBIN="$stub/bin" GOFLAGS='' GOTOOLCHAIN=local go install golang.org/x/tools/gopls@v0.23.0
# The machine's tools stand behind the stub's packages: other versions, other builds.
{ go version; git --version; jq --version; } >"$stub/host"

nix() {
  command nix --extra-experimental-features "nix-command flakes" \
    --option build-users-group "" --option substituters "" \
    --option sandbox true --option sandbox-fallback false \
    --option sandbox-paths "/bin /usr /lib /lib64 /etc/alternatives /etc/ssl" "$@"
}

# A lock that does not fit flake.nix would have to be updated, which needs GitHub.
nix flake metadata --no-update-lock-file >/dev/null

if [ $# -eq 0 ]; then
  nix flake check --print-build-logs --override-input nixpkgs "path:$stub"
else
  nix "$1" --override-input nixpkgs "path:$stub" "${@:2}"
fi
