#!/usr/bin/env bash
# Changes one thing at a time in the code that reads and writes files, and says which changes no test notices:
#
#     cargo install cargo-mutants
#     bash bench/mutants.sh [FOLDER] [ARGUMENTS OF cargo-mutants]
#
# What is changed is `files`, `tensor_file` and `index/file` of the library. With the whole library to build, each change would take
# minutes, so they are copied to FOLDER (target/mutants, if none is given) as a crate of their own, with what they need of the library as
# it is or, where only a name matters, as a line of this script. What was found is in bench/notes/mutants.md.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-target/mutants}"
shift || true
source=crates/clickvec/src
rm -rf "$folder"
mkdir -p "$folder/src/index" "$folder/src/math" "$folder/src/encoder"
cp -r $source/error $source/files $source/memory.rs $source/tensor_file $source/tensor_file.rs "$folder/src"
cp -r $source/index/file "$folder/src/index"
cp $source/math/matrix.rs $source/math/buffer.rs "$folder/src/math"

cat >"$folder/Cargo.toml" <<'END'
[package]
name = "clickvec"
version = "0.1.0"
edition = "2024"

[dependencies]
END
# The versions of the workspace, and those of the lock file.
for crate in bytemuck flate2 memmap2 safetensors serde serde_json tempfile thiserror xxhash-rust zstd; do
    grep -E "^$crate = " Cargo.toml
done >>"$folder/Cargo.toml"
printf '\n[target."cfg(target_os = \\"linux\\")".dependencies]\n%s\n%s\n' \
    "$(grep -E '^libc = ' Cargo.toml)" "$(grep -E '^rustix = ' Cargo.toml)" >>"$folder/Cargo.toml"
cat >>"$folder/Cargo.toml" <<'END'

[workspace]

[profile.dev]
debug = false
END
cp Cargo.lock "$folder"

cat >"$folder/src/lib.rs" <<'END'
#![allow(dead_code, unused_imports)]
pub mod encoder;
pub mod error;
pub mod files;
pub mod index { pub mod file; }
pub mod math {
    pub mod buffer;
    pub mod matrix;
    pub use buffer::{Buffer, OutOfMemory};
    pub use matrix::Matrix;
}
pub mod memory;
pub mod tensor_file;
pub mod settings {
    #[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
    #[error("a setting")]
    pub struct SettingFault;
}
pub mod text {
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[error("a trigram")]
    pub struct DuplicateTrigram;
    #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
    #[error("a word")]
    pub struct DuplicateWord;
}
pub use error::{Error, Result};
END
cat >"$folder/src/encoder/mod.rs" <<'END'
use crate::math::Matrix;
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a size")]
pub struct SizeFault;
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor { pub kind: TensorKind, pub groups: Vec<Group>, pub value: Matrix }
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group { pub name: String, pub width: usize }
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind { Table, Dense, Bias }
impl Tensor {
    pub fn new(kind: TensorKind, groups: Vec<Group>, value: Matrix) -> Tensor { Tensor { kind, groups, value } }
    pub fn ranges(&self) -> impl Iterator<Item = (&Group, std::ops::Range<usize>)> {
        self.groups.iter().scan(0, |start, group| {
            let range = *start..*start + group.width;
            *start = range.end;
            Some((group, range))
        })
    }
}
END
cd "$folder"
cargo mutants --no-shuffle --timeout 120 -f 'src/files/*.rs' -f src/tensor_file.rs -f 'src/index/file/*.rs' "$@" \
    -- --lib -- files tensor_file index::file
