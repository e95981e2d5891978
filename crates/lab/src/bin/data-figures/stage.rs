//! Two machines, the line between them, and the server of one tool on the far one. Each stage begins with nothing: new
//! keys, a new hub, a new account.
use super::peak::peak_of;
use super::run::{Taken, processor_of, shell};
use super::servers::{self, Server};
use super::tool::Tool;
use anyhow::{Context, Result};
use gleaner_lab::{Link, Machine, Shape, Side};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// What one command took on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The command.
    pub near: Taken,
    /// Processor seconds of the server.
    pub far_processor: f64,
    /// The most memory that the server has had so far, in bytes.
    pub far_peak: u64,
}

impl Cost {
    /// Processor seconds of both sides.
    pub fn processor(&self) -> f64 {
        self.near.processor.unwrap_or(0.0) + self.far_processor
    }
}

/// Two machines with a line, or one where there is none.
pub struct Stage {
    server: Server,
    near: Machine,
    link: Option<Link>,
    folder: PathBuf,
    product: PathBuf,
}

impl Stage {
    /// Starts the server of this tool, with what it keeps below this folder, which is new.
    pub fn start(tool: Tool, shape: Option<Shape>, folder: PathBuf, product: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder.join("target"))?;
        std::fs::create_dir_all(folder.join("served"))?;
        let far = Machine::new("far")?;
        let (near, link, address) = match shape {
            None => (far.clone(), None, Ipv4Addr::LOCALHOST),
            Some(shape) => {
                let near = Machine::new("near")?;
                let link = Link::new((&near, NEAR), (&far, FAR))?;
                link.set(Side::Left, shape);
                link.set(Side::Right, shape);
                (near, Some(link), FAR)
            }
        };
        let server = servers::start(tool, &far, address, &folder, product).context("starting a server")?;
        Ok(Self { server, near, link, folder, product: product.to_owned() })
    }

    /// Where the server is.
    pub fn address(&self) -> Ipv4Addr {
        if self.link.is_some() { FAR } else { Ipv4Addr::LOCALHOST }
    }

    /// The folder of this stage.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The product, told where its hub is, with what it knows in a folder of this name.
    pub fn gleaner(&self, own: &str) -> String {
        let (product, folder, address) = (self.product.display(), self.folder.display(), self.address());
        format!(
            "exec {product} --hub http://{address}:7700 --token-file {folder}/hub/hub/api.token --dir {folder}/{own}"
        )
    }

    /// A machine of the same account that knows nothing else: neither what was pushed nor how fast the line was.
    pub fn give_account(&self, from: &str, to: &str) -> Result<()> {
        let data = |own: &str| self.folder.join(own).join("data");
        std::fs::create_dir_all(data(to))?;
        std::fs::copy(data(from).join("secret"), data(to).join("secret")).context("taking the account along")?;
        Ok(())
    }

    /// This program, which is one end of a bare stream too.
    pub fn own_program(&self) -> Result<String> {
        Ok(std::env::current_exe().context("finding this program")?.display().to_string())
    }

    /// How ssh is told of keys.
    pub fn ssh_options(&self) -> String {
        let folder = self.folder.display();
        format!(
            "-i {folder}/key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        )
    }

    /// ssh, told of keys.
    pub fn ssh(&self) -> String {
        format!("ssh {}", self.ssh_options())
    }

    /// Runs a line of shell on the near machine.
    pub fn run(&self, line: &str, limit: u64) -> Result<Cost> {
        let server = self.server.id();
        let before = processor_of(server);
        let near = shell(&self.near, line, limit, &self.folder).map_err(|error| self.with_log(error))?;
        self.server.wait_for_sessions();
        let far_processor = processor_of(server) - before;
        Ok(Cost { near, far_processor, far_peak: peak_of(server).unwrap_or(0) })
    }

    fn with_log(&self, error: anyhow::Error) -> anyhow::Error {
        error.context(format!("the server said: {}", servers::log_of(&self.folder)))
    }

    /// Bytes that the line has carried so far, from here and to here.
    pub fn carried(&self) -> (u64, u64) {
        self.link.as_ref().map_or((0, 0), |link| (link.carried(Side::Left).bytes, link.carried(Side::Right).bytes))
    }

    /// Ends the server and forgets all that was kept.
    pub fn clear(self) -> Result<()> {
        drop(self.server);
        std::fs::remove_dir_all(&self.folder).with_context(|| format!("removing {}", self.folder.display()))
    }
}
