//! `gleaner receipt`: receipts are shown and checked without a hub, and what does not fit is said.
use std::path::Path;

use gleaner_receipt::sample::{Case, World};
use gleaner_wire::Amount;
use gleaner_wire::receipt::TaskReceipt;

use crate::network::{Ended, gleaner};
use crate::snapshots::{compare, transcript};

/// The receipts of a job: not drawn, agreed with, and refuted.
fn receipts() -> [TaskReceipt; 3] {
    let mut world = World::new();
    [Case::NotDrawn, Case::Agreed, Case::Refuted].map(|case| world.receipt(case))
}

fn write(folder: &Path, name: &str, receipts: &[TaskReceipt]) {
    let lines = receipts.iter().map(|receipt| serde_json::to_string(receipt).expect("plain data"));
    std::fs::write(folder.join(name), lines.collect::<Vec<_>>().join("\n")).expect("written");
}

#[test]
fn receipts_are_shown_and_checked_and_what_does_not_fit_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, three] = receipts();
    let mut altered = one.clone();
    altered.facts.payout.worker = Amount::gln(1);
    write(folder.path(), "job.jsonl", &[one.clone(), two, three.clone()]);
    write(folder.path(), "gap.jsonl", &[one, three.clone()]);
    write(folder.path(), "altered.json", &[altered]);
    write(folder.path(), "refuted.json", &[three]);
    let other = "11".repeat(32);
    for (name, code, args) in [
        ("receipt-verify", 0, &["receipt", "verify", "job.jsonl"][..]),
        ("receipt-verify-altered", 1, &["receipt", "verify", "altered.json"]),
        ("receipt-verify-gap", 1, &["receipt", "verify", "gap.jsonl"]),
        ("receipt-verify-hub-key", 1, &["receipt", "verify", "--hub-key", &other, "refuted.json"]),
        ("receipt-verify-none", 1, &["receipt", "verify", "nothing.json"]),
        ("receipt-show", 0, &["receipt", "show", "refuted.json"]),
    ] {
        let ended: Ended = gleaner().current_dir(folder.path()).args(args).output().expect("it runs").into();
        assert_eq!(ended.code, code, "{ended:?}");
        compare(name, &transcript(&args.join(" "), &ended));
    }
}

#[test]
fn a_check_can_be_read_by_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "job.jsonl", &receipts());
    let args = ["receipt", "verify", "--json", "job.jsonl"];
    let ended: Ended = gleaner().current_dir(folder.path()).args(args).output().expect("it runs").into();
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (&report[0]["holds"], &report[0]["receipts"], &report[0]["refuted"]),
        (&true.into(), &3.into(), &1.into())
    );
}
