//! WASI preview 1 for tasks: the table of calls that a program may import.
//!
//! There is no network, no environment, no clock of the machine and no chance of its own: what a program sees
//! depends on the task alone. `docs/wasm.md` says it to users.
use wasmtime::{Caller, Extern, Linker};

use super::errno::Errno;
use super::guest::Guest;
use super::host::Host;
use super::stop::{Fail, Stop};
use super::{file_calls, path_calls, plain_calls};

/// The module that programs import these calls from.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

/// What programs import if they can open files.
pub(crate) fn opens_files(import: &str) -> bool {
    import.starts_with("path_") || import.starts_with("fd_prestat")
}

/// Runs a call on the program's memory and answers with its error number.
fn answer(
    mut caller: Caller<'_, Host>,
    call: impl FnOnce(&mut Host, &mut Guest<'_>) -> Result<(), Fail>,
) -> wasmtime::Result<i32> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(wasmtime::Error::msg("the program exports no memory, so it cannot call WASI"));
    };
    let (bytes, host) = memory.data_and_store_mut(&mut caller);
    match call(host, &mut Guest(bytes)) {
        Ok(()) => Ok(0),
        Err(Fail::Errno(errno)) => Ok(errno.0),
        Err(Fail::Stop(stop)) => Err(wasmtime::Error::new(stop)),
    }
}

/// Defines calls with the types of their parameters, each a function of host, memory and those parameters.
macro_rules! calls {
    ($linker:ident, $($name:literal => $room:ident::$call:ident($($arg:ident: $ty:ty),*);)*) => {
        $($linker.func_wrap(MODULE, $name, |caller: Caller<'_, Host>, $($arg: $ty),*| {
            answer(caller, |host, guest| $room::$call(host, guest, $($arg),*))
        })?;)*
    };
}

/// Adds every call to a linker.
pub(crate) fn add(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    add_plain(linker)?;
    add_files(linker)?;
    add_paths(linker)?;
    add_refused(linker)?;
    linker.func_wrap(MODULE, "proc_exit", |_: Caller<'_, Host>, code: i32| -> wasmtime::Result<()> {
        Err(wasmtime::Error::new(Stop::Exit(code)))
    })?;
    Ok(())
}

fn add_plain(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    calls! { linker,
        "args_get" => plain_calls::args_get(list: u32, text: u32);
        "args_sizes_get" => plain_calls::args_sizes_get(count: u32, bytes: u32);
        "environ_get" => plain_calls::environ_get(list: u32, text: u32);
        "environ_sizes_get" => plain_calls::environ_sizes_get(count: u32, bytes: u32);
        "clock_res_get" => plain_calls::clock_res_get(clock: u32, result: u32);
        "clock_time_get" => plain_calls::clock_time_get(clock: u32, precision: u64, result: u32);
        "random_get" => plain_calls::random_get(buffer: u32, len: u32);
        "sched_yield" => plain_calls::sched_yield();
        "poll_oneoff" => plain_calls::poll_oneoff(subscriptions: u32, events: u32, count: u32, result: u32);
    }
    Ok(())
}

fn add_files(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    calls! { linker,
        "fd_advise" => file_calls::fd_advise(fd: u32, offset: u64, len: u64, advice: u32);
        "fd_allocate" => file_calls::fd_allocate(fd: u32, offset: u64, len: u64);
        "fd_close" => file_calls::fd_close(fd: u32);
        "fd_datasync" => file_calls::fd_sync(fd: u32);
        "fd_sync" => file_calls::fd_sync(fd: u32);
        "fd_fdstat_get" => file_calls::fd_fdstat_get(fd: u32, result: u32);
        "fd_fdstat_set_flags" => file_calls::fd_fdstat_set_flags(fd: u32, flags: u32);
        "fd_fdstat_set_rights" => file_calls::fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64);
        "fd_filestat_get" => file_calls::fd_filestat_get(fd: u32, result: u32);
        "fd_filestat_set_size" => file_calls::fd_filestat_set_size(fd: u32, len: u64);
        "fd_filestat_set_times" => file_calls::fd_filestat_set_times(fd: u32, read: u64, written: u64, flags: u32);
        "fd_pread" => file_calls::fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, result: u32);
        "fd_pwrite" => file_calls::fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, result: u32);
        "fd_read" => file_calls::fd_read(fd: u32, vectors: u32, count: u32, result: u32);
        "fd_write" => file_calls::fd_write(fd: u32, vectors: u32, count: u32, result: u32);
        "fd_renumber" => file_calls::fd_renumber(from: u32, to: u32);
        "fd_seek" => file_calls::fd_seek(fd: u32, offset: i64, whence: u32, result: u32);
        "fd_tell" => file_calls::fd_tell(fd: u32, result: u32);
    }
    Ok(())
}

fn add_paths(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    calls! { linker,
        "fd_prestat_get" => path_calls::fd_prestat_get(fd: u32, result: u32);
        "fd_prestat_dir_name" => path_calls::fd_prestat_dir_name(fd: u32, path: u32, len: u32);
        "fd_readdir" => path_calls::fd_readdir(fd: u32, buffer: u32, len: u32, cookie: u64, result: u32);
        "path_create_directory" => path_calls::path_create_directory(fd: u32, path: u32, len: u32);
        "path_filestat_get" => path_calls::path_filestat_get(fd: u32, flags: u32, path: u32, len: u32, result: u32);
        "path_open" => path_calls::path_open(
            fd: u32, look: u32, path: u32, len: u32, open: u32, base: u64, inheriting: u64, flags: u32, result: u32);
        "path_readlink" => path_calls::path_readlink(fd: u32, path: u32, len: u32, to: u32, to_len: u32, result: u32);
        "path_remove_directory" => path_calls::path_remove_directory(fd: u32, path: u32, len: u32);
        "path_rename" => path_calls::path_rename(fd: u32, path: u32, len: u32, to_fd: u32, to: u32, to_len: u32);
        "path_unlink_file" => path_calls::path_unlink_file(fd: u32, path: u32, len: u32);
    }
    Ok(())
}

/// Calls that exist so that programs link, and that always answer that they are not supported.
fn add_refused(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let no = Errno::UNSUPPORTED.0;
    linker.func_wrap(MODULE, "proc_raise", move |_: i32| no)?;
    linker.func_wrap(MODULE, "sock_accept", move |_: i32, _: i32, _: i32| no)?;
    linker.func_wrap(MODULE, "sock_recv", move |_: i32, _: i32, _: i32, _: i32, _: i32, _: i32| no)?;
    linker.func_wrap(MODULE, "sock_send", move |_: i32, _: i32, _: i32, _: i32, _: i32| no)?;
    linker.func_wrap(MODULE, "sock_shutdown", move |_: i32, _: i32| no)?;
    linker.func_wrap(MODULE, "path_symlink", move |_: i32, _: i32, _: i32, _: i32, _: i32| no)?;
    linker.func_wrap(MODULE, "path_link", move |_: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| no)?;
    let times = move |_: i32, _: i32, _: i32, _: i32, _: i64, _: i64, _: i32| no;
    linker.func_wrap(MODULE, "path_filestat_set_times", times)?;
    Ok(())
}
