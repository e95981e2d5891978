//! The options of a hub about the platform's own workers, and how many of them it wants.
use std::process::ExitCode;

use anyhow::Result;
use gleaner_client::Client;
use gleaner_core::Terms;
use gleaner_hub::ManagedConfig;
use gleaner_wire::prices::DemandView;
use gleaner_wire::{Millis, WorkerKey};

use crate::output::{data, json, say};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// Options of `gleaner hub` about managed workers.
#[derive(clap::Args)]
pub struct Args {
    /// Workers that the platform owns, by their keys (`gleaner worker key`)
    #[arg(long = "managed", value_name = "KEY,...", value_delimiter = ',')]
    keys: Vec<WorkerKey>,
    /// How long tasks wait for the community before managed workers take them
    #[arg(long = "managed-wait", value_name = "TIME", default_value = "60s", value_parser = Millis::parse_span)]
    wait: Millis,
    /// How long managed workers must have been more than enough before fewer are wanted
    #[arg(long = "managed-idle", value_name = "TIME", default_value = "5m", value_parser = Millis::parse_span)]
    idle: Millis,
    /// The most managed workers that are wanted, of all classes together
    #[arg(long = "managed-max", value_name = "N", default_value_t = 0)]
    max: u32,
    /// Command to run, with what is wanted as JSON on its stdin, when other numbers of managed workers are wanted
    #[arg(long, value_name = "COMMAND", requires = "max")]
    demand_hook: Option<String>,
}

impl Args {
    /// What the hub is told.
    pub fn config(&self) -> ManagedConfig {
        let terms = Terms { wait_ms: self.wait, idle_ms: self.idle, workers_max: self.max };
        ManagedConfig { keys: self.keys.clone(), terms, hook: self.demand_hook.clone() }
    }
}

/// Shows what a hub wants.
pub async fn show(client: &Client, as_json: bool) -> Result<ExitCode> {
    let demand = client.demand().await?;
    if as_json {
        json(&demand)?;
    } else if demand.classes.is_empty() {
        let most = words::grouped(demand.workers_max.into());
        say(format!("no managed worker is wanted or here; at most {most} may be (--managed-max)"));
    } else {
        data(&render(&demand))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn render(demand: &DemandView) -> String {
    let columns = [("CLASS", Left), ("WANTED", Right), ("ONLINE", Right), ("BUSY", Right), ("TASKS TOO LATE", Right)];
    let mut table = Table::new(columns);
    for class in &demand.classes {
        table.row([
            class.class.to_string(),
            words::grouped(class.wanted.into()),
            words::grouped(class.online.into()),
            words::grouped(class.busy.into()),
            words::grouped(class.waiting),
        ]);
    }
    table.render()
}
