//! What an account has at the desk: a folder for its secret and its wallet, one for its files, and a client of its own.
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gleaner_client::Client;
use gleaner_client::data::Account as Secret;
use gleaner_requester::Purse;
use gleaner_uploads::User;
use gleaner_wire::{Address, Hash};

use crate::Error;
use crate::desk::Inner;

/// An account's name on the hub where money is on no chain begins with this, so that it is nobody's whom an operator names.
const NAME_PREFIX: &str = "@";

/// An account at the desk.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: String,
    /// The name of its folders: ids are opaque, and may hold anything.
    pub(crate) user: User,
    own: PathBuf,
    /// Where its files lie.
    pub(crate) files: PathBuf,
    /// By which name the hub knows it.
    pub(crate) payer: String,
    /// Whether that is the address of its wallet.
    pub(crate) on_chain: bool,
}

/// Where a desk in this folder keeps the wallet (`wallet.json`) and the secret (`data`) of an account, for programs on the
/// same machine that act in its name.
pub fn folder_of(desk: &Path, id: &str) -> PathBuf {
    desk.join("accounts").join(user_of(id).as_str())
}

/// The folder name of an account.
pub(crate) fn user_of(id: &str) -> User {
    let hash = Hash::of(format!("account at the desk\0{id}").as_bytes()).to_string();
    User::parse(&hash[..32]).expect("hexadecimal digits are a plain name")
}

impl Account {
    /// The account with this id, made at first use.
    pub(crate) async fn open(desk: &Inner, id: &str, name: &str) -> Result<Self, Error> {
        let on_chain = desk.has_chain().await?;
        let mut account = Self::at(desk, id, String::new(), on_chain);
        for folder in [&account.own, &account.files] {
            make_folder(folder)?;
        }
        account.payer = match on_chain {
            true => Address(account.wallet_address().await?.into_array()).to_string(),
            false => format!("{NAME_PREFIX}{name}"),
        };
        if desk.books.payer_of(id).await?.as_ref() != Some(&account.payer) {
            account.introduce(desk).await?;
            desk.books.note_account(id, &account.payer).await?;
        }
        Ok(account)
    }

    /// Tells the hub whose the wallet is that is kept here: what is ordered with it is the account's there, too.
    async fn introduce(&self, desk: &Inner) -> Result<(), Error> {
        // Whom the operator names has no account of the hub, and nothing there to be told of.
        let Some(number) = self.id.parse().ok().filter(|_| self.on_chain) else { return Ok(()) };
        match desk.client.add_desk_wallet(number, &self.payer).await {
            Err(error) if error.is_not_found() => Ok(()),
            told => Ok(told?),
        }
    }

    /// The account with this id, by the name under which the hub knew it last; none if it was never here.
    pub(crate) async fn known(desk: &Inner, id: &str) -> Result<Option<Self>, Error> {
        let Some(payer) = desk.books.payer_of(id).await? else { return Ok(None) };
        Ok(Some(Self::at(desk, id, payer, desk.has_chain().await?)))
    }

    fn at(desk: &Inner, id: &str, payer: String, on_chain: bool) -> Self {
        let user = user_of(id);
        let own = folder_of(&desk.dir, id);
        let files = desk.files_dir().join(user.as_str());
        Self { id: id.to_owned(), user, own, files, payer, on_chain }
    }

    fn wallet_file(&self) -> PathBuf {
        self.own.join("wallet.json")
    }

    /// The address of its wallet, which is made at first use.
    pub(crate) async fn wallet_address(&self) -> Result<gleaner_chain::primitives::Address, Error> {
        let file = self.wallet_file();
        if file.exists()
            && let Some(address) = gleaner_chain::wallet::address(&file).map_err(gleaner_requester::Error::from)?
        {
            return Ok(address);
        }
        Ok(self.open_wallet().await?.address())
    }

    async fn open_wallet(&self) -> Result<gleaner_chain::Account, Error> {
        let file = self.wallet_file();
        let opening = tokio::task::spawn_blocking(move || gleaner_requester::open(&file, None));
        Ok(opening.await.map_err(|_| Error::Defect)??.account)
    }

    /// What opens and seals its data.
    pub(crate) fn secret(&self) -> Result<Secret, Error> {
        Ok(Secret::open(&self.own.join("data"))?)
    }

    /// The hub, as this account sees it.
    pub(crate) fn client(&self, desk: &Inner) -> Result<Client, Error> {
        Ok(desk.client.for_requester(self.payer.clone(), self.secret()?))
    }

    /// What it pays with; none where money is on no chain.
    pub(crate) async fn purse(&self, client: &Client) -> Result<Option<Purse>, Error> {
        if !self.on_chain {
            return Ok(None);
        }
        let mut purse = Purse::of(client, self.open_wallet().await?).await?;
        purse.file = Some(self.wallet_file());
        Ok(Some(purse))
    }

    /// The folder that paths of a job file start from: one of the account's file trees, or the folder of all of them.
    pub(crate) fn base(&self, tree: Option<&str>) -> Result<PathBuf, Error> {
        let Some(tree) = tree else { return Ok(self.files.clone()) };
        let missing = || Error::not_found(format!("there are no files called `{tree}`: upload them first"));
        let spot = gleaner_uploads::Spot::parse(self.user.as_str(), tree).map_err(Error::Wrong)?;
        let path = self.files.join(spot.top.name.as_os());
        let is_folder = spot.below.is_empty() && path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_folder { Ok(path) } else { Err(missing()) }
    }
}

/// Makes a folder that is nobody else's.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(Error::file("make", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_an_id_is_its_folder_is_a_plain_name_of_its_own() {
        let ids = ["", "ada", "../../etc", "a/b", "a\0b", "ä", &"x".repeat(10_000)];
        let users: std::collections::BTreeSet<_> = ids.iter().map(|id| user_of(id)).collect();
        assert_eq!(users.len(), ids.len());
        assert!(users.iter().all(|user| user.as_str().len() == 32));
    }
}
