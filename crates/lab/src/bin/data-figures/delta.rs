//! A project that was moved before, of which one hundredth is new: bytes over the line.
use super::files::{Chance, MIB, noise};
use super::stage::Stage;
use super::tool::Tool;
use super::{Common, say};
use anyhow::{Result, bail};
use gleaner_lab::Shape;
use std::fs;
use std::path::Path;

const FILES: u64 = 1000;
/// Of each file this part is inserted.
const PART: u64 = 100;

/// How what is new is spread over each file.
struct Pattern {
    name: &'static str,
    pieces: u64,
}

const PATTERNS: [Pattern; 2] = [
    Pattern { name: "in one place of each file", pieces: 1 },
    Pattern { name: "in 16 places of each file", pieces: 16 },
];

/// Who moves the project again.
#[derive(Clone, Copy, Debug)]
enum Mover {
    /// The product, on the machine that moved it before.
    Gleaner,
    /// The product, on another machine of the same account, which knows nothing but its key.
    Elsewhere,
    /// rsync over ssh, which compares with the copy on the server.
    Rsync,
}

const MOVERS: [Mover; 3] = [Mover::Gleaner, Mover::Elsewhere, Mover::Rsync];

impl Mover {
    fn tool(self) -> Tool {
        match self {
            Self::Gleaner | Self::Elsewhere => Tool::Gleaner,
            Self::Rsync => Tool::RsyncSsh,
        }
    }

    fn line(self, stage: &Stage, project: &Path, own: &str) -> String {
        let (project, ssh, address) = (project.display(), stage.ssh(), stage.address());
        match self {
            Self::Gleaner | Self::Elsewhere => {
                format!("{} data push {project} --name project --json", stage.gleaner(own))
            }
            Self::Rsync => {
                let served = stage.folder().join("served");
                format!("rsync -a --no-whole-file -e '{ssh} -p 2222' {project} root@{address}:{}/", served.display())
            }
        }
    }
}

/// What moving it again took.
#[derive(Clone, Copy, Debug)]
struct Again {
    bytes: u64,
    inserted: u64,
    seconds: f64,
}

/// Both patterns, with the product and with rsync.
pub fn measure(common: &Common) -> Result<()> {
    common.cleared()?;
    let bytes = common.mib * MIB / FILES;
    println!("{FILES} files of {bytes} random bytes were moved before; one hundredth of that is inserted.");
    println!(
        "Bytes over the line, both ways and with all headers; in brackets for each byte that is new, and seconds.\n"
    );
    println!(
        "| inserted | gleaner | gleaner, from a machine that knows nothing | rsync, ssh | rsync / gleaner | goal |"
    );
    println!("|---|---|---|---|---|---|");
    for pattern in &PATTERNS {
        let mut all = Vec::new();
        for mover in MOVERS {
            let again = moved_again(common, mover, pattern, bytes)?;
            say(&format!("{} · {mover:?}: {again:?}", pattern.name));
            all.push(again);
        }
        let cell = |again: &Again| {
            format!("{} ({:.2}, {:.1} s)", again.bytes, again.bytes as f64 / again.inserted as f64, again.seconds)
        };
        let cells: Vec<String> = all.iter().map(cell).collect();
        let ratio = all[2].bytes as f64 / all[0].bytes as f64;
        let missed = if ratio >= 1.0 { "" } else { ", missed" };
        println!("| {} | {} | {ratio:.2} | ≥ 1{missed} |", pattern.name, cells.join(" | "));
    }
    println!();
    Ok(())
}

fn moved_again(common: &Common, mover: Mover, pattern: &Pattern, bytes: u64) -> Result<Again> {
    let project = common.folder.join("project");
    fs::create_dir_all(&project)?;
    for number in 0..FILES {
        fs::write(project.join(format!("{number:04}")), noise(number, bytes))?;
    }
    let shape = Some(Shape::megabits(1000).delay_ms(1));
    let stage = Stage::start(mover.tool(), shape, common.folder.join("stage"), &common.gleaner)?;
    timed(&stage, &mover.line(&stage, &project, "own"), common.limit)?;
    let inserted = insert(&project, bytes / PART, pattern.pieces)?;
    let before = stage.carried();
    let own = match mover {
        Mover::Elsewhere => {
            stage.give_account("own", "other")?;
            "other"
        }
        Mover::Gleaner | Mover::Rsync => "own",
    };
    let seconds = timed(&stage, &mover.line(&stage, &project, own), common.limit)?;
    let after = stage.carried();
    stage.clear()?;
    fs::remove_dir_all(&project)?;
    Ok(Again { bytes: after.0 - before.0 + after.1 - before.1, inserted, seconds })
}

fn timed(stage: &Stage, line: &str, limit: u64) -> Result<f64> {
    let cost = stage.run(line, limit)?;
    if cost.near.is_given_up() {
        bail!("{line} took more than {limit} s");
    }
    Ok(cost.near.seconds)
}

/// Inserts so many bytes into each file, in so many pieces; how many bytes that were in all.
fn insert(project: &Path, bytes: u64, pieces: u64) -> Result<u64> {
    let (mut chance, mut inserted) = (Chance(5), 0);
    for number in 0..FILES {
        let path = project.join(format!("{number:04}"));
        let mut content = fs::read(&path)?;
        for piece in 0..pieces {
            let new = noise(1_000_000 + number * pieces + piece, bytes / pieces);
            let at = chance.below(content.len() as u64) as usize;
            inserted += new.len() as u64;
            content.splice(at..at, new);
        }
        fs::write(&path, content)?;
    }
    Ok(inserted)
}
