//! What travels is pinned: a changed encoding must be a decision (and a new `PROTOCOL`), never an accident. What comes
//! from outside may be anything, and is decoded or refused, never a panic.
use std::num::NonZeroU32;

use gleaner_wire::job_file::{JobFile, line_of};
use gleaner_wire::machine::{DeviceReading, MachineReport, MachineSettings, PricePolicy};
use gleaner_wire::market::Tier;
use gleaner_wire::render::{DeviceChoice, Format, Renderer, Source, Split};
use gleaner_wire::{
    Address, Amount, AttemptId, AuctionId, BlobRef, ByteSize, Cause, Check, DecodeError, DeviceKind, DeviceOffer, Each,
    Extent, Finished, Hash, Held, Image, InputSpec, Invitation, JobId, Limits, MESSAGE_BYTES_MAX, Micros, Millis,
    Offer, OpenedBid, Outcome, Output, Runtime, RuntimeOffer, SealedBid, Signed, Stage, StartAttempt, Sweep, TaskId,
    TaskSpec, ToHub, ToWorker, Work, WorkerId, WorkerKey, decode, encode,
};
use proptest::prelude::*;

fn to_worker() -> Vec<(ToWorker, &'static str)> {
    let spec = TaskSpec {
        name: "t".into(),
        work: Work::Wasm { module: BlobRef::of(b"m").into(), args: vec!["{index}".into()] },
        extent: Extent::Array("1..3".parse().expect("a range")),
        inputs: vec![InputSpec::Gather { name: "in".into(), group: 0, extent: Extent::Single }],
        limits: Limits { time_ms: Millis(60_000), memory: 1 << 28, output: 1 << 26 },
        check: Check::Exact,
    };
    let start = StartAttempt {
        attempt: AttemptId(1 << 32 | 7),
        job: JobId(3),
        group: 1,
        index: 300,
        device: 0,
        time_ms: Millis(1000),
        outputs: vec![Output::inline(b"42").expect("short")],
        checkpoint: None,
        compare: None,
    };
    let compare = Some([Output::inline(b"42").expect("short"), Output::inline(b"7").expect("short")]);
    let compare = StartAttempt { compare, outputs: vec![], ..start };
    let saved = StartAttempt { checkpoint: Some(Output::File(BlobRef::of(b"o"))), outputs: vec![], ..start };
    vec![
        (ToWorker::Challenge { protocol: 2, nonce: [1; 32] }, CHALLENGE),
        (
            ToWorker::Welcome {
                worker: WorkerId(9),
                heartbeat_ms: Millis(10_000),
                token: "t".into(),
                hub: WorkerKey([7; 32]),
            },
            WELCOME,
        ),
        (ToWorker::Refused { reason: "no".into() }, "02026e6f"),
        (ToWorker::Spec { job: JobId(3), group: 1, spec }, SPEC),
        (ToWorker::Spec { job: JobId(3), group: 1, spec: container() }, CONTAINER),
        (ToWorker::Spec { job: JobId(3), group: 1, spec: rendering() }, RENDERING),
        (ToWorker::Start(vec![start]), "040187808080100301ac0200e80701000234320000"),
        (ToWorker::Start(vec![saved]), RESUMED),
        (ToWorker::Start(vec![compare]), "040187808080100301ac0200e80700000100023432000137"),
        (ToWorker::Cancel(vec![AttemptId(5)]), "050105"),
        (ToWorker::Acknowledge { batch: 300, earned: Amount(5) }, "06ac0205"),
        (ToWorker::Forget(JobId(3)), "0703"),
        (ToWorker::Paused(true), "0801"),
        (ToWorker::Screened { device: 1, runtime: Runtime::Blender, verdict: Ok(700) }, "09010300bc05"),
        (ToWorker::Screened { device: 0, runtime: Runtime::Wasm, verdict: Err("x".into()) }, "090000010178"),
        (ToWorker::Invite(vec![invitation()]), INVITE),
        (ToWorker::Reveal(vec![(AuctionId(300), 1)]), "0b01ac0201"),
        (ToWorker::Yield { attempt: AttemptId(5), by_ms: Millis(10_000) }, "0c05904e"),
        (ToWorker::Earned(Amount(300)), "0dac02"),
        (ToWorker::Set { number: 300, settings: settings() }, "0eac0201010a010532322d3037"),
        (ToWorker::Set { number: 1, settings: MachineSettings::default() }, "0e010000"),
    ]
}

