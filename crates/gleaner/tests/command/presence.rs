//! The auditor that a shared machine brings along: present for as long as it is shared, and off the list when it stops.
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use gleaner_chain::market::{Call, Market};
use gleaner_chain::remote::Remote;
use gleaner_chain::sender::Sender;
use gleaner_chain::views::ChainView;
use gleaner_chain::{Account, Node, wallet};
use rustix::process::{Pid, Signal, kill_process};

use crate::network::{Network, PATIENCE};

/// How long the machine may take to stop, its auditor's leave included.
const STOP_TIME_MAX: Duration = Duration::from_secs(8);

/// A machine that is shared, and killed when the test ends.
struct Machine(Child);

impl Machine {
    fn start(network: &Network) -> Self {
        let log = std::fs::File::create(network.folder().join("worker-1.log")).expect("a log");
        let url = network.url();
        let share = ["share", "--hub", &url, "--dedicated", "--no-gpu", "--cpu-slots", "1"];
        let mut command = network.command(&[&share[..], &["--no-containers", "--no-blender"]].concat());
        Self(command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"))
    }

    /// Asks it to stop, and says how long that took and whether it went well.
    fn stop(&mut self) -> (Duration, bool) {
        let begun = Instant::now();
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it can be signalled");
        let status = self.0.wait().expect("it ends");
        (begun.elapsed(), status.success())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        self.0.wait().expect("it can be waited for");
    }
}

/// A hub with a chain of its own, where a voting window is a minute.
struct Court {
    network: Network,
    market: Market,
}

impl Court {
    fn start() -> Self {
        let network = Network::with_chain(0);
        let market = network.ask(async |client| {
            let view: ChainView = client.get("/chain").await.expect("a chain");
            let remote = Remote::connect(&view.url).expect("an address");
            Market::new(Node::Remote(remote), view.deployment)
        });
        Self { network, market }
    }

    fn present_until(&self, account: &Account) -> Option<u64> {
        self.network.ask(async |_| self.market.present_until(account.address()).await.expect("an answer"))
    }

    fn send(&self, account: &Account, call: &Call) {
        let sender = Sender::new(self.market.node.clone(), self.market.deployment.chain_id);
        self.network.ask(async |_| sender.send(account, call).await.expect("sent"));
    }

    /// Waits until an account is an auditor, and says until when it is present.
    fn enrolled(&self, account: &Account) -> u64 {
        wait("an auditor enrols", || self.present_until(account))
    }

    /// Waits until an auditor is present for longer than it was.
    fn renewed(&self, account: &Account, before: u64) -> u64 {
        wait("an auditor renews", || self.present_until(account).filter(|until| *until > before))
    }

    /// The account with which the machine judges; waits until it has made one.
    fn own_account(&self) -> Account {
        let file = self.network.state().join("workers/1/judge.json");
        let said = || String::from_utf8_lossy(&self.network.read("worker-1.log")).contains("is an auditor now");
        wait("the machine enrols its account", || said().then_some(()));
        wallet::own(&file).expect("an account")
    }
}

fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it takes too long: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn an_auditor_is_kept_present_comes_back_and_leaves_with_its_machine() {
    let court = Court::start();
    let mut machine = Machine::start(&court.network);
    let own = court.own_account();
    let until = court.enrolled(&own);
    court.renewed(&own, until);
    // As if somebody had evicted it.
    court.send(&own, &court.market.resign());
    assert_eq!(court.present_until(&own), None);
    court.enrolled(&own);
    let (took, well) = machine.stop();
    assert!(well && took < STOP_TIME_MAX, "{took:?}");
    assert_eq!(court.present_until(&own), None, "nobody waits for its vote");
}

#[test]
fn a_provider_that_its_owner_enrolled_is_kept_present_and_stays_on_the_list() {
    let court = Court::start();
    let mut machine = Machine::start(&court.network);
    court.own_account();
    let file = court.network.state().join("workers/1/wallet.json");
    let provider = wallet::own(&file).expect("the worker has made it");
    assert_eq!(court.present_until(&provider), None, "nobody enrols it unasked");
    let wallet = file.display().to_string();
    let on = ["stake", "auditor", "on", "--yes", "--wallet", &wallet];
    court.network.run(&on).succeeded();
    let until = court.enrolled(&provider);
    let again = court.network.run(&on).succeeded();
    assert!(again.stderr.contains("is an auditor already, and counts as present for another "), "{again:?}");
    court.renewed(&provider, until);
    machine.stop();
    assert!(court.present_until(&provider).is_some(), "its owner enrolled it, and it lapses by itself");
}

#[test]
fn a_machine_whose_hub_is_gone_stops_as_fast() {
    let mut court = Court::start();
    let mut machine = Machine::start(&court.network);
    court.own_account();
    court.network.kill_hub();
    let (took, _) = machine.stop();
    assert!(took < STOP_TIME_MAX, "{took:?}");
}
