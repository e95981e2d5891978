//! The seccomp profile of every container: which calls to the kernel its programs may make.
//!
//! Engines bring one of their own, but they differ: Docker's lets programs trace each other, podman's lets them make
//! namespaces and mount. This one allows nothing that either refuses, and nothing that programs under bubblewrap are
//! refused.

use super::connect::Character;
use crate::Error;
use crate::calls::{ABSENT, Call, HARMLESS_PERSONALITIES, NAMESPACES, REFUSED, REFUSED_HERE};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// What programs may call, group by group. Names that this kind of processor does not have are passed over by engines.
const ALLOWED: [&str; 10] = [
    // Files that are open.
    "close close_range dup dup2 dup3 fadvise64 fallocate fcntl fdatasync flock fstat fstatfs fsync ftruncate ioctl lseek \
     pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readv sendfile splice sync sync_file_range syncfs tee \
     copy_file_range write writev",
    // Files by their names.
    "access chdir chmod chown creat faccessat faccessat2 fchdir fchmod fchmodat fchown fchownat futimesat getcwd getdents \
     getdents64 lchown link linkat lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 readlink readlinkat rename \
     renameat renameat2 rmdir stat statfs statx symlink symlinkat truncate umask unlink unlinkat utime utimensat utimes",
    // What is written beside their content.
    "fgetxattr flistxattr fremovexattr fsetxattr getxattr lgetxattr listxattr llistxattr lremovexattr lsetxattr removexattr \
     setxattr",
    // Waiting for files and events.
    "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 inotify_add_watch inotify_init \
     inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup io_submit pipe pipe2 poll ppoll pselect6 select \
     signalfd signalfd4 timerfd_create timerfd_gettime timerfd_settime",
    // Memory.
    "brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap \
     pkey_alloc pkey_free pkey_mprotect remap_file_pages",
    // Processes and threads; `clone` is below.
    "arch_prctl execve execveat exit exit_group fork futex get_robust_list get_thread_area getcpu getpgid getpgrp getpid getppid \
     getpriority getrlimit getrusage getsid gettid ioprio_get ioprio_set pidfd_open pidfd_send_signal prctl prlimit64 \
     process_mrelease restart_syscall rseq sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr \
     sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler \
     sched_yield set_robust_list set_thread_area set_tid_address setpgid setpriority setrlimit setsid vfork wait4 waitid",
    // Signals and time.
    "alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday kill nanosleep pause rt_sigaction rt_sigpending \
     rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack tgkill \
     time timer_create timer_delete timer_getoverrun timer_gettime timer_settime times tkill",
    // Who and where it is. A container has no capability, so that it can become nobody else.
    "capget capset getegid geteuid getgid getgroups getrandom getresgid getresuid getuid setfsgid setfsuid setgid setgroups \
     setregid setresgid setresuid setreuid setuid sysinfo uname",
    // Talking to each other; `socket` is below.
    "accept accept4 bind connect getpeername getsockname getsockopt listen mq_getsetattr mq_notify mq_open mq_timedreceive \
     mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd recvfrom recvmmsg recvmsg semctl semget semop semtimedop sendmmsg \
     sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown socketpair",
    // Locks that programs put on themselves.
    "landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp",
];

