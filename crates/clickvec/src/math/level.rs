//! The vector instructions that the kernels use.

use std::sync::atomic::{AtomicU8, Ordering};

use clickvec_tables::shown::shortened;
use clickvec_tables::{Error, ErrorKind};

/// A set of vector instructions, weakest first.
///
/// Results have the same bytes in every run on one level. Between levels they differ by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// The instructions that every processor of the target has.
    Plain = 1,
    /// AVX2 and FMA.
    Avx2 = 2,
    /// AVX-512 F, VL, BW and DQ.
    Avx512 = 3,
}

/// 0 until the level is first needed or limited.
static LEVEL: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Level; 3] = [Level::Plain, Level::Avx2, Level::Avx512];

    /// Returns the level's name, as a model file records it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Returns the strongest level that this processor has.
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq");
            if has_avx512 {
                return Level::Avx512;
            }
            if has_avx2 {
                return Level::Avx2;
            }
        }
        Level::Plain
    }

    /// Returns the level in use: that of the processor, or a lower one after [`Level::limit`].
    pub fn current() -> Level {
        match LEVEL.load(Ordering::Relaxed) {
            1 => Level::Plain,
            2 => Level::Avx2,
            3 => Level::Avx512,
            _ => {
                let level = Level::detect();
                LEVEL.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }

    /// Returns the level in use from now on: `level`, or the highest that the processor has if that is lower.
    pub fn limit(level: Level) -> Level {
        let level = level.min(Level::detect());
        LEVEL.store(level as u8, Ordering::Relaxed);
        level
    }
}

impl std::str::FromStr for Level {
    type Err = Error;

    fn from_str(name: &str) -> Result<Level, Error> {
        Level::ALL.into_iter().find(|level| level.name() == name).ok_or_else(|| {
            let expected = "an instruction level `plain`, `avx2` or `avx512`";
            Error::expected(ErrorKind::Setting, expected, format!("`{}`", shortened(name)))
        })
    }
}

/// Defines `fn name(arguments)` as the given generic body, compiled once for each [`Level`].
///
/// The body is an `#[inline(always)]` function with one const parameter, which says whether there is fused
/// multiply-add. It must be sound at any level, because only the instructions differ.
macro_rules! by_level {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$meta])*
        #[allow(unsafe_code, reason = "calls a function compiled for detected instructions")]
        #[inline]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
                fn avx512($($arg: $ty),*) $(-> $ret)? { $body::<true>($($arg),*) }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? { $body::<true>($($arg),*) }
                match $crate::math::level::Level::current() {
                    // SAFETY: `Level::current` never exceeds what the processor was found to have.
                    $crate::math::level::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::math::level::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::math::level::Level::Plain => {}
                }
            }
            $body::<false>($($arg),*)
        }
    };
}
pub(crate) use by_level;
