//! `gleaner demo`, whole: on a Vulkan device, and where there is none.

use std::path::Path;

use crate::anvil::Anvil;
use crate::network::{Ended, gleaner};

/// What every demo says about money on a chain.
const MONEY: [&str; 5] = [
    "it had earned, in one transaction",
    "from 15 % to 12 %",
    "which came after the vote, the platform took",
    "The hub's books and the chain agree on 2 orders to the last unit.",
    "Before and after add up to the same",
];

/// What every demo says about the liar in its last act.
const LIAR: [&str; 3] = ["worker-7 lied", "its stake went from", "receipts of the job hold, the one of the lie too"];

fn demo(folder: &Path, args: &[&str], environment: &[(&str, &str)]) -> Ended {
    let mut command = gleaner();
    command.current_dir(folder).arg("demo").args(args).envs(environment.iter().copied());
    Ended::from(command.output().expect("it runs")).succeeded()
}

fn check_picture(folder: &Path) {
    let picture = std::fs::File::open(folder.join("gleaner-demo/picture.png")).expect("there is a picture");
    let mut reader = png::Decoder::new(std::io::BufReader::new(picture)).read_info().expect("it is a PNG");
    assert_eq!((reader.info().width, reader.info().height), (960, 540));
    let mut pixels = vec![0; 960 * 540 * 4];
    reader.next_frame(&mut pixels).expect("it is whole");
    let colours: std::collections::BTreeSet<&[u8]> = pixels.chunks_exact(4).collect();
    assert!(colours.len() > 10_000, "a picture of {} colours is no picture", colours.len());
}

/// Needs a Vulkan driver: `apt-get install mesa-vulkan-drivers` where there is no GPU.
#[test]
fn the_demo_renders_loses_a_worker_and_gets_the_same_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = demo(folder.path(), &[], &[]);
    assert!(!ended.stderr.contains("No Vulkan device"), "run `apt-get install mesa-vulkan-drivers`: {}", ended.stderr);
    for words in [
        "killed half-way",
        "worker left",
        "nobody pays",
        "1 worker alone",
        "Both pictures are equal, byte for byte.",
        "85.0 %",
        "15.0 %",
        "gleaner-demo/picture.png",
    ]
    .iter()
    .chain(&MONEY)
    .chain(&LIAR)
    {
        assert!(ended.stdout.contains(words), "{words} is missing:\n{}", ended.stdout);
    }
    check_picture(folder.path());
}

#[test]
fn without_a_vulkan_device_the_demo_says_so_and_uses_wasm() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent")];
    let ended = demo(folder.path(), &["--no-reference"], &none);
    assert!(ended.stderr.contains("No Vulkan device passed its test here"), "{}", ended.stderr);
    assert!(ended.stdout.contains("killed half-way"), "{}", ended.stdout);
    check_picture(folder.path());
}

#[test]
fn the_demo_runs_on_a_chain_of_others() {
    let (folder, anvil) = (tempfile::tempdir().expect("a folder"), Anvil::start(&[]));
    let ended = demo(folder.path(), &["--chain", &anvil.url()], &[]);
    for words in ["85.0 %", "15.0 %"].iter().chain(&MONEY).chain(&LIAR) {
        assert!(ended.stdout.contains(words), "{words} is missing:\n{}\n{}", ended.stdout, ended.stderr);
    }
    check_picture(folder.path());
}
