//! The kernel process: `gleaner wgsl-child`. Drivers run here, so that one that hangs or crashes takes only this
//! process with it. It reads frames from standard input, answers on standard output, and ends where input ends.
use std::io::{self, BufReader, BufWriter, Write};
use std::process::ExitCode;

use gleaner_wire::Cause;

use super::device::Device;
use super::message::{Answer, Ask, read_frame, write_frame};
use super::{adapter, test};
use crate::failure::Failure;

/// The entry of the hidden subcommand: serves the worker that started this process, then ends.
pub fn wgsl_child() -> ExitCode {
    die_with_parent();
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::debug!(%error, "the kernel process ends");
            ExitCode::FAILURE
        }
    }
}

/// A worker that is killed cannot tell its kernel processes to end, so the system does. Elsewhere the end of the
/// input does it, once the running kernel lets it.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)) {
        tracing::debug!(%error, "this process may outlive its worker");
    }
}

fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut from = BufReader::new(io::stdin().lock());
    let mut to = BufWriter::new(io::stdout().lock());
    let mut device = None;
    while let Some(ask) = read_frame::<Ask>(&mut from)? {
        let (answer, output) = runtime.block_on(answer(ask, &mut device));
        write_frame(&mut to, &answer)?;
        to.write_all(&output)?;
        to.flush()?;
    }
    Ok(())
}

async fn answer(ask: Ask, device: &mut Option<Device>) -> (Answer, Vec<u8>) {
    let done = match (ask, device) {
        (Ask::List, _) => {
            let listed = adapter::list(&adapter::instance()).await;
            Ok((Answer::Adapters(listed.into_iter().map(|(described, _)| described).collect()), Vec::new()))
        }
        (Ask::Open(wanted), device) => open(&wanted).await.map(|opened| {
            *device = Some(opened);
            (Answer::Opened, Vec::new())
        }),
        (Ask::Test, Some(device)) => test::test(device)
            .await
            .map(|tested| (Answer::Tested { score: tested.score, loops_max: tested.loops_max }, Vec::new())),
        (Ask::Run(dispatch), Some(device)) => device
            .run(&dispatch)
            .await
            .map(|ran| (Answer::Done { ran: ran.time, output_bytes: ran.output.len() as u64 }, ran.output)),
        (Ask::Test | Ask::Run(_), None) => Err(Failure::new(Cause::DeviceFault, "no device is open")),
    };
    done.unwrap_or_else(|Failure { cause, detail }| {
        let usable = matches!(cause, Cause::BadInput | Cause::OutOfMemory);
        (Answer::Failed { cause, detail, usable }, Vec::new())
    })
}

async fn open(wanted: &super::message::Adapter) -> Result<Device, Failure> {
    let listed = adapter::list(&adapter::instance()).await;
    let found = listed.iter().find(|(described, _)| described == wanted);
    let (_, adapter) = found.ok_or_else(|| Failure::new(Cause::DeviceFault, "the adapter is gone"))?;
    Device::open(adapter).await
}
