/// Private data.
///
/// It prints as `Sensitive(..)` and has no `Display`, `Serialize`, `Deref`, `PartialEq` or getter: the only way out is an
/// [`Aggregate`](crate::Aggregate) through a [`Mechanism`](crate::Mechanism).
///
/// ```compile_fail
/// let secret = mechanism::Sensitive::new(42);
/// println!("{secret}");
/// ```
/// ```compile_fail
/// let secret = mechanism::Sensitive::new(42);
/// assert!(secret == mechanism::Sensitive::new(42));
/// ```
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Marks a value as private. There is no way back.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Computes on private data; the result is as private.
    ///
    /// The closure must not write what it sees anywhere; that is the one thing the type cannot check.
    pub fn map<U>(self, compute: impl FnOnce(T) -> U) -> Sensitive<U> {
        Sensitive(compute(self.0))
    }

    pub(crate) fn as_ref(&self) -> &T {
        &self.0
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::fmt::Debug for Sensitive<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sensitive(..)")
    }
}

impl<T> From<T> for Sensitive<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_printed() {
        assert_eq!(
            format!("{:?}", Sensitive::new("a name").map(str::len)),
            "Sensitive(..)"
        );
        assert_eq!(format!("{:#?}", Sensitive::new([1, 2, 3])), "Sensitive(..)");
    }
}
