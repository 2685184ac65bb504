{
  lib,
  buildGoModule,
  gitMinimal,
  go,
  installShellFiles,
  stdenv,
}:
let
  inherit (lib) fileset;

  # "1.26.0". An older Go would fail while vendoring, with words that say nothing
  # of versions.
  wanted = lib.head (builtins.match ".*\ngo ([0-9.]+)\n.*" (builtins.readFile ../go.mod));
in
assert lib.assertMsg (lib.versionAtLeast go.version wanted)
  "mcpx: go.mod asks for Go ${wanted}, and this nixpkgs builds with Go ${go.version}";
buildGoModule (finalAttrs: {
  pname = "mcpx";
  version = "0.1.0";

  # The fleet and what is made from it stay out: a change there is no new mcpx and
  # restarts no daemon.
  src = fileset.toSource {
    root = ../.;
    fileset = fileset.unions [
      ../go.mod
      ../go.sum
      ../cmd
      ../pkg
      (fileset.fileFilter (file: file.hasExt "go") ../checks)
    ];
  };

  # Changes with go.mod; `bash checks/vendor-hash.sh -w` writes it.
  vendorHash = lib.fileContents ./vendor-hash;

  env.CGO_ENABLED = "0";
  # The build is told by its sources, of which the store path begins with a hash.
  ldflags = [
    "-s"
    "-w"
    "-X main.version=${finalAttrs.version}+${lib.substring 0 8 (baseNameOf finalAttrs.src)}"
  ];
  subPackages = [ "cmd/mcpx" ];

  nativeBuildInputs = [ installShellFiles ];
  postInstall = lib.optionalString (stdenv.buildPlatform.canExecute stdenv.hostPlatform) ''
    installShellCompletion --cmd mcpx \
      --bash <($out/bin/mcpx completion bash) \
      --fish <($out/bin/mcpx completion fish) \
      --zsh <($out/bin/mcpx completion zsh)
  '';

  # The tests start hundreds of processes and take minutes: they are the flake's
  # check `package`, not a price of installing.
  doCheck = false;
  nativeCheckInputs = [ gitMinimal ];
  checkPhase = ''
    runHook preCheck
    # No browser is looked for: one of the machine's would not be of this build.
    export MCPX_PAGE=0 HOME=$TMPDIR GOFLAGS=''${GOFLAGS//-trimpath/}
    go test -json ./... | go run ./checks/count
    runHook postCheck
  '';

  meta = {
    description = "Runs each MCP server once per scope and shares it between agent sessions";
    license = lib.licenses.mit;
    mainProgram = "mcpx";
    platforms = lib.platforms.unix;
  };
})
