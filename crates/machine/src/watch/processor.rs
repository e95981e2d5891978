//! How busy and how hot the processor is, for its owner to see. The governor judges by its heat and not by its load:
//! everything on the machine uses the processor, so its load says nothing about who does.
use crate::probe::Tree;

/// Drivers that tell the temperature of a processor.
const SENSORS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];

/// Reads the processor again and again.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    /// Ticks in which it was busy, and all of them, when it was last looked at.
    before: Option<(u64, u64)>,
}

/// The processor at one moment. What nobody tells is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How busy it was since it was last looked at.
    pub busy_percent: Option<u8>,
    /// How hot its hottest part is.
    pub celsius: Option<i16>,
}

impl Processor {
    /// Looks. The load is known from the second look on.
    pub fn look(&mut self, tree: &Tree) -> Load {
        let now = ticks(&tree.text("/proc/stat").unwrap_or_default());
        let busy_percent = self.before.zip(now).and_then(|(before, now)| between(before, now));
        self.before = now;
        Load { busy_percent, celsius: celsius(tree) }
    }
}

/// Busy ticks and all ticks since the start, of all cores together.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let counts = line.split_whitespace().map(|word| word.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests use is counted in the first two already.
    let all = counts.iter().take(8).fold(0_u64, |sum, count| sum.saturating_add(*count));
    let idle = counts.get(3)?.saturating_add(counts.get(4).copied().unwrap_or(0));
    Some((all.saturating_sub(idle), all))
}

fn between((busy_before, all_before): (u64, u64), (busy, all): (u64, u64)) -> Option<u8> {
    let (busy, all) = (busy.checked_sub(busy_before)?, all.checked_sub(all_before)?);
    let percent = busy.saturating_mul(100).checked_div(all)?;
    u8::try_from(percent.min(100)).ok()
}

pub(super) fn celsius(tree: &Tree) -> Option<i16> {
    let monitors = tree.list("/sys/class/hwmon").into_iter().map(|name| format!("/sys/class/hwmon/{name}"));
    let sensors =
        monitors.filter(|path| tree.text(format!("{path}/name")).is_some_and(|name| SENSORS.contains(&name.as_str())));
    let inputs = sensors.flat_map(|path| {
        let is_input = |name: &String| name.starts_with("temp") && name.ends_with("_input");
        tree.list(&path).into_iter().filter(is_input).map(move |name| format!("{path}/{name}"))
    });
    let hottest = inputs.filter_map(|path| tree.number::<i32>(path)).max()?;
    i16::try_from(hottest / 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &std::path::Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    #[test]
    fn load_is_what_was_busy_between_two_looks() {
        let dir = tempfile::tempdir().expect("a folder");
        let tree = Tree::at(dir.path());
        let mut processor = Processor::default();
        assert_eq!(processor.look(&tree), Load::default(), "nothing is known of a machine without these files");
        write(dir.path(), "proc/stat", "cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n");
        assert_eq!(processor.look(&tree).busy_percent, None, "one look says nothing");
        write(dir.path(), "proc/stat", "cpu  130 0 100 750 120 0 0 0 99 0\n");
        assert_eq!(processor.look(&tree).busy_percent, Some(30));
        assert_eq!(processor.look(&tree).busy_percent, None, "no time has passed");
        write(dir.path(), "proc/stat", "cpu  1 0 1 1 1\n");
        assert_eq!(processor.look(&tree).busy_percent, None, "the machine has started again");
    }

    #[test]
    fn the_hottest_sensor_of_a_processor_counts() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), "sys/class/hwmon/hwmon0/name", "nvme\n");
        write(dir.path(), "sys/class/hwmon/hwmon0/temp1_input", "90000\n");
        write(dir.path(), "sys/class/hwmon/hwmon1/name", "coretemp\n");
        write(dir.path(), "sys/class/hwmon/hwmon1/temp1_input", "51000\n");
        write(dir.path(), "sys/class/hwmon/hwmon1/temp2_input", "63500\n");
        write(dir.path(), "sys/class/hwmon/hwmon1/temp2_max", "100000\n");
        assert_eq!(celsius(&Tree::at(dir.path())), Some(63));
    }
}
