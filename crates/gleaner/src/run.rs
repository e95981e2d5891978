//! `gleaner run`: submits a job, watches it and fetches its results.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::data::Attendant;
use gleaner_client::{Client, Draft, Fetched, Way};
use gleaner_requester::settle;
use gleaner_wire::api::{JobState, JobView, Submitted};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{JobId, WorkerKey};
use tokio::time::Instant;

use crate::failure::Advice;
use crate::interrupt::Interrupt;
use crate::output::{data, json, say};
use crate::progress::{Progress, spinner};
use crate::settings::Settings;
use crate::standstill::Standstill;
use crate::watch::Watch;
use crate::{image, job, order, quote, words};

/// Options of `gleaner run`.
#[derive(clap::Args)]
pub struct Args {
    /// The job file
    #[arg(value_name = "JOB.toml", required_unless_present = "image")]
    file: Option<PathBuf>,
    #[command(flatten)]
    image: image::Args,
    /// Folder for the results [default: the job's name and number]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Order by a binding quote: nothing beyond its price is charged
    #[arg(long, value_name = "cheap|balanced|fast", value_parser = parse_prefer)]
    quote: Option<Prefer>,
    /// Submit only: print the job's number and leave
    #[arg(long, conflicts_with = "out")]
    detach: bool,
    /// Let workers fetch large inputs from this machine: the hub gets only lists of them, and you stay until the job ends
    #[arg(long, conflicts_with = "detach")]
    direct: bool,
    /// Print the ended job as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The job, out of its file or the command line.
    async fn draft(&self) -> Result<Draft> {
        match (&self.file, &self.image.image) {
            (Some(file), _) => Ok(Draft::read(file)?),
            (None, Some(image)) => self.image.draft(image).await,
            (None, None) => {
                Err(Advice::new("there is nothing to run", "name a job file, or --image and a command").into())
            }
        }
    }
}

/// Runs the job to its end.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let mut draft = args.draft().await?;
    let client = settings.client().await?;
    if let Some(prefer) = args.quote {
        quote::take(&client, &mut draft, prefer).await?;
    }
    let purse = order::purse(settings, &client).await?;
    let way = if args.direct { Way::Direct } else { Way::Hub };
    let (submitted, attendant) = order::submit(&client, purse.as_ref(), &draft, way).await?;
    announce(&draft, &submitted);
    if args.detach {
        leave_keys(&client, &attendant).await?;
        if args.json {
            json(&submitted)?
        } else {
            data(&submitted.job.to_string())?
        }
        return Ok(ExitCode::SUCCESS);
    }
    let attending = attendant.start();
    let view = follow(&client, &submitted, &draft.file.name).await?;
    drop(attending);
    let out = args.out.clone().unwrap_or_else(|| default_folder(&draft.file.name, &submitted));
    let fetched = fetch(&client, &view, &out).await?;
    say(job::show::summary(&view).trim_end());
    let settled = match (&purse, &view.summary.state) {
        (None, _) => None,
        // An order that could not be locked has nothing to settle; why is said above.
        (Some(_), JobState::Failed { .. }) => order::settle_late(settings, &client, submitted.job).await?,
        (Some(purse), _) => Some(settle(&client, purse, submitted.job).await?),
    };
    settled.iter().for_each(|settled| say(order::told(settled)));
    if args.json {
        json(&view)?;
    }
    finish(&view, &fetched, &out, args.json)
}

/// Nobody will be here to be asked, so the keys are wrapped for all workers that are there now; the hub hands them to
/// those that get a task.
async fn leave_keys(client: &Client, attendant: &Attendant) -> Result<()> {
    let workers: Vec<WorkerKey> = client.workers().await?.iter().map(|worker| worker.key).collect();
    attendant.leave_for(&workers).await?;
    if workers.is_empty() {
        say("no worker is connected yet: the job waits for its keys until `gleaner job attend` gives them");
    }
    Ok(())
}

fn announce(draft: &Draft, submitted: &Submitted) {
    let (job, tasks) = (submitted.job, words::count(submitted.tasks, "task"));
    let name = words::plain(&draft.file.name);
    say(format!("job {job} · {name} · {tasks} · at most {}, reserved now", words::money(submitted.reserved)));
}

async fn follow(client: &Client, submitted: &Submitted, name: &str) -> Result<JobView> {
    let mut interrupt = Interrupt::listen()?;
    let mut progress = Progress::new(name, submitted.tasks);
    let watched = tokio::select! {
        view = watch(client, submitted.job, &mut progress) => Some(view),
        () = interrupt.came() => None,
    };
    progress.clear();
    let job = submitted.job;
    watched.unwrap_or_else(|| {
        let help = format!("`gleaner job attend {job}` gives workers its keys, `gleaner job fetch {job}` fetches its results later, `gleaner job cancel {job}` stops it");
        Err(Advice::new(format!("stopped watching; job {job} goes on without you"), help).into())
    })
}

/// Shows the job's progress until it ends, and why it stands still if it does.
async fn watch(client: &Client, job: JobId, progress: &mut Progress) -> Result<JobView> {
    let mut watch = Watch::new(client, job);
    let mut standstill = Standstill::default();
    loop {
        let view = watch.next().await?;
        progress.show(&view);
        if view.summary.state.has_ended() {
            return Ok(view);
        }
        if standstill.lasts(view.summary.running, Instant::now())
            && let Some(lines) = standstill.news(&client.explain(job).await?)
        {
            lines.iter().for_each(|line| progress.say(line));
        }
    }
}

/// Fetches what the job delivered, and shows how far it is.
pub async fn fetch(client: &Client, view: &JobView, out: &Path) -> Result<Fetched> {
    let spinner = spinner("fetching");
    let total = view.summary.done;
    let fetched = client.fetch(view.summary.id, out, |so_far| {
        spinner.set_message(format!("fetching {} ({} of {total} tasks)", words::bytes(so_far.bytes), so_far.files));
    });
    let fetched = fetched.await;
    spinner.finish_and_clear();
    Ok(fetched?)
}

fn finish(view: &JobView, fetched: &Fetched, out: &Path, quiet: bool) -> Result<ExitCode> {
    if !quiet && fetched.files > 0 {
        say(format!("{} ({}) in {}", words::count(fetched.files, "file"), words::bytes(fetched.bytes), out.display()));
        let pictures = fetched.pictures.iter().map(PathBuf::as_path);
        for path in pictures.chain(fetched.pictures.is_empty().then_some(out)) {
            data(&path.display().to_string())?;
        }
    }
    match &view.summary.state {
        JobState::Done => Ok(ExitCode::SUCCESS),
        JobState::Ordered | JobState::Running | JobState::Cancelled | JobState::Failed { .. } => Ok(ExitCode::FAILURE),
    }
}

fn default_folder(name: &str, submitted: &Submitted) -> PathBuf {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    PathBuf::from(format!("{}-{}", name.chars().map(safe).take(60).collect::<String>(), submitted.job))
}

fn parse_prefer(text: &str) -> Result<Prefer, String> {
    let all = [Prefer::Cheap, Prefer::Balanced, Prefer::Fast];
    let found = all.into_iter().find(|prefer| quote::prefer(*prefer) == text);
    found.ok_or_else(|| "a quote is cheap, balanced or fast".to_owned())
}