/// Sockets of these families only. A container without a network has a loopback of its own, which programs use among
/// themselves; other families, such as virtual machines' own, reach beyond its namespace.
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// The profile, as Docker and podman both write theirs. It names this processor's own calls alone: a program that makes
/// others, such as those of 32 bits, is killed.
fn profile() -> Value {
    let allow =
        |names: &[&str], arguments: Value| json!({ "names": names, "action": "SCMP_ACT_ALLOW", "args": arguments });
    let answer = |calls: &[&[Call]], code: i32| {
        let names: Vec<_> = calls.iter().flat_map(|calls| calls.iter()).map(|call| call.name()).collect();
        json!({ "names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": code })
    };
    let is = |index: u32, value: u64| json!({ "index": index, "value": value, "op": "SCMP_CMP_EQ" });
    let namespaces = NAMESPACES.iter().fold(0, |all, flag| all | flag.cast_unsigned());
    let no_namespace = json!({ "index": 0, "value": namespaces, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ" });
    let family = |family: i32| is(0, u64::from(family.cast_unsigned()));
    let mut rules = vec![
        allow(&ALLOWED.iter().flat_map(|group| group.split_ascii_whitespace()).collect::<Vec<_>>(), json!([])),
        allow(&["clone"], json!([no_namespace])),
        // Programs ask the kernel in this way which addresses they have.
        allow(&["socket"], json!([family(libc::AF_NETLINK), is(2, u64::from(libc::NETLINK_ROUTE.cast_unsigned()))])),
        answer(&[ABSENT], libc::ENOSYS),
        answer(&[REFUSED, REFUSED_HERE], libc::EPERM),
    ];
    rules.extend(FAMILIES.map(|name| allow(&["socket"], json!([family(name)]))));
    rules.extend(HARMLESS_PERSONALITIES.map(|value| allow(&["personality"], json!([is(0, value)]))));
    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": libc::ENOSYS,
        "architectures": [if cfg!(target_arch = "aarch64") { "SCMP_ARCH_AARCH64" } else { "SCMP_ARCH_X86_64" }],
        "syscalls": rules,
    })
}

/// How the engine is told of the profile. Docker takes it word by word; podman takes the name of a file, so it is written
/// into one.
pub(super) fn option(character: &Character, file: &Path) -> Result<String, Error> {
    let text = profile().to_string();
    if !character.podman {
        return Ok(format!("seccomp={text}"));
    }
    let failed = |error| Error::system(format!("writing {}", file.display()), error);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Put in place whole: another worker's container may be made of it at this moment.
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    let whole = std::fs::canonicalize(file).map_err(failed)?;
    let name = whole.to_str().ok_or_else(|| Error::Refused(format!("{} is not UTF-8", whole.display())))?;
    Ok(format!("seccomp={name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn allowed() -> Vec<&'static str> {
        ALLOWED.iter().flat_map(|group| group.split_ascii_whitespace()).collect()
    }

    #[test]
    fn no_call_is_allowed_twice_or_allowed_and_refused() {
        let names: BTreeSet<_> = allowed().into_iter().collect();
        assert_eq!(names.len(), allowed().len());
        for call in REFUSED.iter().chain(REFUSED_HERE).chain(ABSENT) {
            assert!(!names.contains(call.name()), "{}", call.name());
        }
        for conditional in ["clone", "socket", "personality"] {
            assert!(!names.contains(conditional), "{conditional} would be allowed without its condition");
        }
    }

    /// Docker's own profile, without capabilities, allows neither these nor what podman's refuses.
    #[test]
    #[expect(clippy::print_stdout, reason = "what is skipped is said")]
    fn nothing_is_allowed_that_engines_refuse_by_themselves() {
        for refused in
            ["get_mempolicy", "mbind", "set_mempolicy", "keyctl", "add_key", "userfaultfd", "umount", "uselib"]
        {
            assert!(!allowed().contains(&refused), "{refused}");
        }
        let Ok(text) = std::fs::read("/usr/share/containers/seccomp.json") else {
            let why = "podman's profile is not installed (Debian: apt install golang-github-containers-common)";
            assert!(std::env::var_os("GLEANER_TEST_EVERYTHING").is_none(), "{why}");
            return println!("skipped: {why}");
        };
        let podmans: Value = serde_json::from_slice(&text).expect("a profile");
        let theirs: BTreeSet<&str> = podmans["syscalls"]
            .as_array()
            .expect("rules")
            .iter()
            .filter(|rule| rule["action"] == "SCMP_ACT_ALLOW" && rule["includes"].get("caps").is_none())
            .flat_map(|rule| rule["names"].as_array().expect("names"))
            .filter_map(Value::as_str)
            .collect();
        let beyond: Vec<_> = allowed().into_iter().filter(|name| !theirs.contains(name)).collect();
        assert!(beyond.is_empty(), "{beyond:?}");
    }
}
