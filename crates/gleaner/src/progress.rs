//! Live progress on stderr: a bar for the job and a line for each worker; plain lines where there is no terminal.
use std::collections::BTreeMap;
use std::time::Duration;

use gleaner_wire::WorkerId;
use gleaner_wire::api::{JobView, TallyView};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::say;
use crate::words;

/// The most workers that get a line of their own.
const LINES_MAX: usize = 12;
const TICK: Duration = Duration::from_millis(120);
const WORKER_BAR_CHARS: u64 = 24;

/// The progress of one job.
pub struct Progress {
    lines: MultiProgress,
    bar: ProgressBar,
    workers: BTreeMap<WorkerId, ProgressBar>,
    tenths_said: u64,
}

impl Progress {
    /// A bar for a job of so many tasks.
    pub fn new(title: &str, tasks: u64) -> Self {
        let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let bar = lines.add(ProgressBar::new(tasks));
        let template = "{prefix:.bold} {bar:32.green/dim} {human_pos}/{human_len} {elapsed:.dim} {msg}";
        let style = ProgressStyle::with_template(template).expect("a valid template");
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_prefix(words::plain(title));
        bar.enable_steady_tick(TICK);
        Self { lines, bar, workers: BTreeMap::new(), tenths_said: 0 }
    }

    /// Shows where the job stands.
    pub fn show(&mut self, view: &JobView) {
        let summary = &view.summary;
        let mut words = vec![format!("{} running", summary.running)];
        if summary.known > 0 {
            words.push(format!("{} known before", words::grouped(summary.known)));
        }
        if summary.retried > 0 {
            words.push(format!("{} retried", words::grouped(summary.retried)));
        }
        words.push(words::money(summary.spent));
        let message = words.join(" · ");
        self.bar.set_position(summary.done);
        self.bar.set_message(message.clone());
        for tally in &view.workers {
            self.show_worker(tally, summary.tasks);
        }
        let tenths = summary.done * 10 / summary.tasks.max(1);
        if self.lines.is_hidden() && tenths > self.tenths_said {
            self.tenths_said = tenths;
            say(format!("{:>4} % of {} · {message}", tenths * 10, words::count(summary.tasks, "task")));
        }
    }

    fn show_worker(&mut self, tally: &TallyView, tasks: u64) {
        if !self.workers.contains_key(&tally.worker) {
            if self.workers.len() >= LINES_MAX {
                return;
            }
            let line = self.lines.add(ProgressBar::no_length());
            line.set_style(ProgressStyle::with_template("  {prefix:<14} {msg}").expect("a valid template"));
            line.set_prefix(words::plain(&tally.name));
            self.workers.insert(tally.worker, line);
        }
        let filled = (tally.done * WORKER_BAR_CHARS).div_ceil(tasks.max(1)).min(WORKER_BAR_CHARS);
        let bar = "▪".repeat(usize::try_from(filled).expect("at most 24"));
        let failed = if tally.failed > 0 { format!("  {} failed or lost", tally.failed) } else { String::new() };
        if let Some(line) = self.workers.get(&tally.worker) {
            line.set_message(format!("{:>5} done  {bar}{failed}", words::grouped(tally.done)));
        }
    }

    /// Says a line above the bars.
    pub fn say(&self, line: &str) {
        if self.lines.is_hidden() {
            say(line);
        } else {
            // The bars are for people only: what cannot be drawn is not missed.
            let _undrawn = self.lines.println(line);
        }
    }

    /// Takes the bars away, so that a summary can follow.
    pub fn clear(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        self.workers.values().for_each(ProgressBar::finish_and_clear);
        let _undrawn = self.lines.clear();
    }
}

/// A line that moves while something of unknown length goes on.
pub fn spinner(message: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.set_style(ProgressStyle::with_template("{spinner:.green} {msg}").expect("a valid template"));
    spinner.set_message(message.to_owned());
    spinner.enable_steady_tick(TICK);
    spinner
}
