//! The kernel process of the tests: what `gleaner wgsl-child` is to users.
use std::process::ExitCode;

fn main() -> ExitCode {
    gleaner_worker::wgsl_child()
}
