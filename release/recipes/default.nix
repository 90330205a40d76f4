# Nix: release/recipes.sh fills in what is between @ signs, and puts Cargo.lock beside it.
{
  pkgs ? import <nixpkgs> { },
}:

pkgs.rustPlatform.buildRustPackage {
  pname = "clickvec";
  version = "@VERSION@";

  src = pkgs.fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };

  cargoLock.lockFile = ./Cargo.lock;
  buildAndTestSubdir = "crates/clickvec-cli";
  # They need the test data of the whole project, and minutes.
  doCheck = false;

  nativeBuildInputs = [ pkgs.installShellFiles ];
  postInstall = ''
    $out/bin/clickvec man --output man1
    installManPage man1/*.1
    for shell in bash zsh fish; do
      $out/bin/clickvec completions $shell >clickvec.$shell
    done
    installShellCompletion clickvec.{bash,zsh,fish}
  '';

  meta = {
    description = "Sentence vectors learned from a search engine's click log";
    homepage = "@HOMEPAGE@";
    license = with pkgs.lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "clickvec";
    platforms = pkgs.lib.platforms.unix;
  };
}
