//! Where random bytes come from. Passed in, so that tests can repeat themselves.
use crate::Error;

/// A source of bytes that nobody can guess.
pub trait Chance: Send + Sync {
    /// Fills the bytes.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error>;
}

/// The operating system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(bytes).map_err(Error::Random)
    }
}

/// So many random bytes.
pub(crate) fn bytes<const N: usize>(chance: &dyn Chance) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    chance.fill(&mut bytes)?;
    Ok(bytes)
}
