"""Opens a scene as its author would: with everything in it allowed to run."""

import json
import sys

import bpy

wanted = json.loads(sys.argv[sys.argv.index("--") + 1])
bpy.context.preferences.filepaths.use_scripts_auto_execute = True
bpy.ops.wm.open_mainfile(filepath=wanted["scene"], use_scripts=True)
bpy.context.scene.frame_set(2)
