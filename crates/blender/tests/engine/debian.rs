//! Debian's Blender.
use crate::stage::{Stage, TIME_MAX, debian};
use crate::{behaviour, sandbox};
use gleaner_blender::engine::Engine;
use gleaner_blender::plan::{Format, Video};
use gleaner_blender::video::encode;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn eevee_renders_whole_frames_without_a_display() {
    behaviour::eevee_renders_whole_frames_without_a_display(&debian());
}

#[test]
fn the_engine_says_what_it_is() {
    behaviour::the_engine_says_what_it_is(&debian());
}

#[test]
fn tiles_merge_bit_for_bit() {
    behaviour::tiles_merge_bit_for_bit(&debian());
}

#[test]
fn samples_merge_within_the_tolerance() {
    behaviour::samples_merge_within_the_tolerance(&debian());
}

#[test]
fn compositing_sees_the_whole_frame() {
    behaviour::compositing_sees_the_whole_frame(&debian());
}

#[test]
fn frames_are_rendered_one_by_one_and_repeatably() {
    behaviour::frames_are_rendered_one_by_one_and_repeatably(&debian());
}

#[test]
fn missing_files_are_found_with_who_uses_them() {
    behaviour::missing_files_are_found_with_who_uses_them(&debian());
}

#[test]
fn a_broken_file_is_refused_and_blamed_on_the_input() {
    behaviour::a_broken_file_is_refused_and_blamed_on_the_input(&debian());
}

#[test]
fn what_cannot_be_rendered_says_why() {
    behaviour::what_cannot_be_rendered_says_why(&debian());
}

#[test]
fn scripts_in_a_scene_do_not_run() {
    behaviour::scripts_in_a_scene_do_not_run(&debian());
}

#[test]
fn denoising_follows_merging() {
    behaviour::denoising_follows_merging(&debian());
}

#[test]
fn every_step_runs_where_only_its_folders_are() {
    sandbox::every_step_runs_where_only_its_folders_are(&debian());
}

#[test]
fn what_is_asked_for_counts_and_not_what_the_scene_says() {
    behaviour::what_is_asked_for_counts_and_not_what_the_scene_says(&debian());
}

#[test]
fn its_version_is_what_the_program_prints() {
    let engine = Engine::ask(&debian()).expect("answers");
    let printed = Command::new("/usr/bin/blender").arg("--version").output().expect("runs").stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(printed.contains(&format!("Blender {}", engine.version)), "{printed} is not {}", engine.version);
}

#[test]
fn a_sequence_becomes_a_film() {
    let stage = Stage::new(&debian(), r#""width":65,"height":49,"samples":1"#);
    let pictures: Vec<PathBuf> = [1, 5, 10].map(|frame| stage.whole(frame, Format::Png)).into();
    let rate = stage.inspect().expect("a scene").facts().rate.expect("a rate");
    for video in [Video::Mp4, Video::Webm] {
        let film = stage.folder().join("film").with_extension(video.extension());
        encode(Path::new("/usr/bin/ffmpeg"), &pictures, rate, video, &film, TIME_MAX).expect("a film");
        let options =
            ["-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames,width,height,r_frame_rate"];
        let probe = Command::new("/usr/bin/ffprobe").args(options).args(["-of", "csv=p=0"]).arg(&film).output();
        let told = String::from_utf8(probe.expect("runs").stdout).expect("text");
        assert_eq!(told.trim(), "66,50,24/1,3");
    }
}
