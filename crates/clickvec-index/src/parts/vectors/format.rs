//! The formats of vectors' numbers.

use clickvec_tables::named;
use std::str::FromStr;

use serde::Serialize;

named! {
    /// The format of the numbers of an index's vectors. Vectors are rounded first, so that an exact search is exact among the rounded
    /// ones.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum VectorFormat {
        /// In 32 bits, as the model makes them, and in 8, which rule out most of them.
        #[default]
        F32 = "f32",
        /// In 16 bits, and in 8, which rule out most of them.
        F16 = "f16",
        /// In 8 bits alone.
        Int8 = "int8",
    }
}

/// An error for a name that no format has.
impl FromStr for VectorFormat {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<VectorFormat, &'static str> {
        VectorFormat::from_name(name).ok_or("expected f32, f16 or int8")
    }
}
