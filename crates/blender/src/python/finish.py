"""Makes the final picture of a frame out of its merged light.

The merged picture takes the place of a renderer, so denoising, compositing, colours, dither and file format are
Blender's own, as if the frame had been rendered here in one piece.
"""

import os
from array import array


def finish(wanted):
    import bpy

    start()
    scene = open_scene(wanted)
    scene.frame_set(wanted["frame"])
    quiet(scene)
    scene.render.threads_mode = "FIXED"
    scene.render.threads = wanted["threads"]
    set_final_format(scene.render.image_settings, wanted["format"])
    pictures = {}
    if denoises(scene):
        for layer in scene.view_layers:
            if layer.use and layer.cycles.use_denoising:
                pictures[layer.name] = denoise(scene, layer, wanted)
    bpy.utils.register_class(merged_engine(wanted["merged"], wanted["passes"], pictures))
    scene.render.engine = "GLEANER_MERGED"
    path = os.path.join(wanted["out"], wanted["file"])
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True, scene=scene.name)
    if not os.path.isfile(path):
        raise Refused("failed", "the engine wrote no picture")
    return {"file": wanted["file"]}


def merged_engine(path, extra, pictures):
    import bpy

    class Merged(bpy.types.RenderEngine):
        bl_idname = "GLEANER_MERGED"
        bl_label = "Merged pieces"
        bl_use_postprocess = True

        def update_render_passes(self, scene, layer):
            self.register_pass(scene, layer, "Combined", 4, "RGBA", "COLOR")
            for one in extra:
                if one["layer"] == layer.name:
                    kind = "VALUE" if len(one["channels"]) == 1 else "COLOR"
                    self.register_pass(scene, layer, one["name"], len(one["channels"]), one["channels"], kind)

        def render(self, depsgraph):
            scene = depsgraph.scene
            layer = depsgraph.view_layer.name
            for one in extra:
                if one["layer"] == layer:
                    self.add_pass(one["name"], len(one["channels"]), one["channels"], layer=layer)
            scale = scene.render.resolution_percentage / 100.0
            width = int(scene.render.resolution_x * scale)
            height = int(scene.render.resolution_y * scale)
            result = self.begin_result(0, 0, width, height, layer=layer)
            result.load_from_file(path)
            if layer in pictures:
                result.layers[0].passes["Combined"].rect.foreach_set(pictures[layer])
            self.end_result(result)

    return Merged


def denoise(scene, layer, wanted):
    """Lets the compositor denoise one layer by its normals and colours, as Cycles would have."""
    import bpy

    import _cycles

    if not _cycles.with_openimagedenoise:
        raise Refused("denoise", "the scene is to be denoised, and this build of Blender has no denoiser")
    bench = bpy.data.scenes.new("denoise")
    render = bench.render
    render.resolution_x = scene.render.resolution_x
    render.resolution_y = scene.render.resolution_y
    render.resolution_percentage = scene.render.resolution_percentage
    render.threads_mode = "FIXED"
    render.threads = wanted["threads"]
    set_format(render.image_settings, "OPEN_EXR")
    render.image_settings.color_mode = "RGBA"
    render.image_settings.color_depth = "32"
    render.image_settings.exr_codec = "ZIP"
    quiet(bench)
    render.filepath = os.path.join(wanted["out"], "denoised-{}.exr".format(len(bpy.data.scenes)))
    connect(bench, scene.cycles, layer, wanted["merged"])
    bpy.ops.render.render(write_still=True, scene=bench.name)
    if not os.path.isfile(render.filepath):
        raise Refused("denoise", "the denoiser wrote no picture")
    return pixels(render.filepath)


def pixels(path):
    """The values of a picture, which is removed. Newer versions load only files with layers into a result."""
    import bpy

    image = bpy.data.images.load(path)
    values = array("f", bytes(4 * len(image.pixels)))
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    os.remove(path)
    return values


def connect(bench, cycles, layer, merged):
    import bpy

    tree, output = new_tree(bench)
    light = tree.nodes.new("CompositorNodeImage")
    light.image = bpy.data.images.load(merged)
    if light.image.type == "MULTILAYER":
        light.layer = layer.name
    node = tree.nodes.new("CompositorNodeDenoise")
    if hasattr(node, "prefilter"):
        node.prefilter = cycles.denoising_prefilter
    else:
        node.inputs["Prefilter"].default_value = cycles.denoising_prefilter.capitalize()
    tree.links.new(light.outputs["Combined"], node.inputs["Image"])
    if "ALBEDO" in cycles.denoising_input_passes:
        tree.links.new(light.outputs["Denoising Albedo"], node.inputs["Albedo"])
    if "NORMAL" in cycles.denoising_input_passes:
        tree.links.new(light.outputs["Denoising Normal"], node.inputs["Normal"])
    tree.links.new(node.outputs["Image"], output.inputs[0])


serve(finish)
