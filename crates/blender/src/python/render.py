"""Renders one frame, or one piece of it."""

import os


def render(wanted):
    import bpy

    start()
    scene = open_scene(wanted)
    say_progress()
    scene.frame_set(wanted["frame"])
    if scene.camera is None and not (scene.render.use_sequencer and has_strips(scene)):
        raise Refused("camera", "the scene has no camera at frame {}".format(wanted["frame"]))
    quiet(scene)
    choose_device(bpy.context.preferences, scene, wanted)
    scene.render.threads_mode = "FIXED"
    scene.render.threads = wanted["threads"]
    if wanted["tile"] is None and wanted["samples"] is None:
        set_final_format(scene.render.image_settings, wanted["format"])
    else:
        make_piece(scene, wanted)
    path = os.path.join(wanted["out"], wanted["file"])
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True, scene=scene.name)
    if not os.path.isfile(path):
        raise Refused("failed", "the engine wrote no picture")
    return {"file": wanted["file"]}


def say_progress():
    """Newer versions keep to themselves what older ones print while they render."""
    import bpy

    if bpy.app.version >= (5, 0):
        bpy.app.handlers.render_stats.append(lambda text, *_: print(text, flush=True))


def make_piece(scene, wanted):
    """Light before anything that looks at neighbours: denoising and compositing follow when pieces are together."""
    if scene.render.engine != "CYCLES":
        raise Refused("split", "only Cycles renders pieces of a frame, and the scene asks for " + scene.render.engine)
    cycles = scene.cycles
    store = denoises(scene)
    cycles.use_denoising = False
    for layer in scene.view_layers:
        layer.cycles.denoising_store_passes = store or layer.cycles.denoising_store_passes
    cycles.time_limit = 0
    scene.render.use_compositing = False
    scene.render.use_sequencer = False
    settings = scene.render.image_settings
    set_format(settings, "OPEN_EXR_MULTILAYER")
    settings.color_depth = "32"
    settings.exr_codec = "ZIP"
    if wanted["samples"] is not None:
        # Pixels that stop early would have to be weighed one by one.
        cycles.use_adaptive_sampling = False
        set_samples(cycles, **wanted["samples"])
    if wanted["tile"] is not None:
        set_tile(scene.render, **wanted["tile"])


def set_tile(render, x, y, width, height):
    """Blender counts from the bottom and cuts off fractions; the half pixel keeps rounding out of it."""
    scale = render.resolution_percentage / 100.0
    full_width = int(render.resolution_x * scale)
    full_height = int(render.resolution_y * scale)
    if x + width > full_width or y + height > full_height:
        raise Refused("split", "the tile is not inside the picture of {} × {}".format(full_width, full_height))
    bottom = full_height - y - height
    render.use_border = True
    render.use_crop_to_border = True
    render.border_min_x = edge(x, full_width)
    render.border_max_x = edge(x + width, full_width)
    render.border_min_y = edge(bottom, full_height)
    render.border_max_y = edge(bottom + height, full_height)


def edge(pixel, side):
    return 1.0 if pixel == side else (pixel + 0.5) / side if pixel else 0.0


serve(render)
