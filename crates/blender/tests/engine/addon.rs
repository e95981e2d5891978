//! The add-on, in a real Blender without a window, and the job folder that it makes.
use gleaner_blender::plan::{Frames, Split};
use gleaner_blender::scene::inspect;
use serde_json::Value;
use std::path::{Path, PathBuf};

use crate::stage::{Stage, TIME_MAX, debian, run_script};

fn result(stage: &Stage) -> Value {
    let addons = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/blender");
    let request = format!(r#"{{"scene":{:?},"addons":{addons:?}}}"#, stage.blend());
    let lines = run_script(&stage.launch, "addon.py", &[], &request);
    let line = lines.iter().find_map(|line| line.strip_prefix("RESULT")).expect("a result");
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn the_addon_draws_its_panel_and_makes_a_job_that_stands_alone() {
    let stage = Stage::new(&debian(), "");
    let told = result(&stage);
    let drawn: Vec<&str> = told["drawn"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(drawn, ["what", "split", "picture", "video", "price_max", "gleaner.quote", "gleaner.render"]);
    assert!(told["drawn_with_tiles"].as_array().expect("a list").contains(&"columns".into()));

    let task = &told["job"]["task"][0];
    assert_eq!(task["runtime"], "blender");
    let blender = &task["blender"];
    let frames: Frames = serde_json::from_value(blender["frames"].clone()).expect("frames");
    assert_eq!(frames.count(), 10);
    let split: Split = serde_json::from_value(blender["split"].clone()).expect("a split");
    assert_eq!(split.tiles.map(|side| side.get()), [2, 2]);
    assert_eq!((&blender["format"], &blender["video"]), (&"png".into(), &"mp4".into()));

    let folder = PathBuf::from(told["folder"].as_str().expect("a folder"));
    let files = folder.join(task["input"][0]["folder"].as_str().expect("a folder"));
    let copy = files.join(blender["scene"].as_str().expect("a scene"));
    let scene = inspect(&stage.launch, &copy, None, TIME_MAX).expect("a scene");
    assert_eq!(scene.problems(&files), [], "the absolute path has become a relative one, and all files are there");
    assert_eq!(scene.files.len(), 2);
    std::fs::remove_dir_all(folder).expect("removes");

    assert_eq!(told["kept"], true, "the open scene is as it was");
    assert!(told["missing_program"].as_str().expect("an error").contains("/nonexistent/gleaner is not there"));
    let missing = told["missing_file"].as_str().expect("a problem");
    assert!(missing.contains("checks.png (used by object Floor) is missing"), "{missing}");
    assert_eq!((&told["shown"], &told["left"]), (&true.into(), &false.into()));
}
