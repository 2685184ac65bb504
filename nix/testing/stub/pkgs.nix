# The packages mcpx's Nix files name, backed by the tools of the machine that
# builds. Builds run in Nix's own sandbox.
{ lib, system }:
let
  # Runs `script` with bash; PATH holds only what `inputs` provide.
  rawDerivation =
    attrs:
    derivation (
      {
        inherit system;
        builder = "/bin/bash";
      }
      // attrs
    );

  # Tool versions that checks/flake.sh writes beside this file, so that builds
  # are made again when the machine's tools change.
  host = if builtins.pathExists ./host then builtins.readFile ./host else "";

  # Symlinks to named programs of the host.
  hostTools =
    pname: programs: extra:
    rawDerivation {
      name = "${pname}-host";
      args = [
        "-euc"
        ''
          export PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin
          mkdir -p "$out/bin"
          for p in $programs; do
            at=$(type -P "$p") || { echo "stub nixpkgs: this machine has no $p" >&2; exit 1; }
            ln -s "$at" "$out/bin/$p"
          done
        ''
      ];
      inherit programs host;
    }
    // {
      inherit pname;
      meta.mainProgram = lib.head programs;
    }
    // extra;

  # What a derivation finds without asking, as with nixpkgs' stdenv. No git,
  # no jq, no go: those must be named as inputs here as they must be there.
  initialPath =
    hostTools "stdenv-tools"
      [
        "awk"
        "base64"
        "basename"
        "bash"
        "cat"
        "chmod"
        "cmp"
        "comm"
        "cp"
        "cut"
        "date"
        "dd"
        "diff"
        "dirname"
        "du"
        "echo"
        "env"
        "expr"
        "false"
        "find"
        "fold"
        "grep"
        "gzip"
        "head"
        "id"
        "install"
        "join"
        "link"
        "ln"
        "ls"
        "make"
        "md5sum"
        "mkdir"
        "mkfifo"
        "mktemp"
        "mv"
        "nice"
        "nl"
        "nohup"
        "nproc"
        "od"
        "paste"
        "patch"
        "printenv"
        "printf"
        "pwd"
        "readlink"
        "realpath"
        "rm"
        "rmdir"
        "sed"
        "seq"
        "sh"
        "sha256sum"
        "sleep"
        "sort"
        "split"
        "stat"
        "stdbuf"
        "stty"
        "sync"
        "tac"
        "tail"
        "tar"
        "tee"
        "test"
        "timeout"
        "touch"
        "tr"
        "true"
        "truncate"
        "tty"
        "uname"
        "uniq"
        "unlink"
        "wc"
        "whoami"
        "xargs"
      ]
      { };

  envValue = v: if builtins.isBool v then (if v then "1" else "") else v;

  mkDerivation =
    argsOrFn:
    let
      build =
        f:
        let
          attrs = f final;
          final = attrs // {
            finalPackage = drv;
          };
          name = attrs.name or "${attrs.pname}-${attrs.version}";
          plain = lib.filterAttrs (_: v: v != null && !builtins.isFunction v) (
            removeAttrs attrs [
              "env"
              "meta"
              "passthru"
            ]
          );
          drv =
            rawDerivation (
              lib.mapAttrs (_: envValue) (plain // (attrs.env or { }))
              // {
                inherit name initialPath;
                nativeBuildInputs =
                  attrs.nativeBuildInputs or [ ]
                  ++ lib.optionals (attrs.doCheck or false) (attrs.nativeCheckInputs or [ ]);
                args = [
                  "-e"
                  ./setup.sh
                ];
              }
            )
            // (attrs.passthru or { })
            // {
              meta = attrs.meta or { };
              passthru = attrs.passthru or { };
              overrideAttrs =
                g:
                build (
                  self:
                  let
                    prev = f self;
                    r = if builtins.isFunction g then g prev else g;
                  in
                  prev // (if builtins.isFunction r then g self prev else r)
                );
            }
            // lib.optionalAttrs (attrs ? pname) { inherit (attrs) pname; }
            // lib.optionalAttrs (attrs ? version) { inherit (attrs) version; }
            // lib.optionalAttrs (attrs ? goModules) { inherit (attrs) goModules; };
        in
        drv;
    in
    build (if builtins.isFunction argsOrFn then argsOrFn else _: argsOrFn);

  # As nixpkgs' buildGoModule: a fixed-output derivation of `go mod vendor`,
  # checked against vendorHash, then an offline build with -mod=vendor.
  buildGoModule =
    argsOrFn:
    mkDerivation (
      finalAttrs:
      let
        args = if builtins.isFunction argsOrFn then argsOrFn finalAttrs else argsOrFn;
      in
      {
        goModules =
          if finalAttrs.vendorHash == null then
            ""
          else
            mkDerivation {
              name = "${finalAttrs.pname}-${finalAttrs.version}-go-modules";
              inherit (finalAttrs) src;
              nativeBuildInputs = [
                pkgs.go
                pkgs.gitMinimal
              ];
              outputHashMode = "recursive";
              outputHash = finalAttrs.vendorHash;
              outputHashAlgo = if finalAttrs.vendorHash == "" then "sha256" else null;
              impureEnvVars = [
                "GOPROXY"
                "GONOSUMDB"
                "GOSUMDB"
              ];
              GOTOOLCHAIN = "local";
              buildPhase = ''
                go mod vendor
              '';
              installPhase = ''
                cp -r vendor $out
              '';
            };
        configurePhase = ''
          runHook preConfigure
          export GOPROXY=off GOSUMDB=off
          if [ -n "$goModules" ]; then
            rm -rf vendor
            cp -r "$goModules" vendor
          fi
          runHook postConfigure
        '';
        buildPhase = ''
          runHook preBuild
          for p in ''${subPackages:-$(go list ./... | sed "s,^$(go list -m),.,")}; do
            go install ''${tags:+-tags=''${tags// /,}} -ldflags="$ldflags" "./''${p#./}"
          done
          runHook postBuild
        '';
        checkPhase = ''
          runHook preCheck
          export GOFLAGS=''${GOFLAGS//-trimpath/}
          for p in ''${subPackages:-./...}; do
            go test -vet=off $checkFlags "./''${p#./}"
          done
          runHook postCheck
        '';
        installPhase = ''
          runHook preInstall
          mkdir -p $out
          [ -e "$GOPATH/bin" ] && cp -r "$GOPATH/bin" $out
          runHook postInstall
        '';
      }
      // args
      // {
        vendorHash = args.vendorHash or (throw "buildGoModule: vendorHash is missing");
        doCheck = args.doCheck or true;
        nativeBuildInputs = [ pkgs.go ] ++ args.nativeBuildInputs or [ ];
        env = {
          GOFLAGS = "-mod=vendor -trimpath";
          GO111MODULE = "on";
          GOTOOLCHAIN = "local";
          CGO_ENABLED = "0";
        }
        // args.env or { };
        ldflags = args.ldflags or [ ] ++ [ "-buildid=" ];
        meta = {
          platforms = lib.platforms.all;
        }
        // args.meta or { };
      }
    );

  runCommand =
    name: env: buildCommand:
    mkDerivation (
      {
        inherit name buildCommand;
        passAsFile = [ "buildCommand" ];
      }
      // env
    );

  writeTextFile =
    {
      name,
      text,
      executable ? false,
      destination ? "",
      meta ? { },
    }:
    mkDerivation {
      inherit name text meta;
      passAsFile = [
        "text"
        "buildCommand"
      ];
      buildCommand = ''
        mkdir -p "$(dirname "$out${destination}")"
        cp "$textPath" "$out${destination}"
        ${lib.optionalString executable ''chmod +x "$out${destination}"''}
      '';
    };

  # Named by the flake, never built by its checks.
  unavailable =
    pname:
    mkDerivation {
      inherit pname;
      version = "stub";
      buildCommand = ''
        echo "stub nixpkgs: ${pname} needs the real nixpkgs" >&2
        exit 1
      '';
      meta.mainProgram = pname;
    };

  pkgs = {
    inherit
      lib
      mkDerivation
      buildGoModule
      runCommand
      writeTextFile
      system
      ;
    callPackage = lib.callPackageWith pkgs;
    runtimeShell = "/bin/bash";
    stdenv = {
      inherit mkDerivation;
      hostPlatform = {
        inherit system;
        isLinux = lib.hasSuffix "-linux" system;
        isDarwin = lib.hasSuffix "-darwin" system;
      };
      buildPlatform.canExecute = _: true;
    };
    writeText =
      name: text:
      writeTextFile { inherit name text; };
    writeShellApplication =
      {
        name,
        text,
        runtimeInputs ? [ ],
        ...
      }:
      writeTextFile {
        inherit name;
        executable = true;
        destination = "/bin/${name}";
        meta.mainProgram = name;
        text = ''
          #!/bin/bash
          set -o errexit -o nounset -o pipefail
          export PATH="${lib.makeBinPath runtimeInputs}:$PATH"
          ${text}
        '';
      };
    mkShell =
      args:
      mkDerivation (
        {
          name = "nix-shell";
          buildCommand = "echo >$out";
        }
        // removeAttrs args [ "packages" ]
        // {
          nativeBuildInputs = args.packages or [ ];
        }
      );
    formats.json = _: {
      type =
        let
          t = lib.types;
        in
        t.nullOr (
          t.oneOf [
            t.bool
            t.int
            t.str
            (t.listOf t.anything)
            (t.attrsOf t.anything)
          ]
        );
      generate =
        name: value:
        runCommand name
          {
            nativeBuildInputs = [ pkgs.jq ];
            value = builtins.toJSON value;
            passAsFile = [
              "value"
              "buildCommand"
            ];
          }
          ''
            jq . "$valuePath" > $out
          '';
    };

    git = hostTools "git" [ "git" ] { };
    gitMinimal = pkgs.git;
    jq = hostTools "jq" [ "jq" ] { };
    go =
      hostTools "go"
        [
          "go"
          "gofmt"
        ]
        {
          version = lib.head (builtins.match ".*go version go([0-9.]+).*" host);
        };
    # Built by checks/flake.sh: Debian has none.
    gopls = runCommand "gopls" { } ''
      install -D ${./bin/gopls} $out/bin/gopls
    '';
    gotools = unavailable "gotools";
    go-tools = unavailable "go-tools";
    nixfmt = unavailable "nixfmt";
    nixfmt-tree = unavailable "nixfmt-tree";

    # As in nixpkgs, a setup hook; here one function that the phases can call.
    installShellFiles = writeTextFile {
      name = "install-shell-files";
      destination = "/nix-support/setup-hook";
      text = ''
        installShellCompletion() {
          local cmd= to
          while [ $# -gt 0 ]; do
            case $1 in
              --cmd) cmd=$2 to= ;;
              --bash) to=share/bash-completion/completions/$cmd.bash ;;
              --fish) to=share/fish/vendor_completions.d/$cmd.fish ;;
              --zsh) to=share/zsh/site-functions/_$cmd ;;
              *) echo "stub installShellCompletion: $1" >&2; return 1 ;;
            esac
            if [ -n "$to" ]; then
              mkdir -p "$out/''${to%/*}"
              cat "$2" >"$out/$to"
            fi
            shift 2
          done
        }
      '';
    };
  };
in
pkgs
