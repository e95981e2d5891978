//! What a core makes of each byte before it leaves, beside BLAKE3 alone and `cp`.
use super::Common;
use super::files::Data;
use super::run::shell;
use anyhow::{Context, Result};
use gleaner_data::measure::{Speeds, pipeline};
use gleaner_data::squeeze::Level;
use std::fs;
use std::io::Read;
use std::path::Path;

const SAMPLE_BYTES: u64 = 64 << 20;
const LEVEL: i32 = 3;

/// The table.
pub fn measure(common: &Common) -> Result<()> {
    let folder = common.cleared()?;
    println!("Gigabytes a second of one core, by processor time; squeezed at level {LEVEL}.\n");
    println!(
        "| data | cut | tag | sums | squeeze | seal | together | BLAKE3 alone | `cp` | together / BLAKE3 | together / `cp` | left |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for data in [Data::Random, Data::Text] {
        data.write(folder, common.sizes())?;
        let path = folder.join(data.name());
        let mut bytes = Vec::new();
        fs::File::open(&path)?.take(SAMPLE_BYTES).read_to_end(&mut bytes)?;
        let speeds = pipeline(&bytes, Some(Level::new(LEVEL)))?;
        print(&data.title(common.sizes()), &speeds, copy_speed(&path, folder, common.limit)?);
        fs::remove_file(&path)?;
    }
    println!();
    Ok(())
}

fn print(title: &str, speeds: &Speeds, copy: f64) {
    let Speeds { blake3, cut, hash, sums, squeeze, seal, together, left } = speeds;
    println!(
        "| {title} | {cut:.2} | {hash:.2} | {sums:.2} | {squeeze:.2} | {seal:.2} | {together:.2} | {blake3:.2} | {copy:.2} | {:.2} | {:.2} | {left:.2} |",
        together / blake3,
        together / copy
    );
}

fn copy_speed(path: &Path, folder: &Path, limit: u64) -> Result<f64> {
    let machine = gleaner_lab::Machine::new("copy")?;
    let to = folder.join("copy");
    let line = format!("cp --reflink=never {} {}", path.display(), to.display());
    let taken = shell(&machine, &line, limit, folder)?;
    let bytes = fs::metadata(&to)?.len();
    fs::remove_file(&to)?;
    let processor = taken.processor.context("cp took too long")?;
    Ok(bytes as f64 / 1e9 / processor.max(0.001))
}
