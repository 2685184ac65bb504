# Hosts that home-manager leads to no MCP server by itself, by the names they have
# in a machine's `hosts`: where each looks, and what `mcpx render` calls that file.
{ isDarwin }:
{
  gemini = {
    name = "Gemini CLI";
    file = ".gemini/settings.json";
    rendered = "hosts/gemini/settings.json";
  };
  claude-desktop = {
    name = "Claude Desktop";
    file =
      if isDarwin then
        "Library/Application Support/Claude/claude_desktop_config.json"
      else
        ".config/Claude/claude_desktop_config.json";
    rendered = "hosts/claude-desktop/claude_desktop_config.json";
  };
  cursor = {
    name = "Cursor";
    file = ".cursor/mcp.json";
    rendered = "hosts/cursor/mcp.json";
  };
}
