//! A made-up hub with its workers, for tests and measurements: it makes receipts of every kind that hold.
use std::collections::BTreeMap;

use ed25519_dalek::SigningKey;
use gleaner_chain::Account;
use gleaner_chain::beacon::{self, Found};
use gleaner_chain::order::{Domain, Order as ChainOrder};
use gleaner_chain::primitives::keccak256;
use gleaner_chain::sender::{Call, Sender};
use gleaner_core::proof::{self, LIE};
use gleaner_wire::check::Compared;
use gleaner_wire::commit::Tree;
use gleaner_wire::market::Market;
use gleaner_wire::receipt::{
    Answer, Audit, Bytes, Claim, Commitment, Juror, Ordered, Owned, Placement, Poll, Record, Referee, Round, Seed,
    Side, TaskReceipt, Verdict, claim_hash,
};
use gleaner_wire::{
    Address, Amount, AttemptId, Check, DeviceKind, Hash, JobId, Micros, Millis, Order, Runtime, SignedOrder, TaskId,
    WorkerKey,
};

use crate::filed::SignedBatch;
use crate::make::{Lot, Parts, make};
use crate::reckon;
use crate::sign::{ordered, ownership, public, sign_batch};

/// What was learned to be tolerated between results that come close.
const TOLERATED: u64 = 3_200_000;

/// What becomes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The lot does not fall on it.
    NotDrawn,
    /// One juror does not answer, the next agrees.
    Agreed,
    /// A juror lies, and the vote is for the claim.
    Upheld,
    /// The worker lies with a friend among the jurors, and the vote is against it.
    Refuted,
    /// The worker lies, the first juror lies in another way, and the vote is against both.
    TwoLies,
    /// The worker lies, there are a few jurors only, and a referee says so.
    Refereed,
    /// The same, where the first juror lies in another way: another one has to confirm the referee.
    Confirmed,
    /// The worker lies, there are two jurors only, and no referee.
    Undecided,
    /// Everybody computes something else.
    NotRepeatable,
    /// Nobody else is there.
    NobodyToCheck,
    /// Nobody else has such a device, and others that do the task could be checked.
    Alone,
    /// The job asks for no check.
    NotAsked,
    /// The job ends before the draw.
    JobEnded,
    /// Jurors come close to the claim, and the task tolerates that.
    Close,
    /// All jurors' pictures are a little further from the claim's than is tolerated.
    Noise,
    /// All jurors' pictures have nothing in common with the claim's.
    Picture,
    /// One juror's picture has nothing in common with the claim's and all others'.
    JurorsPicture,
}

impl Case {
    /// Every case.
    pub const ALL: [Self; 17] = [
        Self::NotDrawn,
        Self::Agreed,
        Self::Upheld,
        Self::Refuted,
        Self::TwoLies,
        Self::Refereed,
        Self::Confirmed,
        Self::Undecided,
        Self::NotRepeatable,
        Self::NobodyToCheck,
        Self::Alone,
        Self::NotAsked,
        Self::JobEnded,
        Self::Close,
        Self::Noise,
        Self::Picture,
        Self::JurorsPicture,
    ];

    fn jurors(self) -> usize {
        match self {
            Self::NotDrawn | Self::NobodyToCheck | Self::Alone | Self::NotAsked | Self::JobEnded => 0,
            Self::Undecided => 2,
            Self::Refereed | Self::Confirmed | Self::NotRepeatable => 5,
            Self::Agreed | Self::Upheld | Self::Refuted | Self::TwoLies => 14,
            Self::Close | Self::Noise | Self::Picture | Self::JurorsPicture => 14,
        }
    }

