# Homebrew: release/recipes.sh fills in what is between @ signs.
class Clickvec < Formula
  desc "Sentence vectors learned from a search engine's click log"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/clickvec-cli")
    generate_completions_from_executable(bin/"clickvec", "completions", shells: [:bash, :zsh, :fish])
    system bin/"clickvec", "man", "--output", buildpath/"man1"
    man1.install Dir["man1/*.1"]
  end

  test do
    (testpath/"clicks.tsv").write "query\ttitle\ncouch\tleather sofa\n"
    (testpath/"titles.tsv").write "id\ttitle\n1\tleather sofa\n2\tdesk lamp\n"
    system bin/"clickvec", "train", "--clicks", "clicks.tsv", "--output", "shop.safetensors", "--held-out", "0"
    system bin/"clickvec", "index", "--model", "shop.safetensors", "--titles", "titles.tsv", "--output", "shop"
    assert_match "leather sofa", shell_output("#{bin}/clickvec search shop sofa")
  end
end