fn settings() -> MachineSettings {
    MachineSettings { price: Some(PricePolicy::PerHour(Amount(10))), hours: Some("22-07".into()) }
}

fn machine() -> MachineReport {
    let device = DeviceReading {
        load_percent: Some(70),
        celsius: Some(-61),
        memory_used: Some(ByteSize(5)),
        milliwatts: Some(300),
        energy_per_hour: None,
    };
    let (price, hours, energy) = (PricePolicy::Market, String::new(), Some(Amount(7)));
    MachineReport { devices: vec![device], price, hours, energy, paired: true }
}

fn container() -> TaskSpec {
    let sweep = vec![Sweep { name: "lr".into(), values: vec!["1".into(), "2".into()] }];
    TaskSpec {
        name: "c".into(),
        work: Work::Container {
            image: Image::Registry { name: "r/n".into(), digest: Hash([9; 32]) },
            command: vec!["a".into()],
            env: vec![("K".into(), "V".into())],
            sweep,
            cards: 2,
            network: true,
            checkpoint_ms: Millis(60_000),
        },
        extent: Extent::Array(Each::first(2)),
        inputs: vec![InputSpec::Share { name: "p".into(), group: 1, extent: Extent::Single, per: 4 }],
        limits: Limits { time_ms: Millis(60_000), memory: 1 << 28, output: 1 << 26 },
        check: Check::Program { input: 1 },
    }
}

fn to_hub() -> Vec<(ToHub, &'static str)> {
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max: Some(65_535), engine: None }];
    let device = DeviceOffer {
        kind: DeviceKind::Software,
        name: "llvmpipe".into(),
        memory: ByteSize::mib(1),
        cards: 1,
        slots: 1,
        network: false,
        eevee: true,
        price_per_second: Amount(100),
        runtimes,
    };
    let offer =
        Offer { name: "w".into(), region: "eu".into(), provider: Some(Address([4; 20])), devices: vec![device] };
    let (key, signature) = (WorkerKey([2; 32]), vec![3; 64]);
    let done =
        Finished { attempt: AttemptId(5), ran: Micros(1500), outcome: Outcome::Done(Output::File(BlobRef::of(b"o"))) };
    let failed = Outcome::Failed { cause: Cause::TimeLimit, detail: "late".into() };
    let failed = Finished { attempt: AttemptId(6), ran: Micros(1), outcome: failed };
    let cancelled = Finished { attempt: AttemptId(7), ran: Micros(0), outcome: Outcome::Cancelled };
    let task = TaskId { job: JobId(3), group: 1, index: 300 };
    let signed = Signed { tasks: vec![task], signature: vec![9; 2] };
    let revealed = OpenedBid { auction: AuctionId(3), device: 1, price: Amount(300), nonce: [1; 32] };
    vec![
        (
            ToHub::Hello {
                protocol: 2,
                key,
                signature,
                offer,
                owner_proof: vec![7, 8],
                resting: vec![1],
                held: vec![AttemptId(5)],
            },
            HELLO,
        ),
        (ToHub::Heartbeat { held: vec![AttemptId(5)] }, "010105"),
        (ToHub::Finished { batch: 2, results: vec![done, failed, cancelled], signed }, FINISHED),
        (ToHub::Log { attempt: AttemptId(5), text: "hi".into() }, "0305026869"),
        (ToHub::Resting(vec![0, 2]), "04020002"),
        (ToHub::Saved { attempt: AttemptId(5), checkpoint: Output::inline(b"42").expect("short") }, "050500023432"),
        (ToHub::Leaving, "06"),
        (ToHub::Holds(vec![Held { root: Hash([1; 32]), bytes: 300 }]), HOLDS),
        (ToHub::Bids(vec![SealedBid { auction: AuctionId(3), device: 1, seal: Some(Hash([1; 32])) }]), BIDS),
        (ToHub::Bids(vec![SealedBid { auction: AuctionId(3), device: 1, seal: None }]), "0801030100"),
        (ToHub::Reveals(vec![revealed]), REVEALS),
        (ToHub::Prices(vec![Amount(100), Amount(300)]), "0a0264ac02"),
        (ToHub::Machine(machine()), "0b0101460179010501ac02000000010701"),
        (ToHub::Set { number: 300, answer: Err("no".into()) }, "0cac0201026e6f"),
    ]
}

