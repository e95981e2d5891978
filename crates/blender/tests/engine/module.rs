//! The `bpy` module from PyPI: 370 MB, so only where a Python that has it is named.
use crate::{behaviour, sandbox};
use gleaner_blender::engine::Launch;

fn module() -> Launch {
    let python = std::env::var_os("GLEANER_TEST_BPY").expect("GLEANER_TEST_BPY names a Python that has the bpy module");
    Launch::Python(python.into())
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_eevee_renders_whole_frames_without_a_display() {
    behaviour::eevee_renders_whole_frames_without_a_display(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_the_engine_says_what_it_is() {
    behaviour::the_engine_says_what_it_is(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_tiles_merge_bit_for_bit() {
    behaviour::tiles_merge_bit_for_bit(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_samples_merge_within_the_tolerance() {
    behaviour::samples_merge_within_the_tolerance(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_compositing_sees_the_whole_frame() {
    behaviour::compositing_sees_the_whole_frame(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_frames_are_rendered_one_by_one_and_repeatably() {
    behaviour::frames_are_rendered_one_by_one_and_repeatably(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_missing_files_are_found_with_who_uses_them() {
    behaviour::missing_files_are_found_with_who_uses_them(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_a_broken_file_is_refused_and_blamed_on_the_input() {
    behaviour::a_broken_file_is_refused_and_blamed_on_the_input(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_what_cannot_be_rendered_says_why() {
    behaviour::what_cannot_be_rendered_says_why(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_scripts_in_a_scene_do_not_run() {
    behaviour::scripts_in_a_scene_do_not_run(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_denoising_follows_merging() {
    behaviour::denoising_follows_merging(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_every_step_runs_where_only_its_folders_are() {
    sandbox::every_step_runs_where_only_its_folders_are(&module());
}

#[test]
#[ignore = "needs the bpy module: GLEANER_TEST_BPY=PYTHON cargo test -p gleaner-blender -- --ignored"]
fn with_the_module_what_is_asked_for_counts_and_not_what_the_scene_says() {
    behaviour::what_is_asked_for_counts_and_not_what_the_scene_says(&module());
}
