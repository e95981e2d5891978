//! A job in one line: an image, a command, and values to try, without a job file.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_client::Draft;
use gleaner_wire::job_file::{Budget, ContainerFile, InputFile, JobFile, NeedsFile, Prefer, Source, TaskFile};
use gleaner_wire::market::Market;
use gleaner_wire::{Amount, ByteSize, Runtime};

use crate::failure::Advice;

/// What `gleaner run --image` takes.
#[derive(clap::Args)]
pub struct Args {
    /// Run a command in this image instead of a job file: a name in a registry, or a folder or archive in OCI layout
    #[arg(long, value_name = "IMAGE", conflicts_with = "file", requires = "command")]
    pub image: Option<String>,
    /// Try each of these values for {NAME} in the command; several are combined
    #[arg(long, value_name = "NAME=A,B,…", requires = "image", value_parser = pair)]
    sweep: Vec<(String, String)>,
    /// Give the command a file or folder as /in/NAME
    #[arg(long = "in", value_name = "[NAME=]PATH", requires = "image", value_parser = named_path)]
    inputs: Vec<(String, PathBuf)>,
    /// Set a variable for the command
    #[arg(long, value_name = "NAME=VALUE", requires = "image", value_parser = pair)]
    env: Vec<(String, String)>,
    /// How many GPUs the command uses
    #[arg(long, value_name = "N", requires = "image")]
    gpus: Option<u16>,
    /// The memory that it may use, such as 4GiB
    #[arg(long, value_name = "SIZE", requires = "image")]
    memory: Option<ByteSize>,
    /// How long each run of it may take, such as 2h
    #[arg(long, value_name = "TIME", requires = "image")]
    time: Option<String>,
    /// The most it may cost in all, such as "2 GLN"
    #[arg(long, value_name = "AMOUNT", requires = "image")]
    price: Option<Amount>,
    /// Let it reach the network, on machines whose owner allows that
    #[arg(long, requires = "image")]
    network: bool,
    /// The command, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if name.is_empty() { Err("the name is missing".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}

fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    if let Some((name, path)) = text.split_once('=') {
        return Ok((name.to_owned(), path.into()));
    }
    let path = PathBuf::from(text);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("write NAME=PATH")?;
    Ok((name.to_owned(), path.clone()))
}

impl Args {
    /// The job that it stands for.
    pub async fn draft(&self, image: &str) -> Result<Draft> {
        let here = std::env::current_dir().context("this folder cannot be found")?;
        let (program, image) = if Path::new(image).exists() {
            (Some(Source::Path(image.to_owned())), None)
        } else {
            (None, Some(exact(image).await?))
        };
        let inputs = self.inputs.iter().map(|(name, path)| input(name, path)).collect::<Result<_>>()?;
        let values = |text: &String| text.split(',').map(str::to_owned).collect();
        let task = TaskFile {
            name: "run".to_owned(),
            runtime: Runtime::Container,
            program,
            each: None,
            tiles: None,
            sweep: self.sweep.iter().map(|(name, text)| (name.clone(), values(text))).collect(),
            inputs,
            needs: NeedsFile { memory: self.memory, ..NeedsFile::default() },
            time_max: self.time.clone(),
            output_max: None,
            // A program that draws chance or reads the clock gives another result each time.
            memo: false,
            args: Vec::new(),
            kernel: Default::default(),
            container: ContainerFile {
                image,
                command: self.command.clone(),
                env: self.env.iter().cloned().collect::<BTreeMap<_, _>>(),
                gpus: self.gpus,
                network: self.network,
                checkpoint: None,
            },
            blender: Default::default(),
            check: None,
        };
        let budget = Budget { price_max: self.price, time_max: None };
        let name = self.command.first().map_or("run", |first| first.rsplit('/').next().unwrap_or("run")).to_owned();
        let (prefer, market) = (Prefer::default(), Market::default());
        let job = JobFile { name, prefer, budget, market, needs: NeedsFile::default(), tasks: vec![task] };
        Ok(Draft::made(job, &here)?)
    }
}

async fn exact(image: &str) -> Result<String> {
    gleaner_client::registry::resolve(image).await.map_err(|error| {
        let help = "check the name and the network, or name a folder or archive in OCI layout (`podman save --format oci-archive`)";
        Advice::new(words(&error), help).into()
    })
}

fn words(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

fn input(name: &str, path: &Path) -> Result<InputFile> {
    let text = path.to_str().with_context(|| format!("the path {} is not UTF-8", path.display()))?.to_owned();
    let source = Some(Source::Path(text));
    let (file, folder) = if path.is_dir() { (None, source) } else { (source, None) };
    Ok(InputFile { name: name.to_owned(), file, folder, dataset: None, from: None, same_index: false, per: None })
}
