//! One command of one tool, timed.
use super::peak::Watch;
use anyhow::{Context, Result, bail};
use gleaner_lab::Machine;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `timeout` ends with when it had to end the command, and when it had to kill it.
const TIMED_OUT: [i32; 2] = [124, 137];

/// What one command took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// By the clock.
    pub seconds: f64,
    /// Processor time of the command and its children, of this side only. None if it was given up.
    pub processor: Option<f64>,
    /// The most memory that the command had, in bytes; of what it started itself it is not counted.
    pub peak: u64,
}

impl Taken {
    /// Whether it was given up.
    pub fn is_given_up(&self) -> bool {
        self.processor.is_none()
    }
}

/// Runs a line of shell inside a machine, for so many seconds at most. The folder takes a note of the process.
pub fn shell(machine: &Machine, line: &str, limit: u64, folder: &Path) -> Result<Taken> {
    let note = folder.join("process");
    let _ = std::fs::remove_file(&note);
    let noted = note.display();
    // A line that begins with `exec` is that process in the end. The braces have the shell around it take the time.
    let timed = format!(
        "TIMEFORMAT=$'\\ntaken %U %S'; time {{ ( echo $BASHPID > {noted}.new; mv {noted}.new {noted}; {line} ); }}"
    );
    let mut command = Command::new("timeout");
    command.args(["-k", "2", &limit.to_string(), "bash", "-o", "pipefail", "-c", &timed]);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    let watch = Watch::start(note);
    let begun = Instant::now();
    let output = machine.run(command)?;
    let seconds = begun.elapsed().as_secs_f64();
    let peak = watch.stop();
    let said = String::from_utf8_lossy(&output.stderr);
    let processor = match output.status.code() {
        Some(0) => Some(processor(&said).context("bash says what a command took")?),
        Some(code) if TIMED_OUT.contains(&code) && seconds >= limit as f64 => None,
        // `timeout` kills itself as well if it has to kill.
        None if seconds >= limit as f64 => None,
        _ => bail!("{line}\nended with {}: {said}", output.status),
    };
    Ok(Taken { seconds, processor, peak })
}

fn processor(said: &str) -> Option<f64> {
    let line = said.lines().rev().find_map(|line| line.strip_prefix("taken "))?;
    let (user, system) = line.split_once(' ')?;
    Some(user.parse::<f64>().ok()? + system.trim().parse::<f64>().ok()?)
}

/// Processor seconds that a process and the children it has buried have used.
pub fn processor_of(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // The fields 14 to 17 of the file, of which the name was the second, in ticks of which a second has 100.
    fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_that_bash_wrote_counts() {
        assert_eq!(processor("taken 9.0 9.0\nnoise\ntaken 1.250 0.500\n"), Some(1.75));
        assert_eq!(processor("killed"), None);
    }

    #[test]
    fn a_process_that_works_uses_processor_time() {
        let (own, begun) = (std::process::id(), processor_of(std::process::id()));
        let mut sum = 0_u64;
        while processor_of(own) < begun + 0.02 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
        }
        assert_eq!(processor_of(u32::MAX), 0.0);
    }
}
