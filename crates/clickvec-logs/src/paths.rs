//! Special paths: standard input and output, pipes and devices.

use std::path::Path;

use clickvec_tables::files::Found;

/// The name of a file in messages.
pub(crate) use clickvec_tables::shown::shown_input as named;

/// Returns whether an output is a pipe, a device or standard output, which nothing can replace.
pub(crate) fn is_special(output: &Path) -> bool {
    is_standard_output(output) || Found::is_special(output)
}

/// Returns whether a path is standard output. If that is redirected to a file, the file is written to and never replaced.
pub fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}
