"""What a scene is and needs, before it is rendered anywhere."""

NAME_MAX = 200
LIST_MAX = 200


def inspect(wanted):
    import bpy

    start()
    scene = open_scene(wanted)
    render = scene.render
    scale = render.resolution_percentage / 100.0
    return {
        "name": scene.name,
        "frame_first": scene.frame_start,
        "frame_last": scene.frame_end,
        "frame_step": scene.frame_step,
        "frame_now": scene.frame_current,
        "frames_per_second": [render.fps, render.fps_base],
        "width": int(render.resolution_x * scale),
        "height": int(render.resolution_y * scale),
        "engine": render.engine,
        "samples": samples(scene),
        "adaptive": render.engine == "CYCLES" and scene.cycles.use_adaptive_sampling,
        "layer_samples": has_layer_samples(scene),
        "guiding": render.engine == "CYCLES" and getattr(scene.cycles, "use_guiding", False),
        "denoise": denoises(scene),
        "camera": camera(scene),
        "output": render.image_settings.file_format,
        "region": render.use_border,
        "stereo": render.use_multiview,
        "lines": render.use_freestyle,
        "compositing": render.use_compositing and scene_tree(scene) is not None,
        "strips": render.use_sequencer and has_strips(scene),
        "passes": passes(scene),
        "unbaked": unbaked(bpy.data.objects)[:LIST_MAX],
        "scripts": scripts(bpy.data)[:LIST_MAX],
        "files": collect(),
    }


def samples(scene):
    if scene.render.engine == "CYCLES":
        return scene.cycles.samples
    eevee = getattr(scene, "eevee", None)
    return getattr(eevee, "taa_render_samples", 1)


def camera(scene):
    """The camera's name; a marker may bind one as well."""
    found = scene.camera or next((marker.camera for marker in scene.timeline_markers if marker.camera), None)
    return found.name if found else None


def unbaked(objects):
    """Simulations that would have to run from the first frame on every machine."""
    found = []
    for thing in objects:
        caches = [(modifier.type, getattr(modifier, "point_cache", None)) for modifier in thing.modifiers]
        caches += [("PARTICLES", system.point_cache) for system in thing.particle_systems if moves(system)]
        for kind, cache in caches:
            if cache is not None and kind in SIMULATIONS and not cache.is_baked and not cache.use_external:
                found.append("object {}: {}".format(thing.name, kind.lower().replace("_", " ")))
    return sorted(set(found))


SIMULATIONS = {"CLOTH", "SOFT_BODY", "PARTICLES"}


def moves(system):
    return system.settings.type == "EMITTER" and system.settings.physics_type != "NO"


def scripts(data):
    """What would run in Blender and does not run here."""
    found = ["text {}".format(text.name) for text in data.texts if text.use_module]
    for collection in (data.objects, data.materials, data.meshes, data.scenes, data.worlds, data.lights):
        for owner in collection:
            drivers = owner.animation_data.drivers if owner.animation_data else ()
            for curve in drivers:
                if curve.driver.type == "SCRIPTED" and not getattr(curve.driver, "is_simple_expression", False):
                    found.append("{}: driver of {}".format(describe(owner), curve.data_path))
    return sorted(set(text[:NAME_MAX] for text in found))


serve(inspect)
