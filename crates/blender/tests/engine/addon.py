"""The add-on in a real Blender without a window. Prints one line of JSON that begins with `RESULT`."""

import json
import os
import sys
import tomllib
import types

import bpy

wanted = json.loads(sys.argv[sys.argv.index("--") + 1])
sys.dont_write_bytecode = True
sys.path.insert(0, wanted["addons"])
tell = {}


class Layout:
    """Remembers what a panel puts into it."""

    def __init__(self, seen):
        self.seen = seen

    def prop(self, owner, name, **_):
        assert name in owner.bl_rna.properties, name
        self.seen.append(name)

    def operator(self, name):
        group, verb = name.split(".")
        assert getattr(getattr(bpy.ops, group), verb).get_rna_type(), name
        self.seen.append(name)

    def label(self, text):
        self.seen.append(text)

    def row(self):
        return self


def draw(addon):
    seen = []
    panel = types.SimpleNamespace(layout=Layout(seen))
    panel.draw_steps = lambda layout, state: addon.panel.GLEANER_PT_render.draw_steps(panel, layout, state)
    addon.panel.GLEANER_PT_render.draw(panel, bpy.context)
    return seen


def enable():
    """As the preferences' list of add-ons does it."""
    import addon_utils

    module = addon_utils.enable("gleaner_render", default_set=True)
    assert module is not None, "the add-on cannot be enabled"
    return module


def main():
    bpy.ops.wm.open_mainfile(filepath=wanted["scene"])
    addon = enable()
    scene = bpy.context.scene
    tell["drawn"] = draw(addon)
    scene.gleaner.what = "RANGE"
    scene.gleaner.split = "TILES"
    scene.gleaner.video = "mp4"
    tell["drawn_with_tiles"] = draw(addon)
    texture = bpy.data.images["checks.png"]
    texture.filepath = bpy.path.abspath(texture.filepath)
    absolute = texture.filepath
    folder, path = addon.operators.make_job(scene)
    tell["kept"] = texture.filepath == absolute and bpy.data.filepath == wanted["scene"]
    with open(path, "rb") as file:
        tell["job"] = tomllib.load(file)
    tell["folder"] = folder
    tell["missing_program"] = missing_program()
    tell["failed_quote"] = failed_quote(addon)
    tell["calls"] = calls(addon, folder)
    tell["pictures"] = pictures(addon, folder)
    os.remove(absolute)
    tell["missing_file"] = missing_file(addon)
    tell["shown"] = shown(addon, folder)
    bpy.ops.preferences.addon_disable(module="gleaner_render")
    tell["left"] = hasattr(bpy.types.Scene, "gleaner")
    print("RESULT" + json.dumps(tell))


def missing_program():
    bpy.context.preferences.addons["gleaner_render"].preferences.program = "/nonexistent/gleaner"
    try:
        bpy.ops.gleaner.render()
    except RuntimeError as error:
        return str(error)
    return None


def failed_quote(addon):
    """Any program that takes no such words ends with an error, which is shown."""
    state = bpy.context.window_manager.gleaner
    bpy.context.preferences.addons["gleaner_render"].preferences.program = "ls"
    bpy.ops.gleaner.quote()
    was_running = state.is_running
    call = addon.operators.running["call"]
    call.process.wait(60)
    # Timers do not tick without a window.
    goes_on = addon.operators.GLEANER_OT_quote.tick(None)()
    return [was_running, state.is_running, goes_on, state.price, "--help" in state.message, os.path.exists(call.folder)]


def calls(addon, folder):
    """What a command printed, said and ended with, and that it can be stopped."""
    shell = lambda name, text: addon.program.Call(["/bin/sh", "-c", text], folder, name)
    good = shell("good", """echo '{"price": "1 GLN"}'; echo sending >&2""")
    good.process.wait(60)
    long = shell("long", "exec sleep 600")
    before = long.ended()
    long.stop()
    long.process.wait(60)
    bad = shell("bad", "echo no; exit 3")
    bad.process.wait(60)
    return [good.answer(), good.said(), good.failed(), before, long.failed(), bad.answer(), bad.failed()]


def pictures(addon, folder):
    """Frames in their order, wherever they lie; pieces are none."""
    run = addon.program.Run.__new__(addon.program.Run)
    run.results = os.path.join(folder, "out")
    for name in ("b/000002.png", "a/000010.png", "a/000002.piece.exr", "c/-000003.png", "c/film.mp4"):
        path = os.path.join(run.results, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    return [os.path.basename(path) for path in run.pictures()]


def missing_file(addon):
    try:
        addon.operators.make_job(bpy.context.scene)
    except addon.collect.Problem as problem:
        return str(problem)
    return None


def shown(addon, folder):
    path = os.path.join(folder, "result.png")
    image = bpy.data.images.new("made", 2, 2)
    image.filepath_raw = path
    image.file_format = "PNG"
    image.save()
    return addon.operators.show([path]).size[:] == (2, 2)


main()
