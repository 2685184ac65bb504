#!/usr/bin/env bash
# usage: checks/soak.sh [SECONDS]   (600 if not given)
# Sessions come and go while daemons, servers and connects are killed and more;
# exits 1 unless nothing was lost, doubled, misdelivered or left running.
# STORM_SEED takes the steps of a run before.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
SOAK_SECONDS=$seconds exec go test -count=1 -v -timeout "$((seconds + 300))s" -run '^TestSoak$' ./checks/soak
