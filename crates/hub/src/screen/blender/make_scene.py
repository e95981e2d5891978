"""Makes scene.blend, the scene of the Blender test. Run it with Debian's blender 3.4, from this folder:

    blender --background --factory-startup --python make_scene.py

A lamp shines in the colours of texture.png beside the scene, which each test draws anew: a plane that hangs above a white floor and
faces it. The camera is between the two, looks straight at the floor, and sees nothing but the light that falls there. Light bounces
once and no more, so that the hub can reckon it: how much of each part of the lamp reaches each part of the floor.
"""
import os
import sys

import bpy

SIDE = 128
SAMPLES = 64
TEXELS = 4
HEIGHT = 0.5
STRENGTH = 1.0

bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene

camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
camera.data.type = "ORTHO"
camera.data.ortho_scale = 2
camera.data.clip_start = 0.001
camera.location = (0, 0, HEIGHT / 2)
scene.collection.objects.link(camera)
scene.camera = camera


def plane(name, height, faces_down):
    """A square of the size of the picture."""
    mesh = bpy.data.meshes.new(name)
    corners = [(-1, -1, height), (1, -1, height), (1, 1, height), (-1, 1, height)]
    mesh.from_pydata(corners, [], [(3, 2, 1, 0) if faces_down else (0, 1, 2, 3)])
    places = [(0, 1), (1, 1), (1, 0), (0, 0)] if faces_down else [(0, 0), (1, 0), (1, 1), (0, 1)]
    for corner, place in zip(mesh.uv_layers.new().data, places):
        corner.uv = place
    made = bpy.data.objects.new(name, mesh)
    scene.collection.objects.link(made)
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.node_tree.nodes.clear()
    mesh.materials.append(material)
    return made, material.node_tree.nodes, material.node_tree.links


lamp, nodes, links = plane("Lamp", HEIGHT, True)
image = bpy.data.images.new("Texture", TEXELS, TEXELS)
image.source = "FILE"
image.filepath = "//texture.png"
image.colorspace_settings.name = "Non-Color"
texture = nodes.new("ShaderNodeTexImage")
texture.image = image
texture.interpolation = "Closest"
shine = nodes.new("ShaderNodeEmission")
shine.inputs["Strength"].default_value = STRENGTH
output = nodes.new("ShaderNodeOutputMaterial")
links.new(texture.outputs["Color"], shine.inputs["Color"])
links.new(shine.outputs["Emission"], output.inputs["Surface"])
# The camera is below it and looks down; nothing else looks at it directly.
lamp.visible_camera = False

floor, nodes, links = plane("Floor", 0, False)
white = nodes.new("ShaderNodeBsdfDiffuse")
white.inputs["Color"].default_value = (1, 1, 1, 1)
output = nodes.new("ShaderNodeOutputMaterial")
links.new(white.outputs["BSDF"], output.inputs["Surface"])

scene.render.engine = "CYCLES"
scene.render.resolution_x = scene.render.resolution_y = SIDE
scene.render.resolution_percentage = 100
scene.render.dither_intensity = 0
scene.render.use_compositing = scene.render.use_sequencer = False
scene.render.image_settings.file_format = "PNG"
scene.render.image_settings.color_mode = "RGB"
scene.render.image_settings.color_depth = "8"
scene.cycles.samples = SAMPLES
scene.cycles.use_adaptive_sampling = False
scene.cycles.use_denoising = False
# Only light that comes straight from the lamp.
scene.cycles.max_bounces = scene.cycles.diffuse_bounces = 1
scene.cycles.sample_clamp_direct = scene.cycles.sample_clamp_indirect = 0
scene.cycles.pixel_filter_type = "BOX"
scene.cycles.filter_width = 1
scene.view_settings.view_transform = "Raw"
scene.view_settings.look = "None"
scene.view_settings.exposure = 0
scene.view_settings.gamma = 1
scene.frame_start = scene.frame_end = scene.frame_current = 1

folder = os.path.dirname(os.path.abspath(__file__))
bpy.context.preferences.filepaths.save_version = 0
saved = bpy.ops.wm.save_as_mainfile(filepath=os.path.join(folder, "scene.blend"), compress=True, relative_remap=False)
sys.exit(saved != {"FINISHED"})
