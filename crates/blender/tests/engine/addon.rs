//! The add-on, in a real Blender without a window, and the job folder that it makes.
use gleaner_blender::plan::{Format, Source, Video};
use gleaner_blender::scene::inspect;
use gleaner_wire::Runtime;
use gleaner_wire::job_file::JobFile;
use serde_json::{Value, json};
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

    let job: JobFile = serde_json::from_value(told["job"].clone()).expect("a job file");
    let task = &job.tasks[0];
    assert_eq!(task.runtime, Runtime::Blender);
    let blender = &task.blender;
    assert_eq!(blender.frames.as_ref().map(|frames| frames.count()), Some(10));
    assert_eq!(blender.split.tiles.map(|side| side.get()), [2, 2]);
    assert_eq!((blender.format, blender.video), (Format::Png, Some(Video::Mp4)));

    let folder = PathBuf::from(told["folder"].as_str().expect("a folder"));
    let files = folder.join(task.program.as_ref().expect("a folder").to_string());
    let copy = Source::plain(blender.scene.as_deref().expect("a scene"));
    let scene = inspect(&stage.launch, &files, &copy, TIME_MAX).expect("a scene");
    assert_eq!(scene.problems(&files), [], "the absolute path has become a relative one, and all files are there");
    assert_eq!(scene.files.len(), 2);
    std::fs::remove_dir_all(folder).expect("removes");

    assert_eq!(told["kept"], true, "the open scene is as it was");
    assert!(told["missing_program"].as_str().expect("an error").contains("/nonexistent/gleaner is not there"));
    assert_eq!(told["failed_quote"], json!([true, false, null, "", true, false]));
    assert_eq!(told["calls"], json!([{"price": "1 GLN"}, "sending\n", false, false, true, null, true]));
    assert_eq!(told["pictures"], json!(["-000003.png", "000002.png", "000010.png"]));
    let missing = told["missing_file"].as_str().expect("a problem");
    assert!(missing.contains("checks.png (used by object Floor) is missing"), "{missing}");
    assert_eq!((&told["shown"], &told["left"]), (&true.into(), &false.into()));
}