fn invitation() -> Invitation {
    Invitation {
        auction: AuctionId(3),
        device: 1,
        job: JobId(3),
        task: "t".into(),
        lot: 2,
        runtime: Runtime::Wgsl,
        memory: ByteSize(300),
        time_ms: Millis(60_000),
        predicted: Some(Micros(1500)),
        standing: Amount(100),
        market: Amount(90),
        tier: Tier::Interruptible,
        within_ms: Millis(300),
    }
}

fn rendering() -> TaskSpec {
    let parts = |count| NonZeroU32::new(count).expect("not zero");
    TaskSpec {
        name: "b".into(),
        work: Work::Blender {
            project: BlobRef::of(b"m").into(),
            source: Source { engine: Some(Renderer::Cycles), ..Source::plain("s") },
            device: DeviceChoice::Cpu,
            stage: Stage::Pieces {
                frames: "1-3".parse().expect("frames"),
                split: Split { tiles: [parts(2), parts(1)], samples: parts(1) },
                format: Format::Png,
            },
        },
        extent: Extent::Array("1..3".parse().expect("a range")),
        inputs: vec![],
        limits: Limits { time_ms: Millis(60_000), memory: 1 << 28, output: 1 << 26 },
        check: Check::Image { pixel: 514, perceptual: 10_000, learned: true },
    }
}

const CHALLENGE: &str = "00020101010101010101010101010101010101010101010101010101010101010101";
const SPEC: &str = concat!(
    "03030101740083d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e022010101077b696e6465787d01",
    "010103010302696e0000e0d40380808080018080802001",
);
const CONTAINER: &str = concat!(
    "030301016302000372",
    "2f6e0909090909090909090909090909090909090909090909090909090909090909",
    "01016101014b015601026c72020131013202",
    "01e0d40301000102010401700100",
    "04e0d403808080800180808020",
    "0401",
);
const RENDERING: &str = concat!(
    "0303010162",
    "0383d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e0220101",
    "0173000100000001",
    "0103312d3302010100",
    "0101010300",
    "e0d403808080800180808020",
    "038204904e01",
);
const RESUMED: &str =
    "040187808080100301ac0200e80700010194aa73e5d53ded06f0dcc593d9fe8a33664d3695be88d9fba0b872938059f2130100";
const HELLO: &str = concat!(
    "0002020202020202020202020202020202020202020202020202020202020202020240030303030303030303030303030303",
    "0303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030301",
    "77026575010404040404040404040404040404040404040404010108",
    "6c6c766d7069706580804001010001640101e80701ffff030002070801010105",
);
const INVITE: &str = "0a0103010301740201ac02e0d40301dc0b645a02ac02";
const BIDS: &str = "08010301010101010101010101010101010101010101010101010101010101010101010101";
const REVEALS: &str = "09010301ac020101010101010101010101010101010101010101010101010101010101010101";
const HOLDS: &str = "07010101010101010101010101010101010101010101010101010101010101010101ac02";
const WELCOME: &str = concat!("0109904e0174", "0707070707070707070707070707070707070707070707070707070707070707");
const FINISHED: &str = concat!(
    "02020305dc0b000194aa73e5d53ded06f0dcc593d9fe8a33664d3695be88d9fba0b872938059f2130106010104046c617465",
    "070002",
    "010301ac02020909",
);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn messages_to_workers_are_encoded_as_pinned() {
    for (message, pinned) in to_worker() {
        assert_eq!(hex(&encode(&message)), pinned, "{message:?}");
        assert_eq!(decode(&encode(&message)), Ok(message));
    }
}

