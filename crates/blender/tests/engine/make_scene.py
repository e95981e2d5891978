"""Makes the scenes of the tests: a few objects, a texture file, a linked library. Variants are named in the request."""

import json
import os
import sys

import bpy

wanted = json.loads(sys.argv[sys.argv.index("--") + 1])
folder = wanted["folder"]


def main():
    os.makedirs(os.path.join(folder, "textures"), exist_ok=True)
    make_texture(os.path.join(folder, "textures", "checks.png"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if "cycles" not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module="cycles")
    make_library(os.path.join(folder, "library.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if "cycles" not in bpy.context.preferences.addons:
        bpy.ops.preferences.addon_enable(module="cycles")
    make_scene(os.path.join(folder, "scene.blend"))


def make_texture(path):
    image = bpy.data.images.new("checks", 16, 16)
    pixels = []
    for y in range(16):
        for x in range(16):
            light = 0.9 if (x // 4 + y // 4) % 2 else 0.1
            pixels += [light, light * 0.6, 0.3, 1.0]
    image.pixels = pixels
    image.filepath_raw = path
    image.file_format = "PNG"
    image.save()


def make_library(path):
    bpy.ops.mesh.primitive_cylinder_add(radius=0.4, depth=2.0, location=(1.2, 0.6, 1.0))
    pillar = bpy.context.object
    pillar.name = "Pillar"
    pillar.data.materials.append(colour("stone", (0.2, 0.5, 0.3, 1.0)))
    bpy.ops.wm.save_as_mainfile(filepath=path)


def colour(name, value):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = value
    return material


def textured(name, path):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    texture = tree.nodes.new("ShaderNodeTexImage")
    texture.image = bpy.data.images.load(path)
    tree.links.new(texture.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material


def make_scene(path):
    bpy.ops.wm.save_as_mainfile(filepath=path)
    scene = bpy.context.scene
    add_objects()
    with bpy.data.libraries.load(os.path.join(folder, "library.blend"), link=True, relative=True) as (_, to):
        to.objects = ["Pillar"]
    scene.collection.objects.link(to.objects[0])
    if wanted.get("camera", True):
        bpy.ops.object.camera_add(location=(4.0, -4.5, 3.2), rotation=(1.15, 0.0, 0.7))
        scene.camera = bpy.context.object
    settings(scene)
    if wanted.get("compositing", False):
        add_compositing(scene)
    if wanted.get("script"):
        add_scripts(scene, wanted["script"])
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.file.make_paths_relative()
    bpy.ops.wm.save_as_mainfile(filepath=path)


def add_objects():
    bpy.ops.mesh.primitive_plane_add(size=10.0)
    bpy.context.object.name = "Floor"
    bpy.context.object.data.materials.append(textured("tiles", os.path.join(folder, "textures", "checks.png")))
    bpy.ops.mesh.primitive_cube_add(size=1.2, location=(-0.6, 0.0, 0.6))
    cube = bpy.context.object
    cube.name = "Box"
    cube.data.materials.append(colour("paint", (0.8, 0.2, 0.1, 1.0)))
    cube.keyframe_insert("rotation_euler", frame=1)
    cube.rotation_euler = (0.0, 0.0, 1.5)
    cube.keyframe_insert("rotation_euler", frame=10)
    bpy.ops.object.light_add(type="AREA", location=(2.0, -2.0, 4.0))
    bpy.context.object.data.energy = 300.0


def settings(scene):
    scene.frame_start = 1
    scene.frame_end = 10
    scene.render.engine = wanted.get("engine", "CYCLES")
    scene.render.resolution_x = wanted.get("width", 96)
    scene.render.resolution_y = wanted.get("height", 64)
    scene.render.resolution_percentage = wanted.get("percentage", 100)
    scene.cycles.samples = wanted.get("samples", 4)
    scene.cycles.use_adaptive_sampling = wanted.get("adaptive", False)
    scene.cycles.use_denoising = wanted.get("denoise", False)
    scene.cycles.device = "CPU"
    if wanted.get("depth", False):
        scene.view_layers[0].use_pass_z = True


def add_compositing(scene):
    """A glare over the picture, which looks at far neighbours: only right if it sees the whole frame."""
    if hasattr(scene, "compositing_node_group"):
        tree = bpy.data.node_groups.new("glow", "CompositorNodeTree")
        scene.compositing_node_group = tree
        tree.interface.new_socket(name="Image", in_out="OUTPUT", socket_type="NodeSocketColor")
        output = tree.nodes.new("NodeGroupOutput")
    else:
        scene.use_nodes = True
        tree = scene.node_tree
        tree.nodes.clear()
        output = tree.nodes.new("CompositorNodeComposite")
    layers = tree.nodes.new("CompositorNodeRLayers")
    blur = tree.nodes.new("CompositorNodeBlur")
    if hasattr(blur, "size_x"):
        blur.size_x = blur.size_y = 6
    else:
        blur.inputs["Size"].default_value = (6.0, 6.0)
    tree.links.new(layers.outputs["Image"], blur.inputs["Image"])
    tree.links.new(blur.outputs["Image"], output.inputs[0])


def add_scripts(scene, witness):
    """Everything by which a file may try to run code where it is opened: each would leave the witness file."""
    deed = "open({!r}, 'w').close()".format(witness)
    text = bpy.data.texts.new("startup.py")
    text.write(
        "import bpy\n{0}\n"
        "bpy.app.handlers.frame_change_post.append(lambda *_: {0})\n"
        "bpy.app.handlers.render_pre.append(lambda *_: {0})\n".format(deed)
    )
    text.use_module = True
    driver = bpy.data.objects["Box"].driver_add("location", 0).driver
    driver.type = "SCRIPTED"
    driver.expression = "__import__('os').system('touch {}') or 0.0".format(witness)


main()
