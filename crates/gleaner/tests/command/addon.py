"""Uses the add-on as its buttons do, in a Blender without a window. Prints one line of JSON that begins with `RESULT`."""

import json
import sys
import time

import bpy

wanted = json.loads(sys.argv[sys.argv.index("--") + 1])
sys.dont_write_bytecode = True
sys.path.insert(0, wanted["addons"])

PATIENCE_S = 240
PACE_S = 0.1
timers = []


def tick_all(look=lambda: None):
    """What Blender's own loop does where there is a window."""
    until = time.monotonic() + PATIENCE_S
    while timers:
        assert time.monotonic() < until, "it does not come to an end"
        timers[:] = [one for one in timers if one() is not None]
        look()
        if timers:
            time.sleep(PACE_S)


def main():
    import addon_utils

    bpy.app.timers.register = lambda function, first_interval=0: timers.append(function)
    bpy.ops.wm.open_mainfile(filepath=wanted["scene"])
    addon = addon_utils.enable("gleaner_render", default_set=True)
    preferences = bpy.context.preferences.addons["gleaner_render"].preferences
    for name in ("program", "hub", "token_file"):
        setattr(preferences, name, wanted[name])
    scene = bpy.context.scene
    scene.frame_set(3)
    scene.render.resolution_x, scene.render.resolution_y = 96, 54
    scene.cycles.samples = 4
    scene.gleaner.split = "TILES"
    scene.gleaner.price_max = "0.5 GLN"
    state = bpy.context.window_manager.gleaner
    tell = {}

    assert bpy.ops.gleaner.quote() == {"FINISHED"} and state.is_running
    assert not bpy.ops.gleaner.render.poll(), "one thing at a time"
    tick_all()
    assert not state.is_running
    tell["quote"] = {"price": state.price, "message": state.message}

    fractions, numbers = [], []

    def look():
        fractions.append(state.fraction)
        number = addon.operators.running["run"].number
        if number and number not in numbers:
            numbers.append(number)

    assert bpy.ops.gleaner.render() == {"FINISHED"} and state.is_running
    tick_all(look)
    assert not state.is_running
    tell["fractions"], tell["numbers"], tell["message"] = fractions, numbers, state.message
    tell["picture"] = list(bpy.data.images["Gleaner Result"].size)
    assert bpy.ops.gleaner.open() == {"FINISHED"}

    scene.gleaner.price_max = "much"
    bpy.ops.gleaner.render()
    tick_all()
    tell["refused"] = state.message
    scene.gleaner.price_max = "0.5 GLN"
    preferences.hub = "http://127.0.0.1:1"
    bpy.ops.gleaner.quote()
    tick_all()
    tell["lost"] = state.message
    assert state.price == "", "an old price is not shown for a new question"
    bpy.ops.preferences.addon_disable(module="gleaner_render")
    print("RESULT" + json.dumps(tell))


main()
