//! The error numbers of WASI preview 1 that this host answers with.

/// An error number, as a program sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    pub(crate) const BAD_HANDLE: Self = Self(8);
    pub(crate) const EXISTS: Self = Self(20);
    pub(crate) const FAULT: Self = Self(21);
    pub(crate) const ILLEGAL_SEQUENCE: Self = Self(25);
    pub(crate) const INVALID: Self = Self(28);
    pub(crate) const INPUT_OUTPUT: Self = Self(29);
    pub(crate) const IS_DIRECTORY: Self = Self(31);
    pub(crate) const TOO_MANY_HANDLES: Self = Self(33);
    pub(crate) const NAME_TOO_LONG: Self = Self(37);
    pub(crate) const MISSING: Self = Self(44);
    pub(crate) const NO_SPACE: Self = Self(51);
    pub(crate) const NOT_DIRECTORY: Self = Self(54);
    pub(crate) const NOT_EMPTY: Self = Self(55);
    pub(crate) const UNSUPPORTED: Self = Self(58);
    pub(crate) const READ_ONLY: Self = Self(69);
    pub(crate) const NOT_SEEKABLE: Self = Self(70);
    pub(crate) const NOT_CAPABLE: Self = Self(76);
}

impl From<std::io::Error> for Errno {
    fn from(_: std::io::Error) -> Self {
        Self::INPUT_OUTPUT
    }
}
