//! Where state lives and which hub is meant: read once from the command line and the environment.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gleaner_client::data::Account;
use gleaner_client::{Client, HubAddress, Token};

use crate::failure::Advice;

/// Options that every command takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Settings {
    /// Folder of the hub's and the workers' state [default: $XDG_DATA_HOME/gleaner]
    #[arg(
        long,
        global = true,
        env = "GLEANER_DIR",
        value_name = "DIR",
        hide_env = true,
        help_heading = "Global options"
    )]
    pub dir: Option<PathBuf>,
    /// Address of the hub [default: the one whose state is in the folder]
    #[arg(
        long,
        global = true,
        env = "GLEANER_HUB",
        value_name = "URL",
        hide_env = true,
        help_heading = "Global options"
    )]
    pub hub: Option<String>,
    /// File with the certificates, in PEM, of who may vouch for an https hub [default: whom the system trusts]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub hub_ca: Option<PathBuf>,
    /// File with the hub's token [default: hub/api.token in the folder]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub token_file: Option<PathBuf>,
    /// Keystore file to pay with [default: wallet.json in the folder, made at first use]
    #[arg(
        long,
        global = true,
        env = "GLEANER_WALLET",
        value_name = "FILE",
        hide_env = true,
        help_heading = "Global options"
    )]
    pub wallet: Option<PathBuf>,
    /// File with the wallet's password [default: beside the wallet, the keyring, or asked for]
    #[arg(
        long,
        global = true,
        env = "GLEANER_PASSWORD_FILE",
        value_name = "FILE",
        hide_env = true,
        help_heading = "Global options"
    )]
    pub password_file: Option<PathBuf>,
    /// In whose name jobs are submitted, where money is on no chain
    #[arg(long, global = true, value_name = "NAME", default_value = "local", help_heading = "Global options")]
    pub requester: String,
    /// Say more on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub verbose: u8,
    /// The process whose end ends this one
    #[arg(long, global = true, hide = true, value_name = "PID")]
    pub with_parent: Option<i32>,
}

impl Settings {
    /// The state folder.
    pub fn folder(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.dir {
            return std::path::absolute(dir).with_context(|| format!("cannot use the folder {}", dir.display()));
        }
        let data = std::env::var_os("XDG_DATA_HOME").filter(|value| Path::new(value).is_absolute());
        let home = || std::env::home_dir().map(|home| home.join(".local/share"));
        let data = data.map(PathBuf::from).or_else(home);
        let data = data.ok_or_else(|| Advice::new("no home folder is known", "name a state folder with --dir DIR"))?;
        Ok(data.join("gleaner"))
    }

    /// The hub's part of the state folder.
    pub fn hub_folder(&self) -> Result<PathBuf> {
        Ok(self.folder()?.join("hub"))
    }

    /// The keystore file to pay with.
    pub fn wallet_file(&self) -> Result<PathBuf> {
        match &self.wallet {
            Some(file) => Ok(file.clone()),
            None => Ok(self.folder()?.join("wallet.json")),
        }
    }

    /// The hub, and who may vouch for it.
    pub fn hub_address(&self) -> Result<HubAddress> {
        match &self.hub {
            Some(url) => Ok(HubAddress::parse(url, self.hub_ca.as_deref())?),
            // A hub on this machine, which needs nobody to vouch for it.
            None => Ok(HubAddress::parse(&self.own_hub()?, None)?),
        }
    }

    /// The address of the hub whose state is in the folder.
    fn own_hub(&self) -> Result<String> {
        let file = self.hub_folder()?.join("address");
        let url = std::fs::read_to_string(&file).map_err(|_| {
            let folder = file.parent().unwrap_or(&file).display().to_string();
            let problem = format!("no hub has run with its state in {folder}");
            Advice::new(problem, "start a network with `gleaner up`, or name a hub with --hub URL")
        })?;
        Ok(url.trim().to_owned())
    }

    /// A client of the hub, which is known to answer.
    pub async fn client(&self) -> Result<Client> {
        let hub = self.hub_address()?;
        let token_file = match &self.token_file {
            Some(file) => file.clone(),
            None => self.hub_folder()?.join("api.token"),
        };
        let token = Token::read(&token_file).map_err(|error| {
            let advice = Advice::new("the hub's token is missing", "name its file with --token-file FILE");
            anyhow::Error::new(error).context(advice)
        })?;
        let client = Client::at(&hub, token, self.requester.clone())?.with_account(self.account()?);
        client.health().await?;
        Ok(client)
    }

    /// Whose data it is.
    pub fn account(&self) -> Result<Account> {
        Ok(Account::open(&self.folder()?.join("data"))?)
    }

    /// A client of the hub for what it tells everybody: where its money is.
    pub async fn guest(&self) -> Result<Client> {
        let client = Client::at(&self.hub_address()?, Token::new(""), self.requester.clone())?;
        client.health().await?;
        Ok(client)
    }
}

/// What this process writes from now on is for its own user: books, logs, keys and other people's data.
pub fn private_files() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}
