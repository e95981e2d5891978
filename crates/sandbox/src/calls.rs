//! Calls to the kernel that no task needs and break-outs are made of: one list for both sandboxes. The helper makes a filter
//! of it for programs under bubblewrap, and engines get it as part of the profile of every container.

use libc::{c_int, c_long};

/// A call by the name that engines know it by, and by its number on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    constant: &'static str,
    pub(crate) number: c_long,
}

impl Call {
    pub(crate) fn name(self) -> &'static str {
        self.constant.trim_start_matches("SYS_")
    }
}

macro_rules! calls {
    ($($call:ident,)*) => { &[$(Call { constant: stringify!($call), number: libc::$call },)*] };
}

/// Calls that programs find another way around: there are none.
pub(crate) const ABSENT: &[Call] = calls![SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,];

/// Calls that are not allowed.
pub(crate) const REFUSED: &[Call] = calls![
    // Other processes' memory and handles.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_kcmp,
    SYS_pidfd_getfd,
    // Keys of the kernel, which namespaces do not part.
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    // Mounts and namespaces.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_setns,
    SYS_unshare,
    // Large and seldom used parts of the kernel.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_lookup_dcookie,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_vmsplice,
    SYS_nfsservctl,
    // The machine as a whole.
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    SYS_vhangup,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_adjtimex,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_migrate_pages,
];

/// The same, of this kind of processor alone.
#[cfg(target_arch = "x86_64")]
pub(crate) const REFUSED_HERE: &[Call] = calls![SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS__sysctl,];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const REFUSED_HERE: &[Call] = &[];

/// What `clone` may not be asked for: a thread or process is welcome, one in a namespace of its own is not.
pub(crate) const NAMESPACES: [c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Plain Linux, 32 bits of it, and asking (all ones). Other personalities switch old weaknesses on.
pub(crate) const HARMLESS_PERSONALITIES: [u64; 3] = [0, 0x0008, 0xffff_ffff];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_listed_twice() {
        let numbers: Vec<_> = REFUSED.iter().chain(REFUSED_HERE).chain(ABSENT).map(|call| call.number).collect();
        assert_eq!(numbers.iter().collect::<std::collections::BTreeSet<_>>().len(), numbers.len());
    }

    #[test]
    fn names_are_those_of_the_kernel() {
        assert_eq!(REFUSED[0], Call { constant: "SYS_ptrace", number: libc::SYS_ptrace });
        assert_eq!(REFUSED[0].name(), "ptrace");
    }
}
