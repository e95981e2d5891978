//! The attacking program, compiled once for each process of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();

/// The program's path on this machine.
pub fn attacker() -> &'static Path {
    &BUILT
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("attack");
            // Asked for when the test runs: what was built may serve a checkout elsewhere, and tests of other packages.
            let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
            let source = Path::new(&package).join("../sandbox/tests/sandbox/attack.c");
            let built = Command::new("cc")
                .args(["-static", "-O1", "-w", "-o"])
                .args([&program, &source])
                .status()
                .expect("a C compiler (Debian: apt install gcc libc6-dev)");
            assert!(built.success());
            (folder, program)
        })
        .1
}
