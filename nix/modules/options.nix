# The options of programs.mcpx.
{
  self,
  lib,
  pkgs,
  schema,
  hosts,
}:
let
  inherit (lib) literalExpression mkOption types;

  allowList = types.either (types.enum [ "*" ]) (types.listOf types.str);
in
{
  enable = lib.mkEnableOption "mcpx, which shares MCP servers between agent sessions";

  package = mkOption {
    type = types.package;
    default = self.packages.${pkgs.stdenv.hostPlatform.system}.mcpx;
    defaultText = literalExpression "inputs.mcpx.packages.\${system}.mcpx";
    example = literalExpression "pkgs.mcpx";
    description = "The mcpx that is installed, run as the daemon and started by hosts.";
  };

  fleet = mkOption {
    type = types.nullOr types.path;
    default = null;
    example = literalExpression "./fleet";
    description = ''
      The fleet folder from which this machine's config and rules are rendered:
      {file}`.mcpx.json`, {file}`rules.json` and {file}`machines/`. It takes the
      place of {option}`servers`, {option}`defaults`, {option}`daemon` and
      {option}`rules`.
    '';
  };

  machine = mkOption {
    type = types.nullOr types.str;
    default = null;
    example = "laptop";
    description = ''
      Which machine of {option}`programs.mcpx.fleet` this is: the name of a file
      in {file}`machines/`.
    '';
  };

  servers = mkOption {
    type = types.attrsOf schema.server;
    default = { };
    example = literalExpression ''
      {
        gopls = {
          command = lib.getExe pkgs.gopls;
          args = [ "mcp" ];
          mcpx.scope = "worktree";
        };
        github = {
          url = "https://api.githubcopilot.com/mcp/";
          mcpx.secrets.Authorization.command = [ "pass" "show" "github-mcp" ];
        };
      }
    '';
    description = ''
      The MCP servers, written to {file}`mcpx/config.json` as they stand. Members
      of other hosts may stand beside `command`, `args`, `env` and so on; what is
      mcpx's own stands in `mcpx`.
    '';
  };

  defaults = mkOption {
    type = schema.defaults;
    default = { };
    example.idleTimeout = "30m";
    description = "What holds for every server that does not say otherwise in its own `mcpx`.";
  };

  daemon = mkOption {
    type = schema.daemon;
    default = { };
    example.maxInstances = 32;
    description = "Settings of the daemon itself.";
  };

  rules = mkOption {
    type = types.nullOr (
      types.submodule {
        options = {
          default = mkOption {
            type = allowList;
            default = "*";
            example = [ "gopls" ];
            description = "The servers that sessions in all other directories see.";
          };
          rules = mkOption {
            type = types.listOf (
              types.submodule {
                options = {
                  path = mkOption {
                    type = types.str;
                    example = "~/src";
                    description = "A directory, below home as `~/…`. The longest path wins.";
                  };
                  servers = mkOption {
                    type = allowList;
                    example = [ "gopls" ];
                    description = "The servers that sessions there see.";
                  };
                };
              }
            );
            default = [ ];
            example = literalExpression ''[ { path = "~/src"; servers = [ "gopls" ]; } ]'';
            description = "Rules by directory.";
          };
        };
      }
    );
    default = null;
    example = literalExpression ''
      {
        default = "*";
        rules = [ { path = "~/scratch"; servers = [ ]; } ];
      }
    '';
    description = "Which servers sessions see, by directory; written to {file}`mcpx/rules.json`.";
  };

  hosts = lib.mapAttrs (_: host: {
    enable = mkOption {
      type = types.bool;
      default = false;
      example = true;
      description = ''
        Whether ${host.name} finds the servers through mcpx, by a
        {file}`~/${host.file}` that holds nothing else. The file is then a link
        into the Nix store, which ${host.name} cannot write its own settings to.
      '';
    };
  }) hosts;

  enableMcpIntegration = mkOption {
    type = types.bool;
    default = false;
    example = true;
    description = ''
      Whether each server also becomes an entry of
      {option}`programs.mcp.servers` that runs `mcpx connect NAME`. Hosts take
      those with their own `enableMcpIntegration`:
      {option}`programs.claude-code.enableMcpIntegration`,
      {option}`programs.codex.enableMcpIntegration` and so on. An entry of the
      same name keeps what it sets itself.
    '';
  };

  service = {
    enable = mkOption {
      type = types.bool;
      default = true;
      example = false;
      description = ''
        Whether the daemon is a systemd user service or launchd agent. Without
        it, the first `mcpx connect` starts a daemon, which leaves ten minutes
        after the last.
      '';
    };

    path = mkOption {
      type = types.listOf (types.either types.package types.str);
      default = [ ];
      example = literalExpression ''[ pkgs.nodejs pkgs.uv "/opt/tools/bin" ]'';
      description = ''
        Packages and directories in which the service finds the commands of
        servers, ahead of the profiles of user and system.
      '';
    };

    environment = mkOption {
      type = types.attrsOf types.str;
      default = { };
      example.LANG = "C.UTF-8";
      description = ''
        Variables of the service, and so of every server. They are written to
        the Nix store: secrets belong into `mcpx.secrets` of their server.
      '';
    };
  };

  socketActivation = mkOption {
    type = types.bool;
    default = true;
    example = false;
    description = ''
      Whether systemd opens the sockets and starts the service with the first
      connection, so that a restart refuses nobody. Without it the service
      starts at login. launchd starts the agent at login in either case.
    '';
  };

  configFile = mkOption {
    type = types.path;
    readOnly = true;
    description = "The config as it is installed, checked by {option}`programs.mcpx.package`.";
  };
}
