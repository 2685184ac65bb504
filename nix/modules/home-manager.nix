# programs.mcpx: the package, this machine's config, the daemon as a user service,
# and what leads hosts to it.
{ self }:
{
  config,
  lib,
  options,
  pkgs,
  ...
}:
let
  inherit (lib) mkIf;
  inherit (pkgs.stdenv.hostPlatform) isDarwin isLinux;

  cfg = config.programs.mcpx;
  home = config.home.homeDirectory;
  exe = lib.getExe cfg.package;

  schema = import ./schema.nix {
    inherit lib;
    json = pkgs.formats.json { };
  };
  hosts = import ./hosts.nix { inherit isDarwin; };
  enabledHosts = lib.filterAttrs (name: _: cfg.hosts.${name}.enable) hosts;

  # What of a fleet is wanted before mcpx has read it.
  fleetFile = path: import ../jsonc.nix { inherit lib; } (builtins.readFile (cfg.fleet + path));
  machine = fleetFile "/machines/${cfg.machine}.json";
  runtimeDir =
    if cfg.fleet == null || !(machine ? runtimeDir) then
      null
    else if lib.hasPrefix "~/" machine.runtimeDir then
      home + lib.removePrefix "~" machine.runtimeDir
    else
      machine.runtimeDir;

  # Servers that are turned off here have no entries in hosts: they would show
  # empty lists.
  servers =
    if cfg.fleet == null then
      schema.prune cfg.servers
    else
      lib.recursiveUpdate (fleetFile "/.mcpx.json").mcpServers (machine.mcpServers or { });
  isOff = server: server.disabled or false || server.mcpx.disabled or false;
  names = lib.attrNames (lib.filterAttrs (_: server: !(isOff server)) servers);

  files = import ./files.nix {
    inherit
      lib
      pkgs
      cfg
      schema
      home
      runtimeDir
      ;
    servers = lib.mapAttrs (_: isOff) servers;
    hosts = lib.attrNames enabledHosts;
  };

  units = import ./units.nix {
    inherit
      lib
      exe
      home
      runtimeDir
      ;
    inherit (cfg) service socketActivation;
    inherit (config.home) username profileDirectory;
  };
in
{
  options.programs.mcpx = import ./options.nix {
    inherit
      self
      lib
      pkgs
      schema
      hosts
      ;
  };

  config = mkIf cfg.enable (
    lib.mkMerge [
      {
        assertions = import ./assertions.nix {
          inherit
            config
            options
            lib
            schema
            hosts
            machine
            ;
        };

        home.packages = [ cfg.package ];
        programs.mcpx.configFile = files.config;
        xdg.configFile = files.installed;

        home.file =
          lib.mapAttrs' (
            _: host: lib.nameValuePair host.file { source = files.hostFile host.rendered; }
          ) enabledHosts
          # mcpx looks in ~/.config whatever XDG_CONFIG_HOME says: hosts start it
          # with and without that variable.
          // lib.optionalAttrs (config.xdg.configHome != "${home}/.config") (
            lib.mapAttrs' (path: lib.nameValuePair ".config/${path}") files.installed
          );
      }

      (mkIf (cfg.service.enable && isLinux) { systemd.user = units.systemd; })
      (mkIf (cfg.service.enable && isDarwin) { launchd.agents.mcpx = units.launchd; })

      # Absent before home-manager 25.11; an assertion says so.
      (lib.optionalAttrs (options.programs ? mcp) (
        mkIf cfg.enableMcpIntegration {
          programs.mcp = {
            enable = lib.mkDefault true;
            servers = lib.genAttrs names (name: {
              command = lib.mkDefault exe;
              args = lib.mkDefault (
                [
                  "connect"
                  name
                ]
                ++ lib.optionals (runtimeDir != null) [
                  "--runtime-dir"
                  runtimeDir
                ]
              );
            });
          };
        }
      ))
    ]
  );
}
