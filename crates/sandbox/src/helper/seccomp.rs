//! A filter on system calls: what no task needs and break-outs are made of.
//!
//! Two filters are stacked. The first answers "there is no such call", so that programs take another way; the second
//! "that is not allowed". Everything else passes: graphics drivers and interpreters use more calls than a list of
//! allowed ones could foresee, and namespaces, capabilities and Landlock stand behind it.

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that programs find another way around.
const ABSENT: [c_long; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Calls that are refused.
const REFUSED: [c_long; 51] = [
    // Other processes' memory and handles.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Keys of the kernel, which namespaces do not part.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    // Large and seldom used parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_lookup_dcookie,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_vmsplice,
    libc::SYS_nfsservctl,
    // The machine as a whole.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_migrate_pages,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [c_long; 4] = [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS__sysctl];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [c_long; 0] = [];

/// Locks this process and all that come after it, for good.
pub(super) fn lock() -> Result<(), Error> {
    apply_filter(&program(refusals()?, libc::EPERM)?)?;
    apply_filter(&program(ABSENT.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)?)
}

fn refusals() -> Result<Rules, Error> {
    let mut rules: Rules = REFUSED.iter().chain(&REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
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

/// A thread or process is welcome, one in a namespace of its own is not.
fn new_namespaces() -> Result<Vec<SeccompRule>, Error> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.into_iter().map(|flag| when(0, SeccompCmpOp::MaskedEq(bits(flag)), bits(flag))).collect()
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

/// Asking (all ones), plain Linux and fixed addresses (for debuggers and some runtimes) are harmless; others switch old
/// weaknesses on.
fn odd_personalities() -> Result<Vec<SeccompRule>, Error> {
    const HARMLESS: [u64; 4] = [0, 0x0040_0000, 0x0008, 0xffff_ffff];
    let conditions: Result<Vec<_>, _> = HARMLESS
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

    #[test]
    fn no_call_is_listed_twice() {
        let all: std::collections::BTreeSet<_> = REFUSED.iter().chain(&REFUSED_HERE).chain(&ABSENT).collect();
        assert_eq!(all.len(), REFUSED.len() + REFUSED_HERE.len() + ABSENT.len());
    }
}
