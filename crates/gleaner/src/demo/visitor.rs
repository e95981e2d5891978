//! Whoever opens the demo's page: an account on its hub, in whose name everything is ordered and whose machine the first
//! worker is. So the page shows both sides of all that ran.
//!
//! Nobody has to sign up for it: a link signs in once, within five minutes, on this machine only.
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result};
use gleaner_chain::wallet;
use gleaner_client::Client;
use gleaner_client::data::Account;
use gleaner_wire::JobId;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::money::provider;
use crate::network::Network;
use crate::output::say;

const NAME: &str = "demo";
/// The page of all jobs.
pub const JOBS: &str = "/jobs";
/// Where the requester's wallet is, in the state folder and in the folder of an account of the desk.
const WALLET: &str = "wallet.json";

/// The demo's account.
pub struct Visitor {
    id: u64,
    client: Client,
}

#[derive(Deserialize)]
struct SignedUp {
    account: SignedUpAccount,
}

#[derive(Deserialize)]
struct SignedUpAccount {
    id: u64,
}

#[derive(Deserialize)]
struct Link {
    code: String,
}

impl Visitor {
    /// Makes the account, and has the network's client act in its name from then on.
    pub async fn welcome(network: &mut Network, folder: &Path) -> Result<Self> {
        let client = network.client.clone();
        let passphrase = hexadecimal(client.account()?.secret().derive(b"passphrase of the demo").expose());
        let wanted = json!({ "name": NAME, "passphrase": passphrase, "roles": ["requester", "provider"] });
        let SignedUp { account: SignedUpAccount { id } } = client.put_in("/accounts", &wanted).await?;
        let own = gleaner_desk::folder_of(&folder.join("hub/desk"), &id.to_string());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&own).context("cannot make a folder")?;
        let address = give_wallet(folder, &own)?;
        client.add_desk_wallet(id, &address).await?;
        client.add_desk_wallet(id, &plain(provider(folder, 1)?.address())).await?;
        let requester = client.requester().to_owned();
        network.client = client.for_requester(requester, Account::open(&own.join("data"))?);
        Ok(Self { id, client })
    }

    /// Says where the page is, and how to come in.
    pub async fn invite(&self, what: &str, page: &str) -> Result<()> {
        let Link { code } = self.client.put_in(&format!("/accounts/{}/link", self.id), &json!({})).await?;
        say(format!("{what} (signs in once, within five minutes)"));
        say(format!("  {}/welcome?then={page}#{code}", self.client.url()));
        Ok(())
    }

    /// Invites to the page of a job, and again for each line that is typed, for as long as there is somebody to type.
    pub async fn stay(&self, job: JobId) -> Result<()> {
        let page = format!("{JOBS}/{job}");
        self.invite("Everything above, on a page in your browser", &page).await?;
        say("Enter makes another link; Ctrl-C ends the network and removes all that it kept.");
        let mut typed = typed();
        while typed.recv().await.is_some() {
            self.invite("Another link", &page).await?;
        }
        std::future::pending().await
    }
}

/// A sign for each line that is typed. A thread of its own waits for them, which ends with the process: the runtime's would
/// keep it from ending until one more is typed.
fn typed() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if line.is_err() || sender.blocking_send(()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Puts the requester's wallet where the desk keeps the account's, and says its address.
fn give_wallet(folder: &Path, own: &Path) -> Result<String> {
    let (from, to) = (folder.join(WALLET), own.join(WALLET));
    let address = plain(wallet::own(&from)?.address());
    for (from, to) in [(wallet::password_file(&from), wallet::password_file(&to)), (from, to)] {
        std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(address)
}

/// An address as the hub writes it.
fn plain(address: gleaner_chain::primitives::Address) -> String {
    gleaner_wire::Address(address.into_array()).to_string()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
