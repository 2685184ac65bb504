{
  description = "mcpx: each MCP server once per scope, shared between agent sessions";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;

      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
      forAllSystems = f: lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});

      mcpxFor = pkgs: pkgs.callPackage ./nix/package.nix { };
    in
    {
      packages = forAllSystems (pkgs: rec {
        mcpx = mcpxFor pkgs;
        default = mcpx;
      });

      overlays.default = final: _prev: { mcpx = mcpxFor final; };

      homeModules = rec {
        mcpx = import ./nix/modules/home-manager.nix { inherit self; };
        default = mcpx;
      };

      checks = forAllSystems (
        pkgs:
        import ./checks {
          inherit pkgs self;
          mcpx = mcpxFor pkgs;
        }
      );

      devShells = forAllSystems (pkgs: {
        default = import ./nix/devshell.nix { inherit pkgs; };
      });

      formatter = forAllSystems (pkgs: pkgs.nixfmt-tree);
    };
}
