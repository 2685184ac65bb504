# What no type says: each a sentence that names the option and what to do.
{
  config,
  options,
  lib,
  schema,
  hosts,
  # The machine's file, when there is one.
  machine,
}:
let
  cfg = config.programs.mcpx;
  secrets = import ./secrets.nix { inherit lib; };

  inherit (config.home) homeDirectory;
  machineFile = "machines/${cfg.machine}.json";
  machines = map (lib.removeSuffix ".json") (
    lib.filter (lib.hasSuffix ".json") (lib.attrNames (builtins.readDir (cfg.fleet + "/machines")))
  );
  isMachine = cfg.fleet != null && cfg.machine != null && lib.elem cfg.machine machines;

  beside =
    lib.filter (name: schema.prune cfg.${name} != { }) [
      "servers"
      "defaults"
      "daemon"
    ]
    ++ lib.optional (cfg.rules != null) "rules";

  # Hosts that this home-manager leads to programs.mcp, and is told to.
  integrated.cursor = lib.any (profile: profile.enableMcpIntegration or false) (
    lib.attrValues (config.programs.cursor.profiles or { })
  );

  literals =
    lib.concatLists (
      lib.mapAttrsToList (
        name: server: map (at: "servers.${name}.${at}") (secrets.inServer server)
      ) cfg.servers
    )
    ++ map (at: "daemon.${at}") (secrets.inVariables "env" cfg.daemon.env)
    ++ map (at: "service.${at}") (secrets.inVariables "environment" cfg.service.environment);

  refuse = message: {
    assertion = false;
    inherit message;
  };
in
[
  {
    assertion = cfg.fleet == null || cfg.machine != null;
    message = "programs.mcpx.fleet needs programs.mcpx.machine, the name of a file in its machines folder.";
  }
  {
    assertion = cfg.fleet == null || cfg.machine == null || isMachine;
    message = "programs.mcpx.machine is ${toString cfg.machine}, but programs.mcpx.fleet has no such machine; it has ${lib.concatStringsSep ", " machines}.";
  }
  {
    assertion = !isMachine || machine.home or homeDirectory == homeDirectory;
    message = "programs.mcpx.machine: ${machineFile} says that home is ${machine.home}, and here it is ${homeDirectory}.";
  }
  {
    assertion = cfg.fleet != null || cfg.machine == null;
    message = "programs.mcpx.machine names a machine of programs.mcpx.fleet, which is not set.";
  }
  {
    assertion = cfg.fleet == null || beside == [ ];
    message = "programs.mcpx.fleet is set, so programs.mcpx.${toString beside} would have no effect: write it into the fleet folder, or leave fleet out.";
  }
  {
    assertion = !cfg.enableMcpIntegration || options.programs ? mcp;
    message = "programs.mcpx.enableMcpIntegration needs programs.mcp, which home-manager has since release 25.11.";
  }
]
++ lib.concatMap (
  name:
  lib.optional (cfg.hosts.${name}.enable && cfg.enableMcpIntegration && integrated.${name} or false) (
    refuse "programs.mcpx.hosts.${name}.enable and enableMcpIntegration of programs.${name} both lead ${hosts.${name}.name} to mcpx, which would show each server twice: leave one out."
  )
) (lib.attrNames hosts)
++ map (
  at:
  refuse "programs.mcpx.${at} holds a literal secret, and every user can read the Nix store: have mcpx.secrets of the server name a file or a command instead."
) literals
