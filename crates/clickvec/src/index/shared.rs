//! Numbers that several owners read, in memory or in a mapped file.

use std::fmt::{self, Debug, Formatter};
use std::ops::Deref;
use std::sync::Arc;

/// A slice with an owner of any kind. A clone shares it.
pub struct Shared<T>(Arc<dyn AsRef<[T]> + Send + Sync>);

impl<T> Shared<T> {
    /// Shares the slice of an owner that always returns the same one.
    pub fn new(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Shared<T> {
        Shared(Arc::new(owner))
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Shared<T> {
    fn from(numbers: Vec<T>) -> Shared<T> {
        Shared::new(numbers)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        (*self.0).as_ref()
    }
}

impl<T: Debug> Debug for Shared<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        **self == **other
    }
}
