//! The tools, and how each is told to move something.
use super::files::Data;
use super::stage::Stage;
use anyhow::Result;
use clap::ValueEnum;
use std::path::Path;

/// The folders of the product: on the machine that pushes, and on one of the same account that only pulls.
const PUSHES: &str = "own";
const PULLS: &str = "other";

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tool {
    /// The product.
    Gleaner,
    /// rsync over ssh.
    RsyncSsh,
    /// rsync and its own server, nothing encrypted.
    RsyncPlain,
    /// scp, which speaks SFTP.
    Scp,
    /// curl and a web server with TLS; a folder as a tar.
    Curl,
    /// One iroh stream; a folder as a tar.
    Stream,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// To the server.
    Push,
    /// From it.
    Pull,
}

impl Way {
    /// Both, in the order in which they can be gone.
    pub const BOTH: [Self; 2] = [Self::Push, Self::Pull];

    /// What tables call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pull => "pull",
        }
    }
}

impl Tool {
    /// What tables call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gleaner => "gleaner",
            Self::RsyncSsh => "rsync, ssh",
            Self::RsyncPlain => "rsync, plain",
            Self::Scp => "scp",
            Self::Curl => "curl, https",
            Self::Stream => "iroh stream",
        }
    }

    /// Whether it is a kind of rsync.
    pub fn is_rsync(self) -> bool {
        match self {
            Self::RsyncSsh | Self::RsyncPlain => true,
            Self::Gleaner | Self::Scp | Self::Curl | Self::Stream => false,
        }
    }

    /// Whether it speaks TCP only, and so is held up by lost packets rather than by this machine.
    pub fn waits_for_lost_packets(self) -> bool {
        match self {
            Self::RsyncSsh | Self::RsyncPlain | Self::Scp | Self::Curl => true,
            Self::Gleaner | Self::Stream => false,
        }
    }

    /// The line of shell that moves this.
    pub fn line(self, way: Way, data: Data, source: &Path, stage: &Stage) -> Result<String> {
        let (from, name) = (source.join(data.name()), data.name());
        let (target, served) = (stage.folder().join("target"), stage.folder().join("served"));
        let (from, target, served, address) = (from.display(), target.display(), served.display(), stage.address());
        let remote = format!("root@{address}:{served}");
        let (ssh, options) = (stage.ssh(), stage.ssh_options());
        Ok(match (self, way) {
            (Self::Gleaner, Way::Push) => format!("{} data push {from} --name moved --json", stage.gleaner(PUSHES)),
            (Self::Gleaner, Way::Pull) => {
                stage.give_account(PUSHES, PULLS)?;
                format!("{} data pull moved {target}/{name} --json", stage.gleaner(PULLS))
            }
            (Self::RsyncSsh, Way::Push) => format!("rsync -a -e '{ssh} -p 2222' {from} {remote}/"),
            (Self::RsyncSsh, Way::Pull) => format!("rsync -a -e '{ssh} -p 2222' {remote}/{name} {target}/"),
            (Self::RsyncPlain, Way::Push) => format!("rsync -a {from} rsync://{address}:8873/served/"),
            (Self::RsyncPlain, Way::Pull) => format!("rsync -a rsync://{address}:8873/served/{name} {target}/"),
            (Self::Scp, Way::Push) => format!("scp -q -r -P 2222 {options} {from} {remote}/"),
            (Self::Scp, Way::Pull) => format!("scp -q -r -P 2222 {options} {remote}/{name} {target}/"),
            (Self::Curl, Way::Push) if !data.is_folder() => {
                format!("curl -sSfk -o /dev/null -T {from} https://{address}:8443/moved")
            }
            (Self::Curl, Way::Push) => {
                format!("{} | curl -sSfk -o /dev/null -T - https://{address}:8443/moved", reader(data, source))
            }
            (Self::Curl, Way::Pull) => {
                format!("curl -sSfk https://{address}:8443/moved | {}", writer(data, stage.folder()))
            }
            (Self::Stream, Way::Push) => {
                format!("{} | {} stream-put {address}:4444", reader(data, source), stage.own_program()?)
            }
            (Self::Stream, Way::Pull) => {
                format!("{} stream-get {address}:4444 | {}", stage.own_program()?, writer(data, stage.folder()))
            }
        })
    }
}

/// Writes it to standard output: a folder as a tar.
fn reader(data: Data, source: &Path) -> String {
    let from = source.join(data.name());
    if data.is_folder() { format!("tar c -C {} .", from.display()) } else { format!("cat {}", from.display()) }
}

/// Makes it of standard input.
fn writer(data: Data, folder: &Path) -> String {
    let to = folder.join("target").join(data.name());
    let to = to.display();
    if data.is_folder() { format!("( mkdir {to} && tar x -C {to} )") } else { format!("cat > {to}") }
}
