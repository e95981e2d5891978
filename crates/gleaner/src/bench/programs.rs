//! The jobs that benchmarks run, written to a folder as a user would have them.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The module of `noop.wat`.
const NOOP: &[u8] =
    b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x0a\x01\x06_start\0\0\x0a\x04\x01\x02\0\x0b";
/// The module of `hold.wat`.
const HOLD: &[u8] = include_bytes!("hold.wasm");

/// Writes an array of tasks that do nothing.
pub fn noop(folder: &Path, count: u32) -> Result<PathBuf> {
    let task = "[[task]]\nname = \"noop\"\nruntime = \"wasm\"\nprogram = \"noop.wasm\"\n";
    let task = format!("{task}args = [\"{{index}}\"]\neach = \"1..{count}\"\nmemo = false\n");
    write(folder, "noop", NOOP, &task)
}

/// Writes a fork of tasks that hold a device for 100 ms each, and a join that waits for them all.
pub fn fork_join(folder: &Path, count: u32) -> Result<PathBuf> {
    std::fs::write(folder.join("noop.wasm"), NOOP).context("cannot write the benchmark's program")?;
    let fork = "[[task]]\nname = \"fork\"\nruntime = \"wasm\"\nprogram = \"hold.wasm\"\nmemo = false\n";
    let join = "[[task]]\nname = \"join\"\nruntime = \"wasm\"\nprogram = \"noop.wasm\"\nmemo = false\n";
    let input = "[[task.input]]\nname = \"fork\"\nfrom = \"fork\"\n";
    write(folder, "hold", HOLD, &format!("{fork}each = \"1..{count}\"\n{join}{input}"))
}

fn write(folder: &Path, name: &str, program: &[u8], tasks: &str) -> Result<PathBuf> {
    let job = folder.join(format!("{name}.toml"));
    let head = format!("name = \"{name}\"\nprefer = \"fast\"\n[budget]\nprice_max = \"50 GLN\"\n");
    std::fs::write(folder.join(format!("{name}.wasm")), program)
        .and_then(|()| std::fs::write(&job, format!("{head}{tasks}")))
        .with_context(|| format!("cannot write the benchmark's job to {}", folder.display()))?;
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_come_from_their_sources() {
        assert_eq!(wat::parse_str(include_str!("noop.wat")).expect("valid"), NOOP);
        assert_eq!(wat::parse_str(include_str!("hold.wat")).expect("valid"), HOLD);
    }
}
