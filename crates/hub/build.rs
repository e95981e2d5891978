//! Builds the program that the hub gives to workers to test their containers: it must be all in one file, so that its
//! image needs nothing else. Where it cannot be built, an empty file says so. And puts the dashboard into the binary.
#[path = "build/dashboard.rs"]
mod dashboard;

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "src/screen/container/probe.rs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={SOURCE}");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names a folder"));
    let program = folder.join("probe");
    if !is_known() || !built(&program) {
        std::fs::write(&program, []).expect("cargo's folder can be written");
    }
    dashboard::embed(&folder);
}

/// Whether the program is written for this kind of machine.
fn is_known() -> bool {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    of("CARGO_CFG_TARGET_OS") == "linux" && ["x86_64", "aarch64"].contains(&of("CARGO_CFG_TARGET_ARCH").as_str())
}

fn built(program: &Path) -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let target = std::env::var_os("TARGET").expect("cargo names the target");
    let options = ["opt-level=3", "panic=abort", "strip=symbols", "relocation-model=static", "overflow-checks=off"];
    let link = ["-nostartfiles", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"];
    let mut command = Command::new(compiler);
    command.args(["--edition=2024", "--crate-type=bin", "--crate-name=probe", SOURCE, "-o"]).arg(program);
    command.arg("--target").arg(target);
    command.args(options.iter().flat_map(|option| ["-C", option]));
    command.args(link.iter().flat_map(|option| ["-C".to_owned(), format!("link-arg={option}")]));
    let done = command.status().is_ok_and(|status| status.success());
    if !done {
        println!("cargo::warning=the container test could not be built: this hub will not test containers");
    }
    done
}
