//! What a worker is told at its start, and what it tells while it runs.
use std::path::PathBuf;

use std::time::Duration;

use gleaner_client::HubAddress;
use gleaner_client::Token;
use gleaner_machine::Preferences;
use gleaner_wire::{Address, Amount, Offer, Runtime, WorkerId};

/// How a worker runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The hub's address, and who may vouch for it.
    pub hub: HubAddress,
    /// Where the worker keeps its key, its store of sealed chunks and its scratch files.
    pub dir: PathBuf,
    /// The name its owner gave it.
    pub name: String,
    /// The region it is in.
    pub region: String,
    /// Who is paid, on a hub that settles on a chain.
    pub provider: Option<Provider>,
    /// A token of the account that this machine is to be counted as, with the scope `provide`. Whoever has that account sees
    /// the machine, and sets its price and hours.
    pub account_token: Option<Token>,
    /// What others ask at the start, for owners who follow the market.
    pub market: crate::Market,
    /// WebAssembly programs that run at a time; 0 does not offer the processor.
    pub cpu_slots: u16,
    /// Whether GPUs are offered.
    pub gpu: bool,
    /// The executable to start for kernels, called with `wgsl-child`: normally this program itself.
    pub child: PathBuf,
    /// Only adapters whose name contains this, capitals or not.
    pub adapter: Option<String>,
    /// Whether containers are offered, where an engine for them runs.
    pub containers: bool,
    /// Whether Blender is offered, where it is installed.
    pub blender: bool,
    /// The Blender, or the Python with its module, that renders; otherwise the newest that is found.
    pub blender_program: Option<PathBuf>,
    /// Whether equal cards work together on one task, instead of each on its own.
    pub together: bool,
    /// The engine's network that containers may reach if their job asks for it.
    pub network: Option<String>,
    /// Whether containers run on a kernel of their own (gVisor).
    pub gvisor: bool,
    /// When the machine is its owner's, and what it costs.
    pub preferences: Preferences,
    /// Where spans of what it does go, if anywhere.
    pub traces: Option<gleaner_trace::Config>,
    /// How it lies, for people and tests that want to see a liar caught.
    pub lie: Option<crate::Lie>,
}

/// Who is paid for a worker's results and stands behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its account.
    pub account: Address,
    /// Its word that this worker is its own on this hub, which the hub asks for; only wallets and hubs know what it means.
    pub proof: Vec<u8>,
}

/// Something that happened to a worker, for its owner to see.
#[derive(Clone, Debug)]
pub enum Report {
    /// The self-test is over; this is offered, and these capabilities are not.
    Tested {
        /// The offer.
        offer: Offer,
        /// What was tested and does not work.
        missing: Vec<crate::Finding>,
    },
    /// The way to the hub was measured.
    Line(crate::LineSpeed),
    /// The hub let the worker in.
    Connected {
        /// Its number on this hub.
        worker: WorkerId,
    },
    /// The hub does not take the account's token; the worker goes on without it.
    Unpaired {
        /// Why.
        why: String,
    },
    /// The owner has set something through the hub.
    Set {
        /// What is in force now.
        what: String,
    },
    /// The connection is lost, or there is none yet.
    Reconnecting {
        /// When it is tried again.
        in_ms: u64,
        /// Why.
        why: String,
    },
    /// The hub has tested a runtime of a device.
    Screened {
        /// The position of the device in the offer.
        device: u16,
        /// The runtime.
        runtime: Runtime,
        /// The score by which it is chosen from now on, or why it gets no work.
        verdict: Result<u32, String>,
    },
    /// The owner needs a device, or has given it back.
    Rests {
        /// The position of the device in the offer.
        device: u16,
        /// Why it rests; none if it works again.
        why: Option<String>,
    },
    /// A device that its owner needs is free.
    Freed {
        /// The position of the device in the offer.
        device: u16,
        /// How long that took.
        took: Duration,
        /// Whether it was in time.
        in_time: bool,
    },
    /// Other prices are asked from now on.
    Repriced {
        /// For a second of each device, in the order of the offer.
        prices: Vec<Amount>,
    },
    /// More was earned.
    Earned {
        /// On this hub, ever.
        earned: Amount,
        /// What the electricity for it cost, if its owner named a tariff.
        energy: Option<Amount>,
    },
    /// Attempts ended.
    Finished {
        /// How many delivered.
        done: u64,
        /// How many failed.
        failed: u64,
    },
}

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of the worker.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The key file is not one.
    #[error("{} is not a worker's key: it must hold 32 bytes. Restore it, or remove it to get a new identity", .0.display())]
    Key(PathBuf),
    /// Another worker runs in this folder.
    #[error("another worker runs in {}; give each its own --dir", .0.display())]
    Occupied(PathBuf),
    /// The machine gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Chance(getrandom::Error),
    /// The address is not one of a hub.
    #[error(transparent)]
    Address(#[from] gleaner_client::Error),
    /// The store of sealed chunks cannot be used.
    #[error("the store of sealed chunks cannot be used")]
    Store(#[source] gleaner_data::store::Error),
    /// Nothing works that could be offered.
    #[error("nothing to share: {}. `gleaner doctor` says how to fix it", .0.join("; "))]
    NothingToOffer(Vec<String>),
    /// The name, the region or a price is not acceptable.
    #[error("the offer is not acceptable: {0}")]
    Offer(#[from] gleaner_wire::OfferError),
    /// The price of electricity makes no sense.
    #[error("the tariff makes no sense: {0}")]
    Tariff(gleaner_machine::energy::TariffError),
    /// Spans of what it does cannot be sent.
    #[error("spans of the work cannot be sent: name a collector with --otlp")]
    Traces(#[from] gleaner_trace::Error),
    /// The hub does not let the worker in.
    #[error("the hub refused this worker: {0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }
}