    /// What the jurors answer, by their turn: 0 is the claim's own result.
    fn said(self, turn: usize) -> u8 {
        match (self, turn) {
            (Self::Upheld | Self::JurorsPicture, 0) => 1,
            (Self::Upheld | Self::JurorsPicture, _) => 0,
            (Self::Refuted, 4) => 0,
            (Self::TwoLies | Self::Confirmed, 0) => 2,
            (Self::Refuted | Self::TwoLies | Self::Refereed | Self::Confirmed | Self::Undecided, _) => 1,
            (Self::NotRepeatable, turn) => u8::try_from(turn).unwrap_or(u8::MAX - 1) + 1,
            (Self::Close | Self::Noise | Self::Picture, _) => 1,
            (_, _) => 0,
        }
    }

    fn check(self) -> Check {
        match self {
            Self::NotAsked => Check::None,
            Self::Close | Self::Noise | Self::Picture | Self::JurorsPicture => {
                Check::Image { pixel: 300, perceptual: 2_000, learned: true }
            }
            Self::NotDrawn
            | Self::Agreed
            | Self::Upheld
            | Self::Refuted
            | Self::TwoLies
            | Self::Refereed
            | Self::Confirmed
            | Self::Undecided
            | Self::NotRepeatable
            | Self::NobodyToCheck
            | Self::Alone
            | Self::JobEnded => Check::Exact,
        }
    }

    /// How it is left, if nobody judges it.
    fn left(self) -> Option<Verdict> {
        match self {
            Self::JobEnded => Some(Verdict::JobEnded),
            Self::Alone => Some(Verdict::Undecided),
            Self::NotDrawn
            | Self::Agreed
            | Self::Upheld
            | Self::Refuted
            | Self::TwoLies
            | Self::Refereed
            | Self::Confirmed
            | Self::Undecided
            | Self::NotRepeatable
            | Self::NobodyToCheck
            | Self::NotAsked
            | Self::Close
            | Self::Noise
            | Self::Picture
            | Self::JurorsPicture => None,
        }
    }

    fn runtime(self) -> Runtime {
        if self.check().learns() { Runtime::Blender } else { Runtime::Wasm }
    }

    /// What somebody finds who opens two pictures that are not the same.
    fn measured(self) -> Compared {
        match self {
            Self::Noise => Compared { agrees: false, distance: TOLERATED + 1 },
            Self::Picture | Self::JurorsPicture => Compared { agrees: false, distance: TOLERATED * LIE + 1 },
            Self::Close
            | Self::NotDrawn
            | Self::Agreed
            | Self::Upheld
            | Self::Refuted
            | Self::TwoLies
            | Self::Refereed
            | Self::Confirmed
            | Self::Undecided
            | Self::NotRepeatable
            | Self::NobodyToCheck
            | Self::Alone
            | Self::NotAsked
            | Self::JobEnded => Compared { agrees: true, distance: TOLERATED - 700_000 },
        }
    }
}

/// Gives the seed of a round, by its root.
pub type Draws = Box<dyn FnMut(Hash) -> (Seed, Hash)>;

/// A hub in the middle of a job.
pub struct World {
    /// The hub's key.
    pub hub: SigningKey,
    /// The order of the job, if there is a chain.
    pub order: Option<Ordered>,
    /// The batches that were signed, in their order.
    pub batches: Vec<SignedBatch>,
    /// The claims of the round that was drawn last.
    pub round: Vec<Hash>,
    draws: Draws,
    attempts: u64,
    receipts: u64,
    previous: Option<Hash>,
    sum: Amount,
}

/// The account of the hub that makes up receipts.
pub fn hub_account() -> Account {
    Account::from_words("the hub of made-up receipts")
}

/// Anchors a root on a chain by the hub's account, and waits for the block after: how a [`World`] there draws its seeds.
pub async fn anchored(sender: &Sender, root: Hash) -> (Seed, Hash) {
    let hub = hub_account();
    let receipt = sender.send(&hub, &beacon::call(hub.address(), root)).await.expect("anchored");
    let block = sender.node.sealed_block(receipt.block_number).await.expect("read").expect("a block");
    let transaction = keccak256(&block.transactions[0]);
    sender.send(&hub, &Call { to: hub.address(), data: Default::default() }).await.expect("sent");
    match beacon::fetch(&sender.node, transaction, root, 0).await.expect("asked") {
        Found::Beacon(found) => (Seed::Chain(Bytes(gleaner_wire::encode(&*found))), found.seed),
        other => panic!("both blocks are there: {other:?}"),
    }
}

