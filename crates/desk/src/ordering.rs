//! From a job file to a job on the hub: packed, ordered, sent, written down and followed. Asked twice, it is done once.
use std::future::Future;

use gleaner_client::{Client, Draft, Way};
use gleaner_requester::{Covered, Purse};
use gleaner_wire::api::Submitted;
use gleaner_wire::job_file::{Budget, Prefer};
use gleaner_wire::{Amount, Asker, Hash, JobId};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::books::{Begun, NewJob};
use crate::wallet::has_not_moved;
use crate::{Desk, Error, follow, images, paths};

/// The longest key under which something is asked for.
const KEY_BYTES_MAX: usize = 200;
/// What a job may cost that does not say.
const CAP_DEFAULT: Amount = Amount::gln(1);

/// A job that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WantedJob)]
pub struct Wanted {
    /// The job file, as TOML.
    pub job: String,
    /// Which of the account's file trees its paths start from; none: the folder of all of them, by their names.
    #[serde(default)]
    pub folder: Option<String>,
    /// What matters more; none: as the job file says.
    #[serde(default)]
    pub choice: Option<Prefer>,
    /// The quote that was seen. The job is ordered for its binding price, if it has one for what matters more; one that has run
    /// out or was for another job is refused.
    #[serde(default)]
    pub quote: Option<String>,
}

/// What something takes of what a token may spend.
pub(crate) struct Spending {
    /// What it is for; the same, if it is asked for again.
    pub(crate) purpose: String,
    /// The most that it may come to.
    pub(crate) most: Amount,
    /// Whether it was begun before, and may have happened then.
    pub(crate) again: bool,
}

/// A job that was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = OrderedJob)]
pub struct Ordered {
    /// The job.
    pub job: JobId,
    /// How many tasks it has.
    pub tasks: u64,
    /// What was reserved for it.
    pub reserved: Amount,
    /// What was deposited for it.
    pub deposited: Amount,
    /// Its order on the chain.
    pub order: Option<String>,
}

/// The key under which something is asked for, and whether that was begun before.
#[derive(Clone, Copy)]
struct Sent<'a> {
    key: &'a str,
    again: bool,
}

/// Checks the key under which something is asked for.
pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    let fits =
        (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if fits { Ok(()) } else { Err(Error::NoKey) }
}

impl Desk {
    /// Submits a job: packs its files, covers its order, sends it and sees to it from then on. The same key makes the same
    /// job.
    pub async fn submit(&self, asker: &Asker, key: &str, wanted: &Wanted) -> Result<Ordered, Error> {
        check_key(key)?;
        let account = self.account(asker).await?;
        let _turn = self.inner.turns.of(&account.id).await;
        let what = Hash::of(&serde_json::to_vec(wanted).expect("texts can be encoded"));
        let again = match self.inner.books.begin(&account.id, key, what).await? {
            Begun::Answered(answer) => return serde_json::from_str(&answer).map_err(|_| Error::Defect),
            Begun::Other => return Err(Error::KeyReused),
            // The hub knows by the number of the submission whether it came before.
            Begun::Before => true,
            Begun::New => false,
        };
        let ordered = self.order(asker, &account, Sent { key, again }, wanted).await;
        match &ordered {
            Ok(ordered) => {
                let answer = serde_json::to_string(ordered).expect("texts can be encoded");
                self.inner.books.answer(&account.id, key, answer).await?;
            }
            // The key stays with what may have happened under it: it can be sent again, and stands for nothing else.
            Err(error) if has_not_moved(error) && !again => self.inner.books.forget(&account.id, key).await?,
            Err(_) => {}
        }
        ordered
    }

