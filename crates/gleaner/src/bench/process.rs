//! What the kernel knows of a process: processor time and memory.
use anyhow::{Context, Result};

/// Processor time and memory of a process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time since its start, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory in bytes.
    pub resident: f64,
}

/// Reads the usage of a process.
pub fn usage(pid: u32) -> Result<Usage> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/{file}");
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}; benchmarks need Linux"))
    };
    let stat = read("stat")?;
    // The name in the second field may hold spaces; what follows its closing bracket does not.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let status = read("status")?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<f64>().ok()).unwrap_or(0.0);
    Ok(Usage { cpu_seconds: (ticks(11) + ticks(12)) / per_second, resident: kib * 1024.0 })
}

/// Processor time of this thread: it does not count what neighbours take.
pub fn thread_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    std::time::Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