/// The account that owns one of its workers.
pub fn owner(worker: &WorkerKey) -> Account {
    Account::from_words(&format!("the owner of {worker}"))
}

/// A made-up Stake contract.
const STAKE: Address = Address([0x5A; 20]);

/// The chain that its orders are for.
pub fn domain(chain_id: u64) -> Domain {
    Domain { chain_id, escrow: [0xE5; 20].into() }
}

impl World {
    /// A hub without a chain, which draws seeds itself.
    pub fn new() -> Self {
        let draws: Draws = Box::new(|root| (Seed::Hub, Hash::of(&root.0)));
        let hub = key("hub");
        let (batches, round) = (Vec::new(), Vec::new());
        Self { hub, order: None, batches, round, draws, attempts: 0, receipts: 0, previous: None, sum: Amount::ZERO }
    }

    /// A hub with a chain, and how it draws seeds. Its contracts are made up.
    pub fn on_chain(chain_id: u64, draws: Draws) -> Self {
        Self::on_contracts(&domain(chain_id), STAKE, draws)
    }

    /// The same with contracts that are there.
    pub fn on_contracts(domain: &Domain, stake: Address, draws: Draws) -> Self {
        let requester = Account::from_words("the requester of made-up receipts");
        let order = Order {
            requester: Address(requester.address().into_array()),
            hub: Address(hub_account().address().into_array()),
            job: job(),
            cap: Amount::gln(10_000),
            bond: Amount::gln(1),
            deadline: 1_900_000_000,
            policy: Hash([0; 32]),
            nonce: 7,
        };
        let signature = ChainOrder::from(&order).sign(domain, &requester).to_vec();
        let order = Some(ordered(SignedOrder { order, signature }, domain, stake));
        Self { order, draws, ..Self::new() }
    }

    /// The next receipt of the job.
    pub fn receipt(&mut self, case: Case) -> TaskReceipt {
        let worker = key("worker");
        let record = match case {
            // Nothing unpaid but this task, a stake that speaks for it, and a good name: the lot falls on few.
            Case::NotDrawn => Record { good: 10_000, bad: 0, loses: Amount::gln(500), exposure: Amount::gln(1) },
            _ => Record { good: 0, bad: 0, loses: Amount::gln(5), exposure: Amount::gln(1) },
        };
        let (commitment, lot) = loop {
            let commitment = self.commit(&worker, 0);
            let lot = self.draw(&commitment.claim, record);
            let drawn = proof::is_selected(&lot.seed, &claim_hash(&commitment.claim), reckon::rate(&record));
            if drawn != (case == Case::NotDrawn) {
                break (commitment, lot);
            }
        };
        let audit = (case.jurors() > 0).then(|| self.audit(case, &commitment.claim, &lot.seed));
        let lot = (!matches!(case, Case::NotAsked | Case::JobEnded)).then_some(lot);
        let audit_keys = audit.iter().flat_map(|audit| audit.jurors.iter().map(|juror| juror.key));
        let placement = placement(case, &worker, self.order.is_some());
        let owned = reckon::owned(&placement, audit.as_ref());
        let parts = Parts {
            order: self.order.clone(),
            job: job(),
            number: self.receipts,
            previous: self.previous,
            placement,
            owners: owned.into_iter().map(|(worker, _)| self.owned(worker)).collect(),
            placed: Millis(1_800_000_000_000),
            finished: Millis(1_800_000_003_000),
            hold: Amount(900_000_000),
            bond: Amount::ZERO,
            share_points: 1500,
            sum_before: self.sum,
            stakes: audit_keys.chain([public(&worker)]).map(|key| (key, Amount::gln(5))).collect(),
            commitment,
            check: case.check(),
            lot,
            audit,
            left: case.left(),
            blames: true,
        };
        let receipt = make(parts, &self.hub);
        self.receipts += 1;
        (self.previous, self.sum) = (Some(receipt.hash), receipt.facts.price.sum_after);
        receipt
    }

