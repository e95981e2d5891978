"""Makes the scene of this example: sheaves on a stubble field, a low sun, and a camera that goes round them.

    blender --background --factory-startup --python examples/render/scene.py

It is saved as `scene.blend` beside this script.
"""
import math
import pathlib
import random

import bpy

FOLDER = pathlib.Path(__file__).resolve().parent
FRAMES = 24


def material(name, colour, rough=0.6, metal=0.0):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    surface = made.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*colour, 1)
    surface.inputs["Roughness"].default_value = rough
    surface.inputs["Metallic"].default_value = metal
    return made


def sheaf(place, straw, band, chance):
    """A bundle of stalks, tied in the middle."""
    for _ in range(26):
        angle, out = chance.uniform(0, math.tau), chance.uniform(0.02, 0.2)
        bpy.ops.mesh.primitive_cone_add(vertices=5, radius1=0.02, radius2=0.012, depth=1.1)
        stalk = bpy.context.object
        stalk.location = (place[0] + out * math.cos(angle), place[1] + out * math.sin(angle), 0.5)
        stalk.rotation_euler = (out * math.sin(angle) * -1.4, out * math.cos(angle) * 1.4, 0)
        stalk.data.materials.append(straw)
    bpy.ops.mesh.primitive_torus_add(major_radius=0.17, minor_radius=0.03, location=(*place, 0.5))
    bpy.context.object.data.materials.append(band)


def main():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene, chance = bpy.context.scene, random.Random(11)
    bpy.ops.mesh.primitive_plane_add(size=40)
    bpy.context.object.data.materials.append(material("stubble", (0.32, 0.2, 0.07), 0.9))
    straw, band = material("straw", (0.78, 0.52, 0.14)), material("band", (0.35, 0.08, 0.03))
    for number in range(7):
        angle = number / 7 * math.tau
        sheaf((1.3 * math.cos(angle), 1.3 * math.sin(angle)), straw, band, chance)
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.5, location=(0, 0, 0.5), segments=48, ring_count=24)
    bpy.ops.object.shade_smooth()
    bpy.context.object.data.materials.append(material("copper", (0.9, 0.4, 0.2), 0.15, 1.0))
    bpy.ops.object.light_add(type="SUN", rotation=(math.radians(72), 0, math.radians(35)))
    bpy.context.object.data.energy = 4
    bpy.context.object.data.color = (1, 0.8, 0.55)
    scene.world = bpy.data.worlds.new("evening")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.35, 0.45, 0.7, 1)
    bpy.ops.object.camera_add()
    camera = scene.camera = bpy.context.object
    for frame in range(1, FRAMES + 1):
        angle = frame / FRAMES * math.tau
        camera.location = (5 * math.cos(angle), 5 * math.sin(angle), 1.6)
        camera.rotation_euler = (math.radians(78), 0, angle + math.pi / 2)
        camera.keyframe_insert("location", frame=frame)
        camera.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 480, 270, 100
    scene.cycles.samples, scene.cycles.use_adaptive_sampling, scene.cycles.use_denoising = 32, False, False
    bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / "scene.blend"), compress=True)


main()
