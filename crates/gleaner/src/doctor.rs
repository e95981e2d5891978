//! `gleaner doctor`: what this machine can share, what is missing, and the command that fixes it.
use std::process::ExitCode;

use anyhow::{Context, Result};
use console::style;
use gleaner_client::HubAddress;
use gleaner_wire::Runtime;
use gleaner_worker::{Finding, State};
use serde_json::json;

use crate::output::{self, data};
use crate::progress::spinner;
use crate::settings::Settings;
use crate::{hub, share, words};

/// Options of `gleaner doctor`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    share: share::Args,
}

/// Looks at the machine; exit 1 if nothing at all can be shared.
pub async fn perform(settings: &Settings, args: &Args) -> Result<ExitCode> {
    let hub = match (&settings.hub, settings.hub_address()) {
        (None, Err(_)) => HubAddress::parse(&format!("http://{}", hub::LISTEN), None)?,
        (_, address) => address?,
    };
    let config = args.share.config(settings, hub)?;
    let spinner = spinner("testing the devices");
    let runtime = tokio::runtime::Handle::current();
    let findings = tokio::task::spawn_blocking(move || gleaner_worker::doctor(&config, &runtime)).await;
    spinner.finish_and_clear();
    let findings = findings.context("the tests broke")?;
    if args.json {
        output::json(&findings.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        findings.iter().try_for_each(|finding| data(&render(finding)))?;
    }
    Ok(if findings.iter().any(is_shareable) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the finding is a device that passed its test: the processor, or a runtime on a card. All others are about what
/// surrounds devices.
fn is_shareable(finding: &Finding) -> bool {
    let named = |runtime: &Runtime| finding.capability.starts_with(&runtime.to_string());
    let on_card = finding.capability.contains(" on ") && Runtime::ALL.iter().any(named);
    finding.is_good() && (on_card || named(&Runtime::Wasm))
}

fn as_json(finding: &Finding) -> serde_json::Value {
    match &finding.state {
        State::Works { detail } => json!({ "capability": finding.capability, "works": true, "detail": detail }),
        State::Missing { why, fix } => {
            json!({ "capability": finding.capability, "works": false, "why": why, "fix": fix })
        }
    }
}

/// A finding in a line, with the command that would fix it in another.
pub fn render(finding: &Finding) -> String {
    let capability = words::plain(&finding.capability);
    match &finding.state {
        State::Works { detail } => {
            format!("{} {capability}: {}", style("works  ").green(), words::plain(detail))
        }
        State::Missing { why, fix } => {
            let (why, fix) = (words::plain(why), words::plain(fix));
            format!("{} {capability}: {why}\n        {} {fix}", style("missing").yellow(), style("fix:").cyan())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_can_be_shared() {
        for (capability, expected) in [
            ("wasm", true),
            ("wgsl on NVIDIA A100", true),
            ("container, blender on NVIDIA A100", true),
            ("container", false),
            ("blender", false),
            ("gpu NVIDIA A100", false),
            ("hub", false),
        ] {
            assert_eq!(is_shareable(&Finding::works(capability, "")), expected, "{capability}");
            assert!(!is_shareable(&Finding::missing(capability, "", "")));
        }
    }
}