    async fn order(&self, asker: &Asker, account: &Account, sent: Sent<'_>, wanted: &Wanted) -> Result<Ordered, Error> {
        let max = self.inner.limits.jobs_open_max;
        if self.inner.books.running(&account.id).await? >= max {
            return Err(Error::TooMany(format!("{max} of your jobs have not ended: wait for one, or cancel it")));
        }
        let tree = wanted.folder.as_deref();
        account.base(tree)?;
        let hidden = |error| Error::of_job(error, &account.files, tree);
        let number = submission(account, sent.key)?;
        let mut draft = Draft::confined(&wanted.job, &account.files, number).map_err(hidden)?;
        paths::place(&mut draft.file, tree);
        if let Some(choice) = wanted.choice {
            draft.file.prefer = choice;
        }
        let (offer, quoted) = self.offer(account, wanted, draft.file.prefer, sent.again).await?;
        images::fix(&mut draft.file, &quoted, self.inner.registries).await?;
        if let Some(offer) = offer {
            draft.order_by(offer);
        }
        let client = account.client(&self.inner)?;
        let purse = account.purse(&client).await?;
        let cap = cap(&mut draft.file.budget, purse.as_ref());
        let spending = Spending { purpose: format!("{number:032x}"), most: cap, again: sent.again };
        let ordered = self
            .within_limit(asker, &spending, async || {
                let packing = self.inner.turns.packing().await;
                let package = client.pack(&draft, None, Way::Hub, |_, _| {}).await.map_err(hidden)?;
                drop(packing);
                match &purse {
                    None => Ok(ordered(&client.send(&package, None).await.map_err(hidden)?, None)),
                    Some(purse) => self.pay(&client, purse, &package).await,
                }
            })
            .await?;
        let new = NewJob {
            job: ordered.job,
            account: account.id.clone(),
            name: draft.file.name.clone(),
            prefer: wanted.choice.map(|choice| word(choice).to_owned()),
            template: self.inner.books.rendered(Hash::of(wanted.job.as_bytes())).await?,
            cap: ordered.reserved,
            order: ordered.order.clone(),
        };
        self.inner.books.add_job(&new).await?;
        follow::begin(&self.inner, ordered.job, &account.id).await?;
        Ok(ordered)
    }

    async fn pay(
        &self,
        client: &Client,
        purse: &Purse,
        package: &gleaner_client::Package<'_>,
    ) -> Result<Ordered, Error> {
        purse.fill(client).await?;
        let covered = Covered::by(purse, package, || {}).await?;
        let (order, deposited) = (covered.id.to_string(), covered.deposited);
        let submitted = covered.send(client, package).await?;
        Ok(Ordered { deposited, ..ordered(&submitted, Some(order)) })
    }

    /// Does something that spends at most so much, if the asker's token may. The hub keeps what tokens spend, however they do;
    /// it gives nothing back of what became a job, and lowers that to what the job came to.
    pub(crate) async fn within_limit<T, F>(
        &self,
        asker: &Asker,
        spending: &Spending,
        work: impl FnOnce() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let limit = asker.limit.as_ref().filter(|_| spending.most > Amount::ZERO);
        let Some(limit) = limit else { return work().await };
        let path = format!("/tokens/{}/spending/{}", limit.token, spending.purpose);
        let reserved = self.inner.client.put(&path, &serde_json::json!({ "amount": spending.most })).await;
        reserved.map_err(|error| match error {
            gleaner_client::Error::Refused(problem) if problem.code == "over-limit" => {
                Error::OverLimit { max: limit.max, reason: problem.detail }
            }
            error => error.into(),
        })?;
        let done = work().await;
        if !spending.again && done.as_ref().is_err_and(has_not_moved) {
            self.inner.client.remove(&path).await?;
        }
        done
    }
}

/// The number of a submission: the same for the same key, and no other account's.
fn submission(account: &Account, key: &str) -> Result<u128, Error> {
    let derived = account.secret()?.secret().derive(format!("submission\0{key}").as_bytes());
    let (first, _) = derived.expose().split_first_chunk::<16>().expect("a secret is longer");
    Ok(u128::from_le_bytes(*first))
}

/// What the job may cost at most, which is written into it, so that nobody takes it for something else.
fn cap(budget: &mut Budget, purse: Option<&Purse>) -> Amount {
    let default = purse.map_or(CAP_DEFAULT, |purse| purse.view.price_max_default);
    *budget.price_max.get_or_insert(default)
}

fn ordered(submitted: &Submitted, order: Option<String>) -> Ordered {
    let &Submitted { job, tasks, reserved } = submitted;
    Ordered { job, tasks, reserved, deposited: Amount::ZERO, order }
}

/// A preference as it is written in a job file.
fn word(prefer: Prefer) -> &'static str {
    match prefer {
        Prefer::Cheap => "cheap",
        Prefer::Balanced => "balanced",
        Prefer::Fast => "fast",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short_and_printable() {
        for key in ["a", "0190-af", "a key", &"x".repeat(200)] {
            assert!(check_key(key).is_ok(), "{key}");
        }
        for key in ["", "ä", "a\nb", &"x".repeat(201)] {
            assert!(matches!(check_key(key), Err(Error::NoKey)), "{key:?}");
        }
    }
}
