//! A second wall around files, by Landlock, where the kernel has it: even what is mounted by mistake stays closed, and
//! signals and sockets do not leave the sandbox.

use super::Landlock;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// The newest interface whose rights are asked for; older kernels enforce what they know.
const NEWEST: ABI = ABI::V6;
const READABLE: [&str; 12] =
    ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/in", "/sys", "/proc", "/.gleaner"];
const WRITABLE: [&str; 4] = ["/out", "/checkpoint", "/tmp", "/dev"];

/// Locks this process for good, and says how much of it the kernel enforces.
pub(super) fn lock(readable: &[String]) -> Result<Landlock, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    // Threads are named through /proc, and programs write their own scores there.
    let note = BitFlags::from(AccessFs::WriteFile);
    let listing = BitFlags::from(AccessFs::ReadDir);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(READABLE, read))?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(["/proc"], note))?
        .add_rules(path_beneath_rules(["/"], listing))?
        .add_rules(path_beneath_rules(WRITABLE, all & !(AccessFs::MakeChar | AccessFs::MakeBlock)))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Landlock::All,
        RulesetStatus::PartiallyEnforced => Landlock::Some,
        RulesetStatus::NotEnforced => Landlock::None,
    })
}
