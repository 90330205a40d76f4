//! The program `clickvec`; all of it is in `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    clickvec_cli::main()
}
