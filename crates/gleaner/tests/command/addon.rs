//! Blender's panel against a real network: what it shows is what the program says.
use std::process::Command;

use serde_json::{Value, json};

use crate::network::{Network, sources};
use crate::provider::make_scene;

/// Runs `addon.py` in a Blender without a window; returns what it tells.
fn in_blender(network: &Network) -> Value {
    let told = json!({
        "addons": sources().join("../../integrations/blender"),
        "scene": network.folder().join("scene.blend"),
        "program": env!("CARGO_BIN_EXE_gleaner"),
        "hub": network.url(),
        "token_file": network.folder().join("state/hub/api.token"),
    });
    let output = Command::new("blender")
        .args(["--background", "--factory-startup", "--python-exit-code", "1", "--python"])
        .arg(sources().join("tests/command/addon.py"))
        .args(["--", &told.to_string()])
        .env("XDG_DATA_HOME", network.folder().join("home"))
        .env("TMPDIR", network.folder())
        .env_remove("GLEANER_HUB")
        .env_remove("GLEANER_DIR")
        .output()
        .expect("Blender (Debian: apt install blender)");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let result = said.lines().find_map(|line| line.strip_prefix("RESULT"));
    let result = result.unwrap_or_else(|| panic!("it did not come to its end:\n{said}\n{errors}"));
    serde_json::from_str(result).expect("JSON")
}

#[test]
fn the_panel_quotes_renders_and_shows_the_picture() {
    let mut network = Network::start(0);
    let url = network.url();
    network.start_worker_with(&url, &["--no-gpu", "--cpu-slots", "2", "--no-containers"], &[]);
    network.wait_for_workers(1);
    make_scene(&network);
    let told = in_blender(&network);
    assert_eq!(
        told["quote"],
        json!({ "price": "0.5 GLN", "message": "nothing like it has run here yet: this is the most it can cost" })
    );
    let jobs = network.ask(async |client| client.jobs().await.expect("a list"));
    assert_eq!(jobs.len(), 1, "a quote is no job");
    let fractions: Vec<f64> = told["fractions"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert!(fractions.is_sorted() && fractions.last() == Some(&1.0), "{fractions:?}");
    assert_eq!(told["numbers"], json!([jobs[0].id.to_string()]), "it followed its own job");
    assert_eq!(told["picture"], json!([96, 54]));
    let message = told["message"].as_str().expect("text");
    assert!(message.starts_with("done: 1 picture in "), "{message}");
    assert!(message.contains(&jobs[0].spent.to_string()), "{message} says what was paid, {}", jobs[0].spent);
    let refused = told["refused"].as_str().expect("text");
    assert!(refused.contains("is not an amount"), "why a job is refused: {refused}");
    let lost = told["lost"].as_str().expect("text");
    assert!(lost.contains("no hub answers"), "why there is no answer: {lost}");
}
