//! Asking the system's own programs, for a bounded time and a bounded answer.
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TIME_MAX: Duration = Duration::from_secs(5);
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a program printed; `None` if it is not there, fails or does not end in time.
pub fn output(program: &str, arguments: &[&str]) -> Option<String> {
    output_with(program, arguments, &BTreeMap::new())
}

/// The same, with these variables beside our own.
pub fn output_with(program: &str, arguments: &[&str], variables: &BTreeMap<String, String>) -> Option<String> {
    let mut command = Command::new(program);
    command.envs(variables);
    let mut child =
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).map(|_| bytes)
    });
    let end = Instant::now() + TIME_MAX;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < end => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => break None,
        }
    };
    if status.is_none() {
        // It may have ended meanwhile, and then there is nothing to end.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let bytes = reader.join().ok()?.ok()?;
    status?.success().then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::output;

    #[test]
    fn only_a_program_that_succeeds_is_believed() {
        assert_eq!(output("sh", &["-c", "echo yes"]).as_deref(), Some("yes\n"));
        assert_eq!(output("sh", &["-c", "echo yes; exit 1"]), None);
        assert_eq!(output("no-such-program-here", &[]), None);
    }
}
