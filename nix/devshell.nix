{ pkgs }:
pkgs.mkShell {
  packages = [
    pkgs.go
    pkgs.gopls
    pkgs.gotools
    pkgs.go-tools # staticcheck
    pkgs.gitMinimal
    pkgs.jq
    pkgs.nixfmt
  ];
}