    /// The word of a worker's owner.
    pub fn owned(&self, worker: WorkerKey) -> Owned {
        let (order, account) = (self.order.as_ref().expect("without a chain nobody has an owner"), owner(&worker));
        let statement = ownership(order, worker, Address(account.address().into_array()));
        Owned { worker, signature: Bytes(statement.sign(&account).to_vec()) }
    }

    /// A worker's claim of a result, in a batch with others of its own.
    fn commit(&mut self, worker: &SigningKey, said: u8) -> Commitment {
        let task = TaskId { job: JobId(1), group: 0, index: u32::try_from(self.receipts).unwrap_or(u32::MAX) };
        let claims: Vec<Claim> = (0..3_u32)
            .map(|beside| {
                self.attempts += 1;
                let task = TaskId { index: task.index + 1000 * (beside ^ 1), ..task };
                let result = Hash::of(&[said, u8::try_from(beside).unwrap_or_default()]);
                Claim { attempt: AttemptId(self.attempts), task, output: Some(result), ran: Micros(2_500_001) }
            })
            .collect();
        let batch = sign_batch(&claims, &public(&self.hub), worker).swap_remove(1);
        let leaves = claims.iter().map(claim_hash).collect();
        self.batches.push(SignedBatch { claims: leaves, signature: batch.signature });
        Commitment { claim: claims[1], batch }
    }

    /// The draw of a round in which a claim is the third of five.
    fn draw(&mut self, claim: &Claim, record: Record) -> Lot {
        let mut claims: Vec<Hash> = (0..5_u8).map(|number| Hash::of(&[number])).collect();
        claims[2] = claim_hash(claim);
        self.round.clone_from(&claims);
        let tree = Tree::of(claims);
        let path = tree.path(2).expect("it is the third");
        let round = Round { number: self.receipts + 1, root: tree.root(), count: 5, place: 2, path };
        let (source, seed) = (self.draws)(round.root);
        Lot { round, source, seed, record }
    }

    fn audit(&mut self, case: Case, claim: &Claim, seed: &Hash) -> Audit {
        let keys: Vec<SigningKey> = (0..case.jurors()).map(|number| key(&format!("juror {number}"))).collect();
        let mut jurors: Vec<Juror> =
            (1..).zip(&keys).map(|(weight, key)| juror(key, weight, self.order.is_some())).collect();
        let hash = claim_hash(claim);
        let lots = |jurors: &[Juror], number| {
            let order = proof::auditors(seed, &hash, number, &reckon::candidates(jurors), jurors.len());
            order.into_iter().filter(|at| !jurors[*at].gone).collect::<Vec<usize>>()
        };
        if case == Case::Agreed {
            let silent = lots(&jurors, 0)[0];
            jurors[silent].gone = true;
        }
        let (polls, rivals, referees) = (Vec::new(), Vec::new(), Vec::new());
        let mut audit = Audit { jurors, answers: Vec::new(), sample: 0, polls, rivals, referees };
        let mut answers = BTreeMap::new();
        let first = lots(&audit.jurors, 0)[0];
        self.ask(case, claim, &mut audit, &mut answers, &keys, &[first]);
        if !reckon::agrees(&audit.answers[0]) {
            audit.sample = *reckon::samples(&audit.jurors).end();
        }
        let referee = key("referee");
        let is_refereed = matches!(case, Case::Refereed | Case::Confirmed);
        let has_chain = self.order.is_some();
        let asked = |key| Referee { key, provider: has_chain.then(|| provider(&key)) };
        audit.referees.extend(is_refereed.then(|| asked(public(&referee))));
        while audit.sample > 0 && reckon::vote(&audit).0 == proof::Step::Again {
            let mut drawn = lots(&audit.jurors, u32::try_from(audit.polls.len()).unwrap_or(u32::MAX));
            drawn.truncate(audit.sample as usize);
            self.ask(case, claim, &mut audit, &mut answers, &keys, &drawn);
        }
        if is_refereed {
            let commitment = self.commit(&referee, 1);
            take(case, claim, &mut audit, public(&referee), commitment);
        }
        if case == Case::Confirmed {
            let next = lots(&audit.jurors, proof::REFEREE_LOT).into_iter().find(|at| !answers.contains_key(at));
            let confirmer = &keys[next.expect("one of five has answered")];
            let commitment = self.commit(confirmer, 1);
            audit.referees.push(asked(public(confirmer)));
            take(case, claim, &mut audit, public(confirmer), commitment);
        }
        audit
    }

