//! Any job file that can be read is planned or refused with a place and a reason, never a panic.
use gleaner_core::plan::plan;
use gleaner_wire::TASKS_MAX;
use gleaner_wire::job_file::{JobFile, line_of};
use proptest::prelude::*;

const PROGRAM: &str = "data:83d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e022:1:1";

/// One `[[task]]` with values from the edges of what is allowed, and beyond.
fn task() -> impl Strategy<Value = String> {
    let number = prop_oneof![Just(0_u64), Just(1), Just(4), 2..70_000_u64, Just(u64::from(u32::MAX)), any::<u64>()];
    let name = prop_oneof!["[a-d]", Just("..".to_owned()), "[a-c/. é]{0,3}"];
    let from = "[a-e]";
    let numbers = prop::collection::vec(number, 12);
    (name, from, numbers, any::<[bool; 8]>()).prop_map(|(name, from, n, is)| {
        let runtime = ["wasm", "wgsl", "container", "blender"][usize::from(is[0]) + 2 * usize::from(is[7] && is[5])];
        let mut text = format!("[[task]]\nname = {name:?}\nruntime = \"{runtime}\"\nprogram = \"{PROGRAM}\"\n");
        if is[1] {
            text += &format!("each = \"{}..{} step {}\"\n", n[0], n[1], n[2] % 9);
        }
        if is[2] {
            let (width, height) = (n[3] % (1 << 32), n[4] % (1 << 32));
            let (tile_width, tile_height) = (n[5] % (1 << 32), n[6] % (1 << 32));
            text += &format!(
                "tiles = {{ width = {width}, height = {height}, tile_width = {tile_width}, tile_height = {tile_height} }}\n"
            );
        }
        if is[3] {
            text += &format!("needs = {{ memory = \"{}MiB\", score_min = {} }}\n", n[7], n[8] % (1 << 32));
        }
        if is[4] {
            let (passes, items) = (n[9] % (1 << 32), n[10] % (1 << 32));
            text += &format!("kernel = {{ passes = {passes}, items = {items}, output_bytes_per_item = {} }}\n", n[11] % 99_999);
        }
        if is[5] {
            text += &format!("time_max = \"{}s\"\n", n[0]);
        }
        if is[6] {
            let per = if is[1] { format!("per = {}\n", n[3] % 5) } else { String::new() };
            text += &format!("[[task.input]]\nname = \"in\"\nfrom = {from:?}\nsame_index = {}\n{per}", is[7]);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_job_is_planned_within_its_limits_or_refused_where_it_is_wrong(tasks in prop::collection::vec(task(), 0..5)) {
        let text = format!("name = \"job\"\n{}", tasks.concat());
        let Ok(file) = JobFile::from_toml(&text) else { return Ok(()) };
        match plan(&file) {
            Ok(graph) => prop_assert!((1..=TASKS_MAX).contains(&graph.tasks())),
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                prop_assert!(line_of(&text, &error.at).is_some(), "{} is nowhere in the file", error.at);
            }
        }
    }
}
