"""Whether EEVEE renders here: a few pixels of an empty scene."""

import os


def try_eevee(wanted):
    import bpy

    start()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine = eevee_name(scene)
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = os.path.join(wanted["out"], "eevee.png")
    bpy.ops.render.render(write_still=True)
    if not os.path.isfile(scene.render.filepath):
        raise Refused("device", "EEVEE wrote no picture")


serve(try_eevee)
