//! What tokens spend: there is one ledger of it, the accounts'. Whatever spends reserves here before, under the number of the
//! submission, and what was reserved is lowered once it is known what the job came to.
use super::Shared;
use super::problem::Problem;
use crate::people::Trouble;
use gleaner_accounts::token::TokenId;
use gleaner_accounts::{Error, Refusal};
use gleaner_wire::api::JobSummary;
use gleaner_wire::{Amount, JobId};
use std::sync::Arc;

/// Spendings that are looked at before the answer is no.
const LOOKED_AT_MAX: u32 = 1000;

/// What a submission is reserved under.
pub(super) fn purpose_of(submission: u128) -> String {
    format!("{submission:032x}")
}

/// Counts what something may cost against what a token may spend. What is asked for again counts once, and if it may cost more
/// then, the rest counts too.
pub(super) async fn reserve(shared: &Shared, token: TokenId, purpose: &str, most: Amount) -> Result<(), Problem> {
    let reserve = async || {
        let purpose = purpose.to_owned();
        shared.people.ask(move |accounts| accounts.reserve(token, &purpose, most)).await
    };
    match reserve().await {
        Ok(_) => Ok(()),
        Err(Trouble::Accounts(Error::Refused(Refusal::OverLimit { .. }))) => {
            // Jobs that have ended may have come to less.
            settle(shared, token).await?;
            reserve().await?;
            Ok(())
        }
        Err(trouble) => Err(trouble.into()),
    }
}

/// Gives back what was reserved for something that was not done. What became a job stays counted.
pub(super) async fn give_back(shared: &Shared, token: TokenId, purpose: String) -> Result<(), Problem> {
    if job_for(shared, &purpose).await?.is_some() {
        return Ok(());
    }
    Ok(shared.people.ask(move |accounts| accounts.give_back(token, &purpose)).await?)
}

/// Lowers what a token has reserved to what the jobs that have ended came to.
pub(super) async fn settle(shared: &Shared, token: TokenId) -> Result<(), Problem> {
    let open = shared.people.ask(move |accounts| accounts.open_spendings(token, LOOKED_AT_MAX)).await?;
    for purpose in open {
        let came_to = match number_of(&purpose) {
            // A withdrawal, or something else that is no job: it came to what it was.
            None => Some(Amount(u64::MAX)),
            Some(_) => match job_for(shared, &purpose).await? {
                Some(job) => summary(shared, job).await?.filter(|job| job.state.has_ended()).map(|job| job.spent),
                None => None,
            },
        };
        if let Some(amount) = came_to {
            shared.people.ask(move |accounts| accounts.came_to(token, &purpose, amount)).await?;
        }
    }
    Ok(())
}

fn number_of(purpose: &str) -> Option<u128> {
    u128::from_str_radix(purpose, 16).ok().filter(|_| purpose.len() == 32)
}

/// The job of a submission, once there is one.
async fn job_for(shared: &Shared, purpose: &str) -> Result<Option<JobId>, Problem> {
    let Some(number) = number_of(purpose) else { return Ok(None) };
    let data = Arc::clone(&shared.data);
    super::data::blocking(move || data.catalog.job_of(number)).await
}

async fn summary(shared: &Shared, job: JobId) -> Result<Option<JobSummary>, Problem> {
    // In this order: a job is in the archive before it leaves the core.
    if let Some(summary) = shared.keeper.ask(move |core| core.job_summary(job)).await? {
        return Ok(Some(summary));
    }
    Ok(shared.archive.summary(job).await?)
}
