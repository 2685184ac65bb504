# A sound fleet, and the same with each named rule broken once: `mcpx render` has
# to refuse those, name the rule, and write nothing.
{ pkgs, mcpx }:
let
  inherit (pkgs) lib;

  sound = {
    shared.mcpServers = {
      gopls = {
        command = "gopls";
        args = [ "mcp" ];
        mcpx.scope = "worktree";
      };
      docs.command = "docs-mcp";
    };
    machine = {
      home = "/home/ada";
      mcpServers.docs.args = [ "~/docs" ];
    };
  };

  broken = {
    placeholder.shared.mcpServers.docs.args = [ "\${mcpx.home}" ];
    home-path.shared.mcpServers.docs.args = [ "--index=/home/ada/docs" ];
    workspace-scope.shared.mcpServers.gopls.mcpx.scope = "global";
    same-servers.machine.mcpServers.browser.command = "browser-mcp";
    secret-literal.shared.mcpServers.docs.env.DOCS_TOKEN = "not-a-reference";
  };

  folder =
    name: fleet:
    pkgs.runCommand "fleet-${name}" { } ''
      mkdir -p $out/machines
      cp ${pkgs.writeText "shared.json" (builtins.toJSON fleet.shared)} $out/.mcpx.json
      cp ${pkgs.writeText "machine.json" (builtins.toJSON fleet.machine)} $out/machines/laptop.json
    '';
  refuses = rule: change: ''
    echo "== ${rule}"
    fleet=${folder rule (lib.recursiveUpdate sound change)}
    if mcpx render --fleet $fleet --machine laptop --out ${rule} >${rule}.said 2>&1; then
      echo "the fleet that breaks ${rule} rendered"
      exit 1
    fi
    cat ${rule}.said
    grep -q '${rule}' ${rule}.said || { echo "the rule ${rule} is not named"; exit 1; }
    [ ! -e ${rule} ] || { echo "something was written"; exit 1; }
  '';
in
pkgs.runCommand "mcpx-check-fleet-rejects" { nativeBuildInputs = [ mcpx ]; } ''
  export HOME=$TMPDIR
  mcpx render --fleet ${folder "sound" sound} --machine laptop --out sound
  ${lib.concatStrings (lib.mapAttrsToList refuses broken)}
  mkdir $out
  cp *.said $out
''
