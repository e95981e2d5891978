use gleaner_core::plan::{Error, Graph, plan};
use gleaner_wire::job_file::JobFile;
use gleaner_wire::render::steps;
use gleaner_wire::{Extent, InputSpec, Runtime, Stage, Work};

const PROJECT: &str = "data:83d9dab06011479163c7c4d5fa735f911bac86729f56aaa115b7eed2eb66e022:1:1";

fn read(task: &str, blender: &str) -> JobFile {
    let text = format!(
        "name = \"job\"\n[[task]]\nname = \"shot\"\nruntime = \"blender\"\nprogram = \"{PROJECT}\"\n{task}\n\
         [task.blender]\n{blender}\n"
    );
    JobFile::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn try_plan(task: &str, blender: &str) -> Result<Graph, Error> {
    let mut file = read(task, blender);
    steps(&mut file);
    plan(&file)
}

fn planned(blender: &str) -> Graph {
    try_plan("", blender).unwrap_or_else(|error| panic!("{}: {error}", error.at))
}

fn refused(task: &str, blender: &str) -> String {
    try_plan(task, blender).expect_err("refused").at
}

fn values(extent: &Extent) -> Vec<u64> {
    (0..extent.count() as u32).map(|index| extent.value(index)).collect()
}

#[test]
fn a_rendering_is_planned_in_its_steps() {
    let graph = planned("frames = \"1-3\"\nsplit = { tiles = [2, 1], samples = 2 }\nvideo = \"webm\"");
    let steps: Vec<_> =
        graph.groups.iter().map(|group| (group.spec.name.as_str(), group.spec.extent.count())).collect();
    assert_eq!(steps, [("shot.look", 1), ("shot.pieces", 12), ("shot", 3), ("shot.film", 1)]);
    assert!(graph.groups.iter().all(|group| group.needs.runtime == Runtime::Blender));
    let stage = |at: usize| {
        let Work::Blender { stage, .. } = &graph.groups[at].spec.work else { panic!("a rendering") };
        stage
    };
    assert!(matches!(stage(0), Stage::Look { .. }));
    assert!(matches!(stage(1), Stage::Pieces { .. }));
    assert!(matches!(stage(2), Stage::Frames { .. }));
    assert!(matches!(stage(3), Stage::Film { .. }));
    let inputs = &graph.groups[2].spec.inputs;
    assert!(matches!(inputs[0], InputSpec::Output { group: 0, .. }));
    assert!(matches!(inputs[1], InputSpec::Share { group: 1, per: 4, .. }));
    assert!(matches!(graph.groups[3].spec.inputs[1], InputSpec::Gather { group: 2, .. }));
}

#[test]
fn frames_keep_their_own_numbers_where_those_are_a_range() {
    let frames = |text: &str| values(&planned(&format!("frames = \"{text}\"")).groups[1].spec.extent);
    assert_eq!(frames("1-3"), [1, 2, 3]);
    assert_eq!(frames("10-14x2"), [10, 12, 14]);
    assert_eq!(frames("0,5"), [0, 5]);
    assert_eq!(frames("3,7,20"), [0, 1, 2], "by their places");
    assert_eq!(frames("-2-1"), [0, 1, 2, 3], "by their places");
    assert_eq!(planned("frames = \"7\"").groups[1].spec.extent, Extent::Single);
}

#[test]
fn a_single_frame_in_pieces_is_one_picture_of_them() {
    let graph = planned("frames = \"7\"\nsplit = { tiles = [2, 2] }");
    let counts: Vec<_> = graph.groups.iter().map(|group| group.spec.extent.count()).collect();
    assert_eq!(counts, [1, 4, 1]);
    assert!(matches!(graph.groups[2].spec.inputs[1], InputSpec::Share { per: 4, .. }));
}

#[test]
fn the_path_of_a_scene_stays_within_its_folder() {
    planned("scene = \"shots/one/a.blend\"\nframes = \"1\"");
    for path in ["/etc/passwd", "../a.blend", "a/../../b", "a//b", "a\\\\b", ""] {
        let at = refused("", &format!("scene = \"{path}\"\nframes = \"1\""));
        assert_eq!(at, "task[0].blender.scene", "{path}");
    }
}

#[test]
fn a_rendering_has_frames_and_no_other_elements() {
    assert!(refused("", "").ends_with(".blender.frames"));
    assert_eq!(refused("each = \"1..3\"", "frames = \"1-3\""), "task[0].blender.frames");
    let tiles = "tiles = { width = 8, height = 8, tile_width = 4, tile_height = 4 }";
    assert_eq!(refused(tiles, "frames = \"1-3\""), "task[0].blender.frames");
    assert_eq!(refused("sweep = { a = [\"1\", \"2\"] }", "frames = \"1-3\""), "task[0].sweep");
}

#[test]
fn settings_of_other_runtimes_are_refused() {
    assert_eq!(refused("args = [\"x\"]", "frames = \"1\""), "task[0].args");
    assert_eq!(refused("kernel = { passes = 2 }", "frames = \"1\""), "task[0].kernel");
    assert_eq!(refused("container = { gpus = 1 }", "frames = \"1\""), "task[0].container");
}

#[test]
fn too_many_pieces_are_refused() {
    assert_eq!(planned("frames = \"1\"\nsplit = { tiles = [64, 64] }").tasks(), 4098);
    for split in ["{ tiles = [64, 65] }", "{ tiles = [64, 64], samples = 2 }", "{ samples = 4294967295 }"] {
        assert_eq!(refused("", &format!("frames = \"1\"\nsplit = {split}")), "task[0].blender.split", "{split}");
    }
    let many = "frames = \"1-100000\"\nsplit = { tiles = [64, 64] }";
    assert!(try_plan("", many).expect_err("refused").to_string().contains("the limit is"));
}

#[test]
fn a_rendering_that_was_not_made_into_steps_says_so() {
    let error = plan(&read("", "frames = \"1-3\"")).expect_err("refused");
    assert_eq!(error.at, "task[0].blender");
    assert!(error.to_string().contains("steps"), "{error}");
}
