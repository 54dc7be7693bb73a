# nix run 'github:OWNER/REPOSITORY?dir=.release' -- demo
{
  description = "guard: a shell guard for commands that AI agents and people run";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      source = ../.;
      manifest = builtins.fromTOML (builtins.readFile (source + "/Cargo.toml"));
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "guard";
          version = manifest.workspace.package.version;
          src = source;
          cargoLock.lockFile = source + "/Cargo.lock";
          cargoBuildFlags = [ "--package" "guard" "--package" "guard-gateway" ];
          # The tests drive shells, terminals and browsers that a build has not: .ci/run runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            installManPage man/*.[1-8]
            installShellCompletion --cmd guard --bash completions/guard.bash --fish completions/guard.fish \
              --zsh completions/_guard
          '';
          meta = {
            description = manifest.package.description;
            license = with nixpkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "guard";
          };
        };
      });
    };
}
