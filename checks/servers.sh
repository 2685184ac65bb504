#!/usr/bin/env bash
# Real servers from npm through mcpx, each alone and all under one roof.
#   checks/servers.sh
# Needs node, a chromium, and the servers in $SERVERS (npm i @modelcontextprotocol/server-everything
# @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
# @modelcontextprotocol/server-sequential-thinking @playwright/mcp @upstash/context7-mcp).
set -euo pipefail
cd "$(dirname "$0")/.."
go vet -tags servers ./checks/servers
SERVERS=$(cd "${SERVERS:-$HOME/.cache/mcpx-servers}" && pwd) go test -tags servers -count 1 -v ./checks/servers "$@"
