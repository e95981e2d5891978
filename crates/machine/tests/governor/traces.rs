//! Days in the life of a device.
use super::trace::replay;

#[test]
fn a_game_gets_the_device_at_once_and_keeps_it() {
    replay("game_starts");
}

#[test]
fn flickering_browser_video_does_not_make_it_flap() {
    replay("browser_video");
}

#[test]
fn a_short_call_of_a_monitor_is_nobody() {
    replay("monitor_call");
}

#[test]
fn a_hot_device_rests_until_it_is_cool() {
    replay("overheating");
}

#[test]
fn a_closed_lid_ends_work_on_battery() {
    replay("lid_closed");
}

#[test]
fn somebody_types_at_night() {
    replay("typing_at_night");
}

#[test]
fn work_that_does_not_leave_in_time_is_ended() {
    replay("stubborn_task");
}

#[test]
fn a_pause_by_command_ends_by_command() {
    replay("pause_and_resume");
}

#[test]
fn what_cannot_be_seen_is_not_an_empty_chair() {
    replay("blind");
}

#[test]
fn memory_that_nobody_accounts_for_is_somebody_s() {
    replay("hidden_memory");
}

#[test]
fn a_film_is_not_disturbed() {
    replay("film");
}

#[test]
fn a_key_that_was_seen_is_not_taken_back() {
    replay("two_sources");
}
