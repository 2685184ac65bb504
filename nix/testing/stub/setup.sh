# A small stand-in for nixpkgs' stdenv: the phases, the hooks, nothing else.
# Nix gives the environment; $initialPath and the inputs make up PATH.
set -euo pipefail
PATH=
for input in ${nativeBuildInputs:-} ${buildInputs:-} "$initialPath"; do
  PATH=${PATH:+$PATH:}$input/bin
  hook=$input/nix-support/setup-hook
  [ ! -e "$hook" ] || hooks="${hooks:-} $hook"
done
for hook in ${hooks:-}; do . "$hook"; done
export PATH TMPDIR=${TMPDIR:-$NIX_BUILD_TOP}
set +u

# In nixpkgs' sandbox HOME is a place that cannot be made; whoever runs as root
# could make /homeless-shelter, nobody can make this one.
export HOME=/proc/homeless-shelter
export GOPATH=$TMPDIR/go GOCACHE=$TMPDIR/go-cache

runHook() { eval "${!1:-}"; }
runPhase() {
  [ -n "${!1:-}" ] || return 0
  echo "Running phase: $1"
  eval "${!1}"
}

if [ -n "${buildCommand:-}${buildCommandPath:-}" ]; then
  if [ -n "${buildCommandPath:-}" ]; then . "$buildCommandPath"; else eval "$buildCommand"; fi
  exit 0
fi

if [ -n "${src:-}" ]; then
  echo "Running phase: unpackPhase"
  cp -r "$src" "$TMPDIR/source"
  chmod -R u+w "$TMPDIR/source"
  cd "$TMPDIR/source"
fi
runHook postPatch
runPhase configurePhase
runPhase buildPhase
if [ -n "${doCheck:-}" ]; then runPhase checkPhase; fi
runPhase installPhase
runHook postInstallCheck
