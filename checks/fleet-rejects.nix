# A sound fleet, and the same with each named rule broken once: `mcpx render` has
# to refuse those, name the rule, and write nothing. One rule only warns.
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
      mcpServers.docs.env.DOCS_DIR = "~/docs";
    };
  };

  broken = {
    placeholder.shared.mcpServers.docs.args = [ "\${mcpx.home}" ];
    home-path.shared.mcpServers.docs.args = [ "--index=/home/ada/docs" ];
    workspace-scope.shared.mcpServers.gopls.mcpx.scope = "global";
    same-servers.machine.mcpServers.browser.command = "browser-mcp";
    secret-literal.shared.mcpServers.docs.env.DOCS_TOKEN = "not-a-reference";
  };

  doubtful.unpinned.shared.mcpServers.docs = {
    command = "npx";
    args = [
      "-y"
      "docs-mcp@latest"
    ];
  };

  folder =
    name: fleet:
    pkgs.runCommand "fleet-${name}" { } ''
      mkdir -p $out/machines
      cp ${pkgs.writeText "shared.json" (builtins.toJSON fleet.shared)} $out/.mcpx.json
      cp ${pkgs.writeText "machine.json" (builtins.toJSON fleet.machine)} $out/machines/laptop.json
    '';
  # Renders the fleet with a change, as `name`, and says what mcpx said.
  attempt = name: change: ''
    echo "== ${name}"
    status=0
    mcpx render --fleet ${folder name (lib.recursiveUpdate sound change)} --machine laptop \
      --out ${name} >${name}.said 2>&1 || status=$?
    cat ${name}.said
  '';
  names = rule: ''
    grep -qF '[${rule}]' ${rule}.said || { echo "the rule ${rule} is not named"; exit 1; }
  '';

  refuses = rule: change: ''
    ${attempt rule change}
    [ $status = 1 ] || { echo "exit code $status, not 1"; exit 1; }
    [ ! -e ${rule} ] || { echo "something was written"; exit 1; }
    ${names rule}
  '';
  warns = rule: change: ''
    ${attempt rule change}
    [ $status = 0 ] || { echo "exit code $status, not 0"; exit 1; }
    ${names rule}
  '';
in
pkgs.runCommand "mcpx-check-fleet-rejects" { nativeBuildInputs = [ mcpx ]; } ''
  export HOME=$TMPDIR
  ${attempt "sound" { }}
  [ $status = 0 ]
  ${lib.concatStrings (lib.mapAttrsToList refuses broken)}
  ${lib.concatStrings (lib.mapAttrsToList warns doubtful)}
  mkdir $out
  cp *.said $out
''
