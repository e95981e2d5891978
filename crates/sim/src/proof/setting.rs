//! Who is in a world, and how those who cheat do it.
use serde::Serialize;

/// A world to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Tasks that are delivered.
    pub jobs: u64,
    /// Everything follows from it.
    pub seed: u64,
    /// The liars' share of all workers, in thousandths.
    pub liars: u32,
    /// They lie about one task in so many.
    pub one_in: u32,
    /// Whether all of them give the same wrong answer to a task, and vouch for each other.
    pub league: bool,
    /// Whether they are honest until their rate is at its floor; a league, until that is so for all of them.
    pub patient: bool,
    /// Whether they can tell an audit from paid work. Then they are honest in audits of honest workers.
    pub sees_audits: bool,
    /// Whether they give no answer when they would lie in an audit, and vanish when their claim is drawn.
    pub drops: bool,
    /// Into how many workers, each in a name of its own, a liar splits a stake like those of others.
    pub sybils: u32,
    /// Whether liars who lost their stake are back at once, instead of after two days.
    pub besieged: bool,
    /// Others who save themselves the work of audits.
    pub lazy: Option<Lazy>,
    /// What devices compute.
    pub devices: Kind,
    /// How long a task takes, in minutes; it costs as much more.
    pub minutes: u32,
}

/// Workers that are honest in paid work and lazy in audits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lazy {
    /// Their share of all workers, in thousandths.
    pub share: u32,
    /// Whether they see that a task is an audit and what the answer to it was. If not, they guess which of their tasks are
    /// audits, one in twenty, and make something up.
    pub sees: bool,
}

/// What results look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// All devices agree to the bit.
    Exact,
    /// Numbers that differ a little from run to run, sometimes by more.
    Noisy,
    /// Three classes of devices, one of them rare, that legitimately differ from each other by far more than from themselves.
    Diverging,
}

impl Setting {
    /// A world with so many liars, in thousandths, that lie about one task in so many, each on its own.
    pub fn new(liars: u32, one_in: u32) -> Self {
        Self {
            jobs: 1_000_000,
            seed: 1,
            liars,
            one_in,
            league: false,
            patient: false,
            sees_audits: false,
            drops: false,
            sybils: 1,
            besieged: false,
            lazy: None,
            devices: Kind::Exact,
            minutes: 1,
        }
    }
}
