use crate::network::{Network, array, job, offer, task};
use gleaner_core::TooManyKinds;
use gleaner_core::plan::plan;
use gleaner_wire::api::QuoteView;
use gleaner_wire::job_file::{JobFile, NeedsFile, Prefer, TaskFile};
use gleaner_wire::{Amount, ByteSize};

fn quote(network: &Network, file: &JobFile) -> QuoteView {
    network.core.quote(network.now, plan(file).expect("it makes sense")).expect("it is quoted")
}

fn needing(name: &str, needs: NeedsFile) -> TaskFile {
    TaskFile { needs, ..task(name) }
}

#[test]
fn what_never_ran_has_a_cap_and_no_price() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    let mut file = job(vec![array("a", 20)]);
    let view = quote(&network, &file);
    assert_eq!((view.tasks, view.expected, view.cap, view.rests_on), (20, None, Amount::gln(10), 0));
    assert_eq!((view.groups[0].workers, view.groups[0].each_micros, view.time_ms), (1, None, None));
    file.budget.price_max = None;
    assert_eq!(quote(&network, &file).cap, Amount::gln(1), "the hub's own cap, where a job has none");
}

#[test]
fn what_has_run_is_quoted_at_about_what_it_cost() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 1_000_000));
    let file = job(vec![array("a", 20)]);
    let id = network.submit("ada", &file);
    network.run_all(500);
    let paid = network.core.job_summary(id).expect("it is there").spent;
    let view = quote(&network, &file);
    let expected = view.expected.expect("it ran before");
    assert!(expected.0.abs_diff(paid.0) < paid.0 / 8, "{expected} for {paid}");
    assert_eq!((view.rests_on, view.groups[0].rests_on), (20, 20));
    let time = view.time_ms.expect("known").0;
    assert!((9_000..12_000).contains(&time), "{time}: one after the other on the one slot");
}

#[test]
fn one_task_that_nobody_knows_leaves_the_whole_job_without_a_price() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.run_all(500);
    let view = quote(&network, &job(vec![task("a"), task("new")]));
    assert!(view.groups[0].expected.is_some() && view.groups[1].expected.is_none());
    assert_eq!((view.expected, view.time_ms, view.rests_on), (None, None, 0));
}

#[test]
fn only_seats_that_fit_are_asked() {
    let mut network = Network::new();
    let mut small = offer("small", 1000, 10);
    small.devices[0].memory = ByteSize::mib(1024);
    network.join(small);
    network.join(offer("large", 1000, 70));
    let asked = |view: &QuoteView| view.groups[0].per_second.map(|asked| (asked.lowest.0, asked.median.0));
    let of_memory = |mib: u64| NeedsFile { memory: Some(ByteSize::mib(mib)), ..NeedsFile::default() };
    let both = quote(&network, &job(vec![needing("a", of_memory(512))]));
    assert_eq!((asked(&both), both.groups[0].workers), (Some((10, 10)), 2));
    let one = quote(&network, &job(vec![needing("a", of_memory(2048))]));
    assert_eq!((asked(&one), one.groups[0].workers), (Some((70, 70)), 1));
    let nobody = NeedsFile { region: Some("atlantis".into()), ..NeedsFile::default() };
    let none = quote(&network, &job(vec![needing("a", nobody)]));
    assert_eq!((asked(&none), none.groups[0].workers), (None, 0));
    let codes: Vec<_> = none.groups[0].reasons.iter().map(|reason| (reason.code.as_str(), reason.devices)).collect();
    assert_eq!(codes, [("other_region", Some(2))]);
}

#[test]
fn what_matters_more_decides_whose_price_counts() {
    let mut network = Network::new();
    network.join(offer("slow", 1000, 10_000));
    network.join(offer("fast", 8000, 1_000_000));
    network.submit("ada", &job(vec![array("a", 4)]));
    network.run_all(1000);
    let expected = |prefer| {
        let view = quote(&network, &JobFile { prefer, ..job(vec![task("a")]) });
        (view.expected.expect("known"), view.time_ms.expect("known"))
    };
    let ((cheap, later), (dear, sooner)) = (expected(Prefer::Cheap), expected(Prefer::Fast));
    assert!(cheap < dear && later > sooner, "{cheap} in {later:?}, {dear} in {sooner:?}");
}

#[test]
fn busy_workers_have_a_price_and_say_why_they_wait() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    network.submit("ada", &job(vec![task("a")]));
    network.run_all(1000);
    network.submit("ada", &job(vec![task("a")]));
    let view = quote(&network, &job(vec![task("a")]));
    assert!(view.expected.is_some());
    assert_eq!((view.groups[0].workers, view.groups[0].reasons[0].code.as_str()), (0, "busy"));
    assert!(view.time_ms.expect("known").0 >= 1800, "{view:?}: after what runs");
    assert_eq!(quote(&Network::new(), &job(vec![task("a")])).groups[0].reasons[0].code, "no_workers");
}

#[test]
fn a_quote_changes_nothing_and_has_an_end() {
    let mut network = Network::new();
    network.join(offer("a", 1000, 10));
    let before = network.core.snapshot();
    quote(&network, &job(vec![array("a", 1000)]));
    assert!(network.core.snapshot() == before);
    let kind = |mib: u64| {
        let memory = Some(ByteSize::mib(mib));
        needing(&format!("a{mib}"), NeedsFile { memory, ..NeedsFile::default() })
    };
    let many = job((1..=65).map(kind).collect());
    assert_eq!(network.core.quote(network.now, plan(&many).expect("it makes sense")), Err(TooManyKinds));
}
