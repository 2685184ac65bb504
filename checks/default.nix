# Every check is a derivation that `nix flake check` builds.
{
  pkgs,
  self,
  mcpx,
}:
let
  inherit (pkgs) lib;
  inherit (lib) fileset;

  # Go tests by name, with the package's own sources and vendored modules.
  goTest =
    name:
    {
      packages,
      run ? ".",
      inputs ? [ ],
      env ? { },
    }:
    mcpx.overrideAttrs (prev: {
      name = "mcpx-check-${name}";
      # Named after the package, not after the check: vendored once.
      inherit (mcpx) goModules;
      nativeBuildInputs = prev.nativeBuildInputs ++ inputs;
      env = prev.env or { } // env;
      buildPhase = ''
        runHook preBuild
        export HOME=$TMPDIR GOFLAGS=''${GOFLAGS//-trimpath/}
        go test -count=1 -v ${lib.escapeShellArgs ([ "-run" run ] ++ packages)} | tee test.log
        # A pattern that fits no test proves nothing.
        grep -q '^--- PASS' test.log
        runHook postBuild
      '';
      installPhase = "cp test.log $out";
      postInstall = "";
      doInstallCheck = false;
    });

  # What tests read that is none of the package's sources.
  testData = fileset.toSource {
    root = ../.;
    fileset = fileset.unions [
      ../fleet
      (fileset.fileFilter (file: !lib.any file.hasExt [ "go" "nix" "sh" ]) ./.)
    ];
  };

  machines = map (lib.removeSuffix ".json") (
    lib.filter (lib.hasSuffix ".json") (lib.attrNames (builtins.readDir ../fleet/machines))
  );
in
{
  # All tests, with declared inputs only and without network.
  package = mcpx.overrideAttrs {
    doCheck = true;
    preCheck = ''
      cp -r --no-preserve=mode ${testData}/. .
    '';
  };

  spawn-cwd = goTest "spawn-cwd" {
    packages = [
      "./pkg/spawn"
      "./pkg/child"
    ];
    run = "SpawnCwd";
  };

  identity = goTest "identity" {
    packages = [ "./pkg/spawn" ];
    run = "Identity";
  };

  # A real gopls behind mcpx connect, a real linked worktree.
  gopls-live = goTest "gopls-live" {
    packages = [ "./checks/live" ];
    inputs = [
      pkgs.gitMinimal
      pkgs.go
      pkgs.gopls
    ];
    env.MCPX_LIVE_GOPLS = "1"; # a gopls that is missing fails instead of skipping
  };

  # Every machine renders, to the bytes that are committed.
  fleet = pkgs.runCommand "mcpx-check-fleet" { nativeBuildInputs = [ mcpx ]; } ''
    export HOME=$TMPDIR
    for machine in ${lib.escapeShellArgs machines}; do
      mcpx render --fleet ${../fleet} --machine "$machine" --out "$out/$machine"
      mcpx render --fleet ${../fleet} --machine "$machine" --out "$out/$machine" --check
    done
    diff -r ${./fleet/golden} $out
  '';

  fleet-rejects = import ./fleet-rejects.nix { inherit pkgs mcpx; };

  home-module = import ./home-module.nix { inherit pkgs self mcpx; };
}