#[test]
fn messages_to_hubs_are_encoded_as_pinned() {
    for (message, pinned) in to_hub() {
        assert_eq!(hex(&encode(&message)), pinned, "{message:?}");
        assert_eq!(decode(&encode(&message)), Ok(message));
    }
}

#[test]
fn too_large_messages_and_trailing_bytes_are_refused() {
    let large = vec![0; MESSAGE_BYTES_MAX + 1];
    assert_eq!(decode::<ToHub>(&large), Err(DecodeError::TooLarge(MESSAGE_BYTES_MAX + 1)));
    let mut leaving = encode(&ToHub::Leaving);
    leaving.push(0);
    assert_eq!(decode::<ToHub>(&leaving), Err(DecodeError::Trailing(1)));
}

const JOB: &str = r#"
name = "sum"
prefer = "fast"
[budget]
price_max = "2 GLN"
time_max = "10m"
[needs]
memory = "1GiB"
[[task]]
name = "fork"
runtime = "wgsl"
program = "fork.wgsl"
tiles = { width = 64, height = 64, tile_width = 8, tile_height = 8 }
kernel = { passes = 3, values = [1, 2], loops_max = 4096 }
[[task]]
name = "join"
runtime = "wasm"
program = "join.wasm"
args = ["{index}"]
[[task.input]]
name = "parts"
from = "fork"
"#;

/// Changes a text at random places: what people and attackers send looks almost right.
fn altered(text: &'static str) -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), "[ -~\n]{0,12}", 0..8_usize);
    prop::collection::vec(edit, 1..6).prop_map(move |edits| {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, insert, remove) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + remove).min(chars.len());
            chars.splice(at..end, insert.chars());
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        if let Ok(message) = decode::<ToHub>(&bytes) {
            prop_assert_eq!(decode::<ToHub>(&encode(&message)), Ok(message));
        }
        if let Ok(message) = decode::<ToWorker>(&bytes) {
            prop_assert_eq!(decode::<ToWorker>(&encode(&message)), Ok(message));
        }
    }

    #[test]
    fn altered_messages_are_decoded_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>(), which in 0..8_usize) {
        let mut bytes = encode(&to_hub()[which].0);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode::<ToHub>(&bytes);
    }

    #[test]
    fn specifications_of_containers_read_back(
        texts in prop::collection::vec("\\PC{0,12}", 0..6), numbers in any::<(u16, u32, u64, bool)>(),
    ) {
        let (cards, per, time, network) = numbers;
        let text = |at: usize| texts.get(at).cloned().unwrap_or_default();
        let data = BlobRef::of(text(0).as_bytes()).into();
        let registry = Image::Registry { name: text(1), digest: Hash::of(text(0).as_bytes()) };
        let mut spec = container();
        spec.work = Work::Container {
            image: if network { registry } else { Image::Data(data) },
            command: texts.clone(),
            env: vec![(text(2), text(3))],
            sweep: vec![Sweep { name: text(4), values: texts.clone() }],
            cards,
            network,
            checkpoint_ms: Millis(time),
        };
        spec.inputs.push(InputSpec::Share { name: text(5), group: cards, extent: spec.extent, per });
        let message = ToWorker::Spec { job: JobId(time), group: cards, spec };
        prop_assert_eq!(decode::<ToWorker>(&encode(&message)), Ok(message));
    }

    #[test]
    fn any_text_is_a_job_file_or_refused_with_a_line_in_it(text in altered(JOB)) {
        match JobFile::from_toml(&text) {
            Ok(job) => {
                let plan_path = format!("task[{}].input[0].from", job.tasks.len());
                prop_assert!(line_of(&text, &plan_path).is_some());
            }
            Err(error) => {
                let lines = text.lines().count().max(1) + 1;
                if let gleaner_wire::job_file::JobFileError::Toml { line, reason } = &error {
                    prop_assert!((1..=lines).contains(line) && !reason.is_empty(), "{}", error);
                }
            }
        }
    }

    #[test]
    fn any_text_as_json_is_a_job_file_or_refused(text in "\\PC{0,200}") {
        let _ = JobFile::from_json(text.as_bytes());
    }
}
