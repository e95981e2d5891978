//! Invoices: what each job cost, and where on the chain anybody can look that up.
use chrono::{DateTime, SecondsFormat};
use gleaner_wire::{Amount, Asker, JobId};
use serde::{Deserialize, Serialize};

use crate::books::{Job, Stage};
use crate::results::no_job;
use crate::{Desk, Error};

/// Invoices that are read from the books together.
const TOGETHER: u32 = 500;

/// What a job cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Invoice {
    /// The job.
    pub job: JobId,
    /// What it is called.
    pub name: String,
    /// What was chosen to matter more.
    pub choice: Option<String>,
    /// The template that it was made of.
    pub template: Option<String>,
    /// When it was submitted, in milliseconds since 1970.
    pub submitted_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// `running`, `done`, `cancelled`, `failed` or `lost`.
    pub state: String,
    /// What it might have cost at most.
    pub cap: Amount,
    /// What was paid, the platform's share included; none while that is not final.
    pub paid: Option<Amount>,
    /// The platform's share of it.
    pub fee: Option<Amount>,
    /// What came back, the bond included.
    pub refunded: Option<Amount>,
    /// The order on the chain.
    pub order: Option<String>,
    /// The transaction that settled it.
    pub transaction: Option<String>,
    /// When the desk saw it settled.
    pub settled_at: Option<u64>,
    /// What its owner should know, such as why a settlement was not approved.
    pub note: Option<String>,
}

impl From<Job> for Invoice {
    fn from(job: Job) -> Self {
        let running = match job.stage {
            Stage::Running => Some("running".to_owned()),
            Stage::Ended | Stage::Closed => None,
        };
        Self {
            job: job.job,
            name: job.name,
            choice: job.prefer,
            template: job.template,
            submitted_at: job.submitted_ms,
            ended_at: job.ended_ms,
            state: running.or(job.outcome).unwrap_or_else(|| "done".to_owned()),
            cap: job.cap,
            paid: job.paid,
            fee: job.fee,
            refunded: job.refunded,
            order: job.order,
            transaction: job.transaction,
            settled_at: job.settled_ms,
            note: job.note,
        }
    }
}

impl Desk {
    /// The invoices of an account that came before a job, newest first.
    pub async fn invoices(&self, asker: &Asker, before: Option<u64>, limit: u32) -> Result<Vec<Invoice>, Error> {
        let jobs = self.inner.books.jobs_of(&asker.account, before, limit).await?;
        Ok(jobs.into_iter().map(Invoice::from).collect())
    }

    /// The invoice of one job.
    pub async fn invoice(&self, asker: &Asker, job: JobId) -> Result<Invoice, Error> {
        let found = self.inner.books.job_of(&asker.account, job).await?;
        found.map(Invoice::from).ok_or_else(|| no_job(job))
    }

    /// All invoices of an account as CSV, newest first.
    pub async fn invoices_csv(&self, asker: &Asker) -> Result<String, Error> {
        let mut csv = row(&HEAD.map(str::to_owned));
        let mut before = None;
        loop {
            let some = self.invoices(asker, before, TOGETHER).await?;
            let Some(last) = some.last() else { return Ok(csv) };
            before = Some(last.job.0);
            some.iter().for_each(|invoice| csv += &row(&cells(invoice)));
        }
    }
}

const HEAD: [&str; 13] = [
    "job",
    "name",
    "submitted",
    "ended",
    "state",
    "cap_gln",
    "paid_gln",
    "to_workers_gln",
    "fee_gln",
    "refunded_gln",
    "order",
    "transaction",
    "note",
];

fn cells(invoice: &Invoice) -> [String; 13] {
    let money = |amount: Option<Amount>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    let to_workers = invoice.paid.zip(invoice.fee).and_then(|(paid, fee)| paid.checked_sub(fee));
    [
        invoice.job.to_string(),
        invoice.name.clone(),
        date(Some(invoice.submitted_at)),
        date(invoice.ended_at),
        invoice.state.clone(),
        invoice.cap.to_string(),
        money(invoice.paid),
        money(to_workers),
        money(invoice.fee),
        money(invoice.refunded),
        invoice.order.clone().unwrap_or_default(),
        invoice.transaction.clone().unwrap_or_default(),
        invoice.note.clone().unwrap_or_default(),
    ]
}

/// A moment as ISO 8601 writes it.
fn date(ms: Option<u64>) -> String {
    let moment = ms.and_then(|ms| DateTime::from_timestamp_millis(i64::try_from(ms).ok()?));
    moment.map(|moment| moment.to_rfc3339_opts(SecondsFormat::Secs, true)).unwrap_or_default()
}

/// A line of CSV. What a spreadsheet would take for a formula is text here.
fn row(cells: &[String]) -> String {
    let cell = |cell: &String| {
        let guarded =
            if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell.clone() };
        match guarded.contains(['"', ',', '\n', '\r']) {
            true => format!("\"{}\"", guarded.replace('"', "\"\"")),
            false => guarded,
        }
    };
    cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_do_no_harm_in_a_spreadsheet() {
        let text =
            row(&["=HYPERLINK(\"http://x\")".into(), "a,\"b\"".into(), "plain".into(), "@x".into(), String::new()]);
        assert_eq!(text, "\"'=HYPERLINK(\"\"http://x\"\")\",\"a,\"\"b\"\"\",plain,'@x,\r\n");
    }

    #[test]
    fn an_invoice_adds_up() {
        let invoice = Invoice {
            job: JobId(7),
            name: "squares".into(),
            choice: None,
            template: None,
            submitted_at: 1_700_000_000_000,
            ended_at: None,
            state: "done".into(),
            cap: Amount::gln(1),
            paid: Some(Amount(300_000_000)),
            fee: Some(Amount(45_000_000)),
            refunded: Some(Amount(700_000_000)),
            order: Some("0x1".into()),
            transaction: Some("0x2".into()),
            settled_at: None,
            note: None,
        };
        assert_eq!(row(&cells(&invoice)), "7,squares,2023-11-14T22:13:20Z,,done,1,0.3,0.255,0.045,0.7,0x1,0x2,\r\n");
    }
}
