//! A filter on system calls, for programs under bubblewrap.
//!
//! Two filters are stacked. The first answers "there is no such call", so that programs take another way; the second
//! "that is not allowed". Everything else passes: graphics drivers and interpreters use more calls than a list of
//! allowed ones could foresee, and namespaces, capabilities and Landlock stand behind it.

use crate::calls::{ABSENT, HARMLESS_PERSONALITIES, NAMESPACES, REFUSED, REFUSED_HERE};
use libc::c_int;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Locks this process and all that come after it, for good.
pub(super) fn lock() -> Result<(), Error> {
    apply_filter(&program(refusals()?, libc::EPERM)?)?;
    apply_filter(&program(ABSENT.iter().map(|call| (call.number, Vec::new())).collect(), libc::ENOSYS)?)
}

fn refusals() -> Result<Rules, Error> {
    let mut rules: Rules = REFUSED.iter().chain(REFUSED_HERE).map(|call| (call.number, Vec::new())).collect();
    rules.insert(libc::SYS_clone, new_namespaces()?);
    rules.insert(libc::SYS_socket, families(0)?);
    rules.insert(libc::SYS_socketpair, families(0)?);
    rules.insert(libc::SYS_ioctl, typing_for_others()?);
    rules.insert(libc::SYS_personality, odd_personalities()?);
    Ok(rules)
}

fn when(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, Error> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])?)
}

fn bits(flag: c_int) -> u64 {
    u64::from(flag.cast_unsigned())
}

fn new_namespaces() -> Result<Vec<SeccompRule>, Error> {
    NAMESPACES.into_iter().map(|flag| when(0, SeccompCmpOp::MaskedEq(bits(flag)), bits(flag))).collect()
}

/// Only sockets between its own processes. There is no network in its namespace, but some families (virtual machines'
/// own, for one) reach beyond it.
fn families(argument: u8) -> Result<Vec<SeccompRule>, Error> {
    Ok(vec![when(argument, SeccompCmpOp::Ne, bits(libc::AF_UNIX))?])
}

/// Typing into a terminal in the name of whoever sits there.
fn typing_for_others() -> Result<Vec<SeccompRule>, Error> {
    const TIOCLINUX: u64 = 0x541C;
    [libc::TIOCSTI, TIOCLINUX].into_iter().map(|request| when(1, SeccompCmpOp::Eq, request)).collect()
}

fn odd_personalities() -> Result<Vec<SeccompRule>, Error> {
    let conditions: Result<Vec<_>, _> = HARMLESS_PERSONALITIES
        .into_iter()
        .map(|value| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value))
        .collect();
    Ok(vec![SeccompRule::new(conditions?)?])
}

fn program(rules: Rules, answer: c_int) -> Result<BpfProgram, Error> {
    let answer = SeccompAction::Errno(answer.cast_unsigned());
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, answer, target)?.try_into()?;
    Ok(second_numbering().into_iter().chain(filter).collect())
}

/// x86 kernels may take every call under a second number (x32), which the filter would not know: there is no such call.
fn second_numbering() -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_X32: u32 = 0x4000_0000;
    const RETURN_ERRNO: u32 = 0x0005_0000;
    if cfg!(not(target_arch = "x86_64")) {
        return Vec::new();
    }
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: FIRST_X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: RETURN_ERRNO | libc::ENOSYS.cast_unsigned() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compile_for_this_machine() {
        assert!(program(refusals().expect("rules"), libc::EPERM).is_ok());
    }
}
