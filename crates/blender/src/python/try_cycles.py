"""Whether Cycles renders here, on one device: a few pixels of an empty scene."""

import os


def try_cycles(wanted):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    start()
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.cycles.use_denoising = False
    choose_device(bpy.context.preferences, scene, wanted)
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.filepath = os.path.join(wanted["out"], "cycles.png")
    bpy.ops.render.render(write_still=True)
    if not os.path.isfile(scene.render.filepath):
        raise Refused("device", "Cycles wrote no picture")


serve(try_cycles)
