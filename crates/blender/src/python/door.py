"""How a script of ours begins and ends inside an engine: one specification in, one answer out.

The answer is a file, because anything may be printed by what a scene names. It is written beside its place and
renamed, so that half an answer is never read.
"""

import json
import os
import sys

ANSWER = "answer.json"


class Refused(Exception):
    """What the caller is told instead of a result."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def specification():
    return json.loads(sys.argv[sys.argv.index("--") + 1])


def answer(folder, value):
    path = os.path.join(folder, ANSWER)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(path + ".part", path)


def serve(work):
    """Runs `work(specification)` and writes what it returns, or why it could not."""
    wanted = specification()
    try:
        value = {"done": work(wanted)}
    except Refused as refused:
        value = {"refused": {"kind": refused.kind, "message": str(refused)}}
    except MemoryError:
        value = {"refused": {"kind": "memory", "message": "the engine ran out of memory"}}
    except Exception as error:
        value = {"refused": {"kind": kind_of(str(error)), "message": "{}: {}".format(type(error).__name__, error)}}
    answer(wanted["out"], value)


def kind_of(message):
    text = message.lower()
    if "out of memory" in text or "out of gpu memory" in text or "bad_alloc" in text or "failed to allocate" in text:
        return "memory"
    if "openimagedenoise" in text or "available to denoise" in text:
        return "denoise"
    if "cuda" in text or "optix" in text or "hip error" in text or "illegal address" in text:
        return "device"
    return "failed"


def open_scene(wanted):
    """Opens a scene without running anything that is written in it, and changes in it what was asked for."""
    import bpy

    path, name = wanted["scene"], wanted["name"]
    files = bpy.context.preferences.filepaths
    files.use_scripts_auto_execute = False
    problem = None
    try:
        bpy.ops.wm.open_mainfile(filepath=path, load_ui=False, use_scripts=False)
    except RuntimeError as error:
        problem = str(error)
    # A scene whose libraries are missing opens, but complains.
    if os.path.realpath(bpy.data.filepath) != os.path.realpath(path):
        raise Refused("unreadable", "the scene cannot be opened: {}".format(problem or "not a Blender file"))
    if not bpy.data.scenes:
        raise Refused("unreadable", "the file holds no scene")
    if name is not None and name not in bpy.data.scenes:
        raise Refused("unreadable", "the file holds no scene called {!r}".format(name))
    scene = (bpy.context.scene or bpy.data.scenes[0]) if name is None else bpy.data.scenes[name]
    change_scene(scene, **wanted["change"])
    return scene


def start():
    """Brings a `bpy` module to where `blender --factory-startup` is."""
    import bpy

    if not bpy.app.binary_path:
        bpy.ops.wm.read_factory_settings(use_empty=True)
    if "cycles" not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module="cycles")
