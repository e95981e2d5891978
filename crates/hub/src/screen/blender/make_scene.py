"""Makes scene.blend, the scene of the Blender test. Run it with Debian's blender 3.4, from this folder:

    blender --background --factory-startup --python make_scene.py

A camera looks straight at a plane that shines in the colours of texture.png beside the scene, which each test draws
anew. The settings are such that every pixel of the picture must have the colour of the texture there.
"""
import os
import sys

import bpy

SIDE = 128
SAMPLES = 64
TEXELS = 32

bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene

camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
camera.data.type = "ORTHO"
camera.data.ortho_scale = 2
camera.location = (0, 0, 4)
scene.collection.objects.link(camera)
scene.camera = camera

mesh = bpy.data.meshes.new("Plane")
mesh.from_pydata([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [], [(0, 1, 2, 3)])
corners = mesh.uv_layers.new().data
for corner, place in zip(corners, [(0, 0), (1, 0), (1, 1), (0, 1)]):
    corner.uv = place
plane = bpy.data.objects.new("Plane", mesh)
scene.collection.objects.link(plane)

material = bpy.data.materials.new("Shining")
material.use_nodes = True
nodes, links = material.node_tree.nodes, material.node_tree.links
nodes.clear()
image = bpy.data.images.new("Texture", TEXELS, TEXELS)
image.source = "FILE"
image.filepath = "//texture.png"
image.colorspace_settings.name = "Non-Color"
texture = nodes.new("ShaderNodeTexImage")
texture.image = image
texture.interpolation = "Closest"
shine = nodes.new("ShaderNodeEmission")
output = nodes.new("ShaderNodeOutputMaterial")
links.new(texture.outputs["Color"], shine.inputs["Color"])
links.new(shine.outputs["Emission"], output.inputs["Surface"])
mesh.materials.append(material)

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
# Samples stay within the middle of their pixel, so that none falls on the neighbour's colour.
scene.cycles.pixel_filter_type = "BOX"
scene.cycles.filter_width = 0.5
scene.view_settings.view_transform = "Raw"
scene.view_settings.look = "None"
scene.view_settings.exposure = 0
scene.view_settings.gamma = 1
scene.frame_start = scene.frame_end = scene.frame_current = 1

folder = os.path.dirname(os.path.abspath(__file__))
bpy.context.preferences.filepaths.save_version = 0
saved = bpy.ops.wm.save_as_mainfile(filepath=os.path.join(folder, "scene.blend"), compress=True, relative_remap=False)
sys.exit(saved != {"FINISHED"})