    /// One poll: whoever is drawn answers, if it has not yet.
    fn ask(
        &mut self,
        case: Case,
        claim: &Claim,
        audit: &mut Audit,
        answers: &mut BTreeMap<usize, usize>,
        keys: &[SigningKey],
        drawn: &[usize],
    ) {
        let names: Vec<WorkerKey> = drawn.iter().map(|at| public(&keys[*at])).collect();
        // The first answer is known before others are compared with it.
        audit.polls.push(Poll { drawn: names, votes: Vec::new() });
        for at in drawn {
            let turn = answers.len();
            if answers.insert(*at, turn).is_none() {
                let commitment = self.commit(&keys[*at], case.said(turn));
                take(case, claim, audit, public(&keys[*at]), commitment);
            }
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes an answer into an audit, on the side of whoever said the same first.
fn take(case: Case, claim: &Claim, audit: &mut Audit, auditor: WorkerKey, commitment: Commitment) {
    let theirs = &commitment.claim;
    let compared = reckon::compared(case.check(), claim, theirs).unwrap_or(case.measured());
    let said = |rival: &WorkerKey| reckon::answer_of(audit, rival).map(|answer| answer.commitment.claim);
    let alike = |rival: &WorkerKey| said(rival).is_some_and(|said| reckon::is_identical(&said, theirs));
    let place = audit.rivals.iter().position(alike);
    let side = match place {
        _ if compared.agrees => Side::Claim,
        Some(place) => Side::at(place + 1),
        None => {
            audit.rivals.push(auditor);
            Side::at(audit.rivals.len())
        }
    };
    let tolerated = if case.check().learns() { TOLERATED } else { Compared::TOLERATED };
    let distance = compared.distance;
    audit.answers.push(Answer { auditor, commitment, side, distance, tolerated });
}

fn provider(worker: &WorkerKey) -> Address {
    Address(owner(worker).address().into_array())
}

fn placement(case: Case, worker: &SigningKey, has_chain: bool) -> Placement {
    let worker = public(worker);
    Placement {
        worker,
        provider: has_chain.then(|| provider(&worker)),
        runtime: case.runtime(),
        resumed: false,
        device: DeviceKind::Nvidia,
        class: "nvidia-wgsl-20GiB".into(),
        per_second: Amount(300_000_000),
        market: Market::default(),
        why: "the cheapest of 3 that fit".into(),
    }
}

fn juror(key: &SigningKey, weight: u64, has_chain: bool) -> Juror {
    let key = public(key);
    Juror { key, provider: has_chain.then(|| provider(&key)), weight: weight * 1000, gone: false }
}

fn key(name: &str) -> SigningKey {
    SigningKey::from_bytes(&Hash::of(name.as_bytes()).0)
}

fn job() -> Hash {
    Hash::of(b"the job file")
}
