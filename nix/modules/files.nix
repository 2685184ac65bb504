# The files that are installed, each made or read at build by the program that
# will read it at login: a bad config fails `home-manager build`.
{
  lib,
  pkgs,
  cfg,
  schema,
  home,
  # Names.
  hosts,
  # Whether each is turned off, by name.
  servers,
  runtimeDir,
}:
let
  json = pkgs.formats.json { };

  build =
    name: script:
    pkgs.runCommand name
      {
        nativeBuildInputs = [
          cfg.package
          pkgs.jq
        ];
      }
      ''
        export HOME=$TMPDIR
        ${script}
      '';
  render =
    fleet: machine:
    build "mcpx-${machine}" ''
      mcpx render --fleet ${fleet} --machine ${lib.escapeShellArg machine} --out $out
    '';

  fromFleet = render "${cfg.fleet}" cfg.machine;

  # As the file has it: what was left out is absent.
  blocks = lib.filterAttrs (_: block: block != { }) {
    defaults = schema.prune cfg.defaults;
    daemon = schema.prune cfg.daemon;
  };
  fromOptions = build "mcpx-config.json" ''
    cp ${
      json.generate "config.json" ({ mcpServers = schema.prune cfg.servers; } // blocks)
    } config.json
    mcpx check config.json
    cp config.json $out
  '';

  # Hosts and rules want the names of servers and nothing else of them.
  fromNames = render (build "mcpx-names" ''
    mkdir -p $out/machines
    cp ${
      json.generate "names.json" {
        mcpServers = lib.mapAttrs (_: off: {
          command = "mcpx";
          mcpx.disabled = off;
        }) servers;
      }
    } $out/.mcpx.json
    cp ${
      json.generate "machine.json" (
        { inherit home hosts; } // lib.optionalAttrs (runtimeDir != null) { inherit runtimeDir; }
      )
    } $out/machines/home.json
    ${lib.optionalString (cfg.rules != null) ''
      cp ${json.generate "rules.json" cfg.rules} $out/rules.json
    ''}
  '') "home";

  rules =
    if cfg.fleet == null then
      lib.optional (cfg.rules != null) fromNames
    else
      lib.optional (builtins.pathExists (cfg.fleet + "/rules.json")) fromFleet;
in
rec {
  config = if cfg.fleet == null then fromOptions else fromFleet + "/mcpx/config.json";

  # Below the config directory.
  installed = {
    "mcpx/config.json".source = config;
  }
  // lib.optionalAttrs (rules != [ ]) {
    "mcpx/rules.json".source = lib.head rules + "/mcpx/rules.json";
  };

  # The file at `rendered` for one of `hosts`. A desktop program has no profile on
  # its PATH, so the entries name mcpx by its whole path.
  hostFile =
    rendered:
    build (baseNameOf rendered) ''
      jq --arg mcpx ${lib.getExe cfg.package} '.mcpServers[].command = $mcpx' \
        ${fromNames}/${rendered} >$out
    '';
}
