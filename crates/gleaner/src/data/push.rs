//! `gleaner data push`.
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use gleaner_client::Client;
use gleaner_client::data::{Push, Pushed};

use super::steer::Steering;
use super::transfer::{Pushing, rate};
use crate::interrupt::Interrupt;
use crate::output::{data, json, say};
use crate::words;

/// Options of `gleaner data push`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder or file
    path: PathBuf,
    /// The name under which it is kept [default: the folder's or file's own]
    #[arg(long)]
    name: Option<String>,
    /// Read files again although they look unchanged
    #[arg(long)]
    checksum: bool,
    /// Print what was pushed as JSON
    #[arg(long)]
    json: bool,
}

/// Pushes a folder or file.
pub async fn perform(client: &Client, args: &Args) -> Result<ExitCode> {
    let whole = std::fs::canonicalize(&args.path).with_context(|| format!("cannot find {}", args.path.display()))?;
    let own = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = args.name.clone().unwrap_or(own);
    let begun = Instant::now();
    let pushed = push(client, &whole, &name, args.checksum).await?;
    for (path, text) in &pushed.notices {
        say(format!("{}: {text}", path.display()));
    }
    if args.json {
        json(&serde_json::json!({
            "name": name, "data": pushed.data, "bytes": pushed.totals.bytes, "entries": pushed.totals.entries,
            "read_bytes": pushed.counts.read_bytes, "sent_bytes": pushed.sent.bytes,
            "sent_twice_bytes": pushed.sent.again, "sent_chunks": pushed.sent.chunks,
        }))?;
    } else {
        say(summary(&name, &pushed, begun.elapsed().as_secs_f64()));
        data(&pushed.data.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pushes, with progress, until it is done or interrupted.
pub async fn push(client: &Client, path: &std::path::Path, name: &str, checksum: bool) -> Result<Pushed> {
    let account = client.account()?;
    let steering = Steering::watch(account.steering());
    let push = Push {
        account,
        hub: client.data(),
        owner: client.requester(),
        name: Some(name),
        checksum,
        steer: Some(steering.receiver()),
        direct: false,
    };
    let mut interrupt = Interrupt::listen()?;
    let mut pushing = Pushing::new();
    let pushed = tokio::select! {
        pushed = push.run(path, |so_far| pushing.show(name, so_far)) => Some(pushed),
        () = interrupt.came() => None,
    };
    pushing.clear();
    let help = "run the same command again: it goes on where it was";
    let stopped = || crate::failure::Advice::new("stopped; what has arrived is safe on the hub", help);
    Ok(pushed.ok_or_else(stopped)??)
}

/// What it was, what moved, and what was saved.
fn summary(name: &str, pushed: &Pushed, seconds: f64) -> String {
    let (totals, counts, sent) = (pushed.totals, pushed.counts, pushed.sent);
    let unread = totals.bytes.saturating_sub(counts.read_bytes);
    let new = counts.read_bytes.saturating_sub(counts.known_bytes);
    let mut words = vec![
        format!("{}: {} in {}", words::plain(name), words::bytes(totals.bytes), words::count(totals.entries, "item")),
        format!("sent {} in {:.1} s ({})", words::bytes(sent.bytes), seconds, rate(sent.bytes, seconds)),
    ];
    if unread > 0 {
        words.push(format!("{} unchanged and not read", words::bytes(unread)));
    }
    if counts.known_bytes > 0 {
        words.push(format!("{} known before", words::bytes(counts.known_bytes)));
    }
    if sent.known_bytes > 0 {
        words.push(format!("{} on the hub already", words::bytes(sent.known_bytes)));
    }
    if new > counts.squeezed_bytes {
        words.push(format!("compression saved {}", words::bytes(new - counts.squeezed_bytes)));
    }
    words.join(" · ")
}
