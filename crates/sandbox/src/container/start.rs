//! Starts the container of a job and sees it to its end.

use super::cage::{ContainerCage, FirstProcess};
use super::description::describe;
use super::images::Image;
use super::leftovers::remove;
use super::{ANSWER_TIME_MAX, Engine};
use crate::cgroup::{Group, Observed};
use crate::disk::Disk;
use crate::ending::Exit;
use crate::lines::{self, Sink, Splitter, Stream};
use crate::supervise::{Watched, supervise};
use crate::{Device, DeviceNames, Error, Identity, Job, Lines, Running};
use bollard::Docker;
use bollard::container::{AttachContainerResults, LogOutput};
use bollard::query_parameters::{
    AttachContainerOptions, CreateContainerOptions, InspectContainerOptions, StartContainerOptions,
    WaitContainerOptions,
};
use futures_util::StreamExt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long the last lines may take to arrive after the end of a container.
const LAST_LINES_TIME_MAX: Duration = Duration::from_secs(5);
/// Longer than any job: the supervisor keeps the time, not the connection.
const WAIT_TIME_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl Engine {
    /// Starts a job in a container of the image. It has to be called within a tokio runtime.
    ///
    /// # Errors
    /// If the job asks for what it cannot have, or the engine refuses to make or start the container.
    pub async fn start(&self, job: Job, image: &Image) -> Result<(Running, Lines), Error> {
        job.check()?;
        if self.device_names() != DeviceNames::Taken
            && job.devices.iter().any(|device| matches!(device, Device::Cdi(_)))
        {
            return Err(Error::Refused(format!("{} takes no names of devices through its socket", self.character)));
        }
        self.watchdog.lock().unwrap_or_else(PoisonError::into_inner).ensure(&self.config, &self.run)?;
        job.folder.prepare(Identity::for_programs(self.config.unprivileged))?;
        let disk = Disk::new(&job.folder, &job.limits)?;
        let group = self.group(&job)?;
        let (config, parent) = ((&*self.config, &*self.run), group.as_ref().map(Group::path));
        let body = describe(&job, image, config, &self.character, &self.seccomp, parent)?;
        // Of this run alone: an engine may still be clearing away what an earlier one left under the same attempt.
        let name = format!("gleaner-{}-{}-{}", self.config.worker, self.run, job.attempt);
        let options = CreateContainerOptions { name: Some(name), ..CreateContainerOptions::default() };
        let made = self.docker.create_container(Some(options), body).await;
        let id = made.map_err(|error| Error::engine("making a container", error))?.id;
        match self.launch(&id, &job, group, disk).await {
            Ok(started) => {
                self.ledger.lock().await.touch(&image.id);
                Ok(started)
            }
            Err(error) => {
                remove(&self.docker, &id).await;
                Err(error)
            }
        }
    }

    /// Our own group around the container, where the engine makes its groups below ours. It stays when the engine has
    /// removed the container's, and knows then whether memory ran out.
    fn group(&self, job: &Job) -> Result<Option<Group>, Error> {
        if self.character.plain_groups && !self.character.rootless {
            self.groups.create(&job.attempt, &job.limits)
        } else {
            Ok(None)
        }
    }

    async fn launch(&self, id: &str, job: &Job, group: Option<Group>, disk: Disk) -> Result<(Running, Lines), Error> {
        let attached = attach(&self.docker, id).await?;
        let noted = self.running.note(id);
        let started = self.docker.start_container(id, None::<StartContainerOptions>).await;
        started.map_err(|error| Error::engine("starting a container", error))?;
        let (sink, lines) = lines::channel();
        let pump = tokio::spawn(pump(attached, sink));
        let first = first_process(&self.docker, id).await;
        let (exit_sender, exit) = oneshot::channel();
        let (docker, waited) = (self.docker.clone(), id.to_owned());
        let (engine_counts, restart) = (group.is_none(), self.restart());
        tokio::spawn(async move {
            let exit = wait(&docker, &waited, engine_counts, restart).await;
            let _ = timeout(LAST_LINES_TIME_MAX, pump).await;
            remove(&docker, &waited).await;
            drop(noted);
            let _ = exit_sender.send(exit);
        });
        let (running, orders, ending) = Running::new();
        let process = first.as_ref().map(|first| first.number);
        let cage = Arc::new(ContainerCage { docker: self.docker.clone(), id: id.to_owned(), first });
        let observed = process.filter(|_| group.is_none()).and_then(|process| Observed::of(process, id));
        let watched = Watched { cage, group, observed, disk, limits: job.limits, measure_memory: false };
        tokio::spawn(async move { ending.send(supervise(watched, orders, exit).await) });
        Ok((running, lines))
    }
}

async fn attach(docker: &Docker, id: &str) -> Result<AttachContainerResults, Error> {
    let options =
        AttachContainerOptions { stream: true, stdout: true, stderr: true, ..AttachContainerOptions::default() };
    docker.attach_container(id, Some(options)).await.map_err(|error| Error::engine("listening to a container", error))
}

async fn pump(mut attached: AttachContainerResults, sink: Sink) {
    let mut out = Splitter::new(Stream::Out, sink.clone());
    let mut err = Splitter::new(Stream::Err, sink);
    while let Some(Ok(output)) = attached.output.next().await {
        match output {
            LogOutput::StdOut { message } | LogOutput::Console { message } => out.take(&message),
            LogOutput::StdErr { message } => err.take(&message),
            LogOutput::StdIn { .. } => {}
        }
    }
    out.finish();
    err.finish();
}

/// The first process, if what this machine calls by that number really is the container's.
async fn first_process(docker: &Docker, id: &str) -> Option<FirstProcess> {
    let state = docker.inspect_container(id, None::<InspectContainerOptions>).await.ok()?.state?;
    FirstProcess::of(state.pid?, id)
}

/// Waits for the end of a container. `engine_counts` says that nobody but the engine can tell whether memory ran out, and
/// `restart` how the engine is restarted.
async fn wait(docker: &Docker, id: &str, engine_counts: bool, restart: String) -> Exit {
    let patient = docker.clone().with_timeout(WAIT_TIME_MAX);
    let options = WaitContainerOptions { condition: "not-running".into() };
    let answer = patient.wait_container(id, Some(options)).next().await;
    let code = match answer {
        Some(Ok(response)) => Some(response.status_code),
        Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => Some(code),
        Some(Err(_)) | None => None,
    };
    let looked = timeout(ANSWER_TIME_MAX, docker.inspect_container(id, None::<InspectContainerOptions>)).await;
    let state = looked.ok().and_then(Result::ok).and_then(|container| container.state).unwrap_or_default();
    if engine_counts && state.oom_killed == Some(true) {
        return Exit::OutOfMemory;
    }
    match code.or_else(|| state.exit_code.filter(|_| state.running == Some(false))) {
        Some(code) => Exit::Code(i32::try_from(code).unwrap_or(-1)),
        None => Exit::Fault { what: "the container engine lost the container".into(), remedy: restart },
    }
}
