//! The formats of vectors' numbers.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::Serialize;

/// The format of the numbers of an index's vectors. Vectors are rounded first, so that an exact search is exact among the rounded
/// ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorFormat {
    /// In 32 bits, as the model makes them, and in 8, which rule out most of them.
    #[default]
    F32,
    /// In 16 bits, and in 8, which rule out most of them.
    F16,
    /// In 8 bits alone.
    Int8,
}

impl VectorFormat {
    /// All of them.
    pub const ALL: [VectorFormat; 3] = [VectorFormat::F32, VectorFormat::F16, VectorFormat::Int8];

    /// Returns the name, which is also the kind of the part in a manifest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VectorFormat::F32 => "f32",
            VectorFormat::F16 => "f16",
            VectorFormat::Int8 => "int8",
        }
    }
}

impl Display for VectorFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An error for a name that no format has.
impl FromStr for VectorFormat {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<VectorFormat, &'static str> {
        VectorFormat::ALL.into_iter().find(|format| format.name() == name).ok_or("expected f32, f16 or int8")
    }
}
