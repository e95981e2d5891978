//! What the demo says at its end: who did what, what was retried, how long it took, who earned what.
use std::path::PathBuf;

use anyhow::{Result, bail};
use console::style;
use gleaner_wire::api::{JobView, TallyView, WorkerView};
use gleaner_wire::{Amount, DeviceKind, Micros, Millis, Runtime, RuntimeOffer};

use crate::job::show::failures;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// The one-worker run that the demo compares itself with.
struct Reference {
    view: JobView,
    same_bytes: bool,
}

/// Everything the demo found out.
pub struct Report {
    view: JobView,
    workers: Vec<WorkerView>,
    killed: Option<String>,
    runtime: Runtime,
    reference: Option<Reference>,
    notes: Vec<String>,
    books: Option<String>,
    /// Where the picture is.
    pub picture: PathBuf,
}

impl Report {
    /// The report of a finished job.
    pub fn new(
        view: JobView,
        workers: Vec<WorkerView>,
        killed: Option<String>,
        picture: PathBuf,
        runtime: Runtime,
    ) -> Self {
        Self { view, workers, killed, runtime, reference: None, notes: Vec::new(), books: None, picture }
    }

    /// Adds the run on one worker alone.
    pub fn compare(&mut self, view: JobView, same_bytes: bool) {
        self.reference = Some(Reference { view, same_bytes });
    }

    /// Adds a sentence about the money.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds who had what before and after.
    pub fn books(&mut self, books: String) {
        self.books = Some(books);
    }

    /// Refuses to call the demo a success if what it shows is not true.
    pub fn check(&self) -> Result<()> {
        if self.reference.as_ref().is_some_and(|reference| !reference.same_bytes) {
            bail!("the picture of one worker alone differs from the picture of all");
        }
        Ok(())
    }

    /// The text.
    pub fn render(&self) -> String {
        let sections = [
            ("Who did what", self.tallies()),
            ("What was retried, and why", self.retries()),
            ("How long it took", self.times()),
            ("What it cost, and who earned it", self.money()),
            ("The money on the chain, before and after, in GLN", self.books.clone().unwrap_or_default()),
            ("The picture", self.picture.display().to_string()),
        ];
        let text = sections.map(|(title, body)| {
            let body: Vec<String> = body.lines().map(|line| format!("  {line}")).collect();
            format!("{}\n{}", style(title).bold(), body.join("\n"))
        });
        format!("\n{}", text.join("\n\n"))
    }

    fn tallies(&self) -> String {
        let mut table = Table::new([
            ("WORKER", Left),
            ("TILES", Right),
            ("DEVICE TIME", Right),
            ("EARNED", Right),
            ("DEVICE", Left),
            ("", Left),
        ]);
        for worker in &self.workers {
            let tally = self.tally(worker);
            let killed = self.killed.as_ref() == Some(&worker.offer.name);
            table.row([
                worker.offer.name.clone(),
                words::grouped(tally.map_or(0, |tally| tally.done)),
                words::span(Micros(tally.map_or(0, |tally| tally.ran_micros)).millis()),
                words::money(tally.map_or(Amount::ZERO, |tally| tally.earned)),
                device_for(worker, self.runtime).map(|(name, _)| name.to_owned()).unwrap_or_default(),
                if killed { "killed half-way".to_owned() } else { String::new() },
            ]);
        }
        table.render()
    }

    fn tally(&self, worker: &WorkerView) -> Option<&TallyView> {
        self.view.workers.iter().find(|tally| tally.worker == worker.id)
    }

    fn retries(&self) -> String {
        match (&self.killed, self.view.failures.is_empty()) {
            (_, false) => failures(&self.view),
            (Some(killed), true) => format!("nothing: {killed} held no task when it was killed"),
            (None, true) => "nothing: the picture was done before a worker could be killed half-way".to_owned(),
        }
    }

    fn times(&self) -> String {
        let took = took(&self.view);
        let all = format!("{} workers{}", self.workers.len(), if self.killed.is_some() { ", one killed" } else { "" });
        let Some(reference) = &self.reference else { return format!("{all}: {}", words::span(took)) };
        let alone = self::took(&reference.view);
        let mut table = Table::new([("", Left), ("TIME", Right), ("", Left)]);
        table.row([all, words::span(took), String::new()]);
        let ratio = alone.0 as f64 / took.0.max(1) as f64;
        table.row(["1 worker alone".to_owned(), words::span(alone), format!("{ratio:.1} times as long")]);
        let equal = if reference.same_bytes { "equal, byte for byte" } else { "DIFFERENT" };
        let mut text = format!("{}\nBoth pictures are {equal}.", table.render());
        if let Some(cores) = self.shared_cores() {
            text += &format!("\nThe workers share {cores} processor cores, so at most {cores} times was possible.");
        }
        text
    }

    /// How many cores the workers share, if they compute on the processor and are more than its cores.
    fn shared_cores(&self) -> Option<usize> {
        let on_processor = self.workers.iter().all(|worker| {
            let kinds = worker
                .offer
                .devices
                .iter()
                .filter(|device| device.runtimes.iter().any(|offer| offer.runtime == self.runtime));
            kinds.into_iter().all(|device| matches!(device.kind, DeviceKind::Cpu | DeviceKind::Software))
        });
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (on_processor && cores < self.workers.len()).then_some(cores)
    }

    fn money(&self) -> String {
        let spent = self.view.summary.spent;
        let earned = self.view.workers.iter().try_fold(Amount::ZERO, |sum, tally| sum.checked_add(tally.earned));
        let earned = earned.unwrap_or(Amount::ZERO);
        let platform = spent.checked_sub(earned).unwrap_or(Amount::ZERO);
        let percent = |part: Amount| format!("{:.1} %", part.0 as f64 * 100.0 / spent.0.max(1) as f64);
        let mut table = Table::new([("", Left), ("AMOUNT", Right), ("SHARE", Right)]);
        table.row(["paid by the requester".to_owned(), words::money(spent), percent(spent)]);
        table.row(["earned by the workers".to_owned(), words::money(earned), percent(earned)]);
        table.row(["earned by the platform".to_owned(), words::money(platform), percent(platform)]);
        let cap = self.view.summary.price_max;
        let mut text = table.render();
        if let Some(back) = cap.checked_sub(spent) {
            text += &format!("\n{} of the {} reserved went back.", words::money(back), words::money(cap));
        }
        for note in &self.notes {
            text += &format!("\n{note}");
        }
        text
    }
}

fn took(view: &JobView) -> Millis {
    view.summary.ended_at.unwrap_or(view.summary.submitted_at).since(view.summary.submitted_at)
}

/// The fastest device of a worker with this runtime: its name and offer.
pub fn device_for(worker: &WorkerView, runtime: Runtime) -> Option<(&str, &RuntimeOffer)> {
    let offers = worker.offer.devices.iter().flat_map(|device| {
        device.runtimes.iter().filter(|offer| offer.runtime == runtime).map(|offer| (device.name.as_str(), offer))
    });
    offers.max_by_key(|(_, offer)| offer.score)
}
