# Option types from pkg/config/schema.json, which is made from the program's own
# types: what mcpx reads and what the module takes cannot drift apart. A value
# that is left out is null here and absent in the file.
{ lib, json }:
let
  inherit (lib) types;
  schema = lib.importJSON ../../pkg/config/schema.json;

  # What the schema does not have: an example for each option, by its place.
  examples = {
    server = {
      command = "gopls";
      args = [ "mcp" ];
      env.GOFLAGS = "-mod=mod";
      cwd = "docs";
      url = "https://mcp.example.org/mcp";
      headers.X-Team = "tools";
      type = "stdio";
      disabled = true;
      mcpx.scope = "worktree";
    };
    block = {
      scope = "worktree";
      sharing = "exclusive";
      max = 2;
      idleTimeout = "never";
      startTimeout = "2m";
      callTimeout = "10m";
      tools = [ "browser_*" ];
      excludeTools = [ "/^delete_/" ];
      protocol = "legacy";
      roots = false;
      serverRequests = "refuse";
      disabled = true;
      description = "Go: symbols, references, diagnostics.";
      secrets.GITHUB_TOKEN.file = "/run/secrets/github-token";
      envPolicy = "clean";
    };
    secret = {
      file = "/run/secrets/github-token";
      command = [
        "pass"
        "show"
        "github"
      ];
    };
    daemon = {
      http.listen = "127.0.0.1:7780";
      maxInstances = 32;
      maxStarts = 2;
      stopGrace = "10s";
      idleExit = "1h";
      rootsCeiling = [ "/srv/src" ];
      approve = "never";
      managementTools = [ "status" ];
      path = [ "/run/current-system/sw/bin" ];
      env.LANG = "C.UTF-8";
      rules.onError = "closed";
    };
    http = {
      listen = "127.0.0.1:7780";
      auth = "token";
    };
    rules = {
      path = "/etc/mcpx/rules.json";
      onError = "closed";
      applyToRunningSessions = false;
      logDecisions = false;
    };
  };
  # Which examples an object inside another has.
  inside = {
    mcpx = examples.block;
    secrets = examples.secret;
    inherit (examples) http rules;
  };

  typeOf =
    name: s:
    if s ? enum then
      types.enum s.enum
    else if s ? pattern then
      types.strMatching s.pattern
    else if s ? properties then
      object inside.${name} s
    else
      {
        string = types.str;
        boolean = types.bool;
        integer = types.ints.positive;
        array = types.listOf (typeOf name s.items);
        object = types.attrsOf (typeOf name s.additionalProperties);
      }
      .${s.type};

  optionsOf =
    example: s:
    # A member that is new in the schema wants an example, too.
    assert lib.assertMsg (lib.attrNames example == lib.attrNames s.properties)
      "schema.nix has examples for ${toString (lib.attrNames example)}; the schema has ${toString (lib.attrNames s.properties)}";
    lib.mapAttrs (
      name: property:
      lib.mkOption {
        type = types.nullOr (typeOf name property);
        default = null;
        inherit (property) description;
        example = example.${name};
      }
    ) s.properties;

  # An object that the schema leaves open may hold what other hosts put there.
  object =
    example: s:
    types.submodule (
      {
        options = optionsOf example s;
      }
      // lib.optionalAttrs (s.additionalProperties or true != false) { freeformType = json.type; }
    );

  prune =
    v: if lib.isAttrs v then lib.mapAttrs (_: prune) (lib.filterAttrs (_: x: x != null) v) else v;
in
{
  server = object examples.server schema.properties.mcpServers.additionalProperties;
  defaults = object examples.block schema.properties.defaults;
  daemon = object examples.daemon schema.properties.daemon;
  serverName = schema.properties.mcpServers.propertyNames.pattern;

  # The value as the file has it: without what was left out.
  inherit prune;
}
