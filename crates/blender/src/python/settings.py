"""Settings of a scene that have other names in other versions of Blender."""


def change_scene(scene, engine, samples, resolution):
    """What the requester wants otherwise than it was saved; None is as it was saved."""
    render = scene.render
    if engine is not None:
        render.engine = "CYCLES" if engine == "cycles" else eevee_name(scene)
    if resolution is not None:
        render.resolution_x, render.resolution_y = resolution
        render.resolution_percentage = 100
    if samples is not None and render.engine == "CYCLES":
        scene.cycles.samples = samples
        scene.cycles.use_layer_samples = "IGNORE"
    elif samples is not None and hasattr(scene, "eevee"):
        scene.eevee.taa_render_samples = samples


def eevee_name(scene):
    """It was called otherwise for a few versions."""
    names = {item.identifier for item in scene.render.bl_rna.properties["engine"].enum_items}
    return "BLENDER_EEVEE_NEXT" if "BLENDER_EEVEE_NEXT" in names else "BLENDER_EEVEE"


def scene_tree(scene):
    """The compositor's nodes, if they are used."""
    if hasattr(scene, "compositing_node_group"):
        return scene.compositing_node_group
    return scene.node_tree if scene.use_nodes else None


def new_tree(scene):
    """Empty compositor nodes, and the node that the picture goes to."""
    import bpy

    if hasattr(scene, "compositing_node_group"):
        tree = bpy.data.node_groups.new("merged", "CompositorNodeTree")
        tree.interface.new_socket(name="Image", in_out="OUTPUT", socket_type="NodeSocketColor")
        scene.compositing_node_group = tree
        return tree, tree.nodes.new("NodeGroupOutput")
    scene.use_nodes = True
    scene.node_tree.nodes.clear()
    return scene.node_tree, scene.node_tree.nodes.new("CompositorNodeComposite")


def has_strips(scene):
    editor = scene.sequence_editor
    if editor is None:
        return False
    return len(getattr(editor, "strips_all", None) or getattr(editor, "sequences_all", ())) > 0


def denoises(scene):
    if scene.render.engine != "CYCLES" or not scene.cycles.use_denoising:
        return False
    return any(layer.cycles.use_denoising for layer in scene.view_layers if layer.use)


def has_layer_samples(scene):
    """Whether a layer has its own number of samples."""
    if scene.render.engine != "CYCLES" or scene.cycles.use_layer_samples == "IGNORE":
        return False
    return any(layer.samples > 0 for layer in scene.view_layers if layer.use)


def passes(scene):
    """The passes that each used layer has besides the picture itself."""
    found = set()
    for layer in scene.view_layers:
        if not layer.use:
            continue
        for owner in (layer, layer.cycles, getattr(layer, "eevee", None)):
            names = () if owner is None else dir(owner)
            found |= {name for name in names if name.startswith("use_pass_") and getattr(owner, name) is True}
        found |= {"value {}".format(aov.name) for aov in layer.aovs}
    return sorted(found - {"use_pass_combined"})


def set_format(settings, name):
    """Newer versions ask first whether a file holds one picture or many layers."""
    if hasattr(settings, "media_type"):
        settings.media_type = "MULTI_LAYER_IMAGE" if name == "OPEN_EXR_MULTILAYER" else "IMAGE"
    settings.file_format = name


def set_final_format(settings, name):
    """The format that was asked for, with the scene's own options where it is the scene's own format."""
    if name == "png":
        if settings.file_format != "PNG":
            set_format(settings, "PNG")
            settings.color_mode = "RGBA"
            settings.color_depth = "8"
    elif settings.file_format not in {"OPEN_EXR", "OPEN_EXR_MULTILAYER"}:
        set_format(settings, "OPEN_EXR")
        settings.color_mode = "RGBA"
        settings.color_depth = "32"
        settings.exr_codec = "ZIP"


def choose_device(preferences, scene, wanted):
    if scene.render.engine != "CYCLES":
        return
    kind = wanted["device"]
    scene.cycles.device = "CPU" if kind == "CPU" else "GPU"
    if kind == "CPU":
        return
    chosen = preferences.addons["cycles"].preferences
    chosen.compute_device_type = kind
    chosen.get_devices_for_type(kind)
    found = [device for device in chosen.devices if device.type == kind]
    for device in chosen.devices:
        device.use = device.type == kind and wanted["device_id"] in (None, device.id)
    if not any(device.use for device in found):
        raise Refused("device", "Cycles finds no {} device to compute on".format(kind))


def set_samples(cycles, first, count, total):
    if hasattr(cycles, "use_sample_subset"):
        cycles.samples = total
        cycles.use_sample_subset = True
        cycles.sample_offset = first
        cycles.sample_subset_length = count
    else:
        cycles.sample_offset = first
        cycles.samples = count


def quiet(scene):
    """Nothing in a file that differs from run to run, and no file besides the one that was asked for."""
    render = scene.render
    for name in dir(render):
        if name.startswith("use_stamp"):
            setattr(render, name, False)
    render.use_file_extension = False
    render.use_overwrite = True
    render.use_placeholder = False
    render.use_render_cache = False
    tree = scene_tree(scene)
    for node in tree.nodes if tree else ():
        if node.type == "OUTPUT_FILE":
            node.mute = True
