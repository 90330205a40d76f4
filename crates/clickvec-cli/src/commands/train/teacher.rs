//! A teacher's vectors, in any of the supported forms.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use clickvec::train::Teacher;

/// The teacher in a file. Parquet is read here, all other forms by the library.
pub(super) fn open(path: &Path) -> Result<Teacher<'_>> {
    if !is_parquet(path) {
        return Ok(Teacher::file(path));
    }
    #[cfg(feature = "parquet")]
    return Ok(Teacher::results(super::parquet::Rows::open(path)?));
    #[cfg(not(feature = "parquet"))]
    anyhow::bail!(
        "{}: this program was built without Parquet; build it with `--features parquet`, or give JSON lines",
        path.display()
    )
}

/// Whether a file begins with Parquet's magic bytes. Always false for a pipe: Parquet is read from its end, which a pipe
/// does not allow.
fn is_parquet(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut begin = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"PAR1"
}
