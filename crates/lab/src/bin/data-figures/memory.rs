//! How much memory moving takes, of the client and of the hub, however large the dataset is.
use super::files::{Data, MIB, noise};
use super::stage::Stage;
use super::tool::{Tool, Way};
use super::{Common, chosen, say};
use anyhow::{Result, bail};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much larger than what is in it the sparse file is.
const SPARSE_TIMES: u64 = 16;
const ISLANDS: u64 = 16;
const GOAL_BYTES: u64 = 150_000_000;

/// The table.
pub fn measure(common: &Common) -> Result<()> {
    let folder = common.cleared()?;
    let source = folder.join("source");
    println!("The most that each process had. The hub is a new one for each dataset; its figure is of both ways.\n");
    println!("| data | client, push | client, pull | hub | seconds, push and pull | goal |\n|---|---|---|---|---|---|");
    for data in chosen::<Data>(&[]) {
        fs::create_dir_all(&source)?;
        data.write(&source, common.sizes())?;
        row(common, &data.title(common.sizes()), &source.join(data.name()))?;
        fs::remove_dir_all(&source)?;
    }
    let (size, islands) = (common.mib * MIB * SPARSE_TIMES, common.mib.min(ISLANDS));
    make_sparse(&source, size, islands)?;
    row(common, &format!("a sparse file of {} MiB with {islands} MiB in it", size / MIB), &source)?;
    println!();
    Ok(())
}

fn row(common: &Common, title: &str, path: &Path) -> Result<()> {
    let stage = Stage::start(Tool::Gleaner, None, common.folder.join("stage"), &common.gleaner)?;
    let target = stage.folder().join("target/moved");
    let mut costs = Vec::new();
    for way in Way::BOTH {
        let line = match way {
            Way::Push => format!("{} data push {} --name moved --json", stage.gleaner("own"), path.display()),
            Way::Pull => {
                stage.give_account("own", "other")?;
                format!("{} data pull moved {} --json", stage.gleaner("other"), target.display())
            }
        };
        let cost = stage.run(&line, common.limit)?;
        if cost.near.is_given_up() {
            bail!("{line} took more than {} s", common.limit);
        }
        say(&format!("{title} · {}: {:.1} s", way.title(), cost.near.seconds));
        costs.push(cost);
    }
    let (push, pull) = (costs[0], costs[1]);
    let most = push.near.peak.max(pull.near.peak).max(pull.far_peak);
    let missed = if most < GOAL_BYTES { "" } else { ", missed" };
    println!(
        "| {title} | {} MB | {} MB | {} MB | {:.1}, {:.1} | < {} MB{missed} |",
        push.near.peak / 1_000_000,
        pull.near.peak / 1_000_000,
        pull.far_peak / 1_000_000,
        push.near.seconds,
        pull.near.seconds,
        GOAL_BYTES / 1_000_000
    );
    stage.clear()
}

fn make_sparse(folder: &Path, size: u64, islands: u64) -> Result<()> {
    fs::create_dir_all(folder)?;
    let file = fs::File::create(folder.join("sparse.img"))?;
    file.set_len(size)?;
    for number in 0..islands {
        file.write_all_at(&noise(number, MIB), size / islands * number + 12_345)?;
    }
    Ok(())
}
