"""What this engine is and what its Cycles can compute on."""


def ask(_):
    import bpy

    start()
    # Part of the engine: there only once it is loaded.
    import _cycles

    app = bpy.app
    preferences = bpy.context.preferences.addons["cycles"].preferences
    devices = [{"kind": "CPU", "id": "CPU", "name": name} for name in processors(_cycles)]
    for kind in ("CUDA", "OPTIX", "HIP", "ONEAPI", "METAL"):
        devices += gpus(preferences, kind)
    return {
        "version": list(app.version),
        "library": app.binary_path or module_folder(),
        "devices": devices,
        "kernels": kernels(_cycles),
        "denoiser": bool(_cycles.with_openimagedenoise),
        "folders": folders(),
    }


def module_folder():
    """Where the library of a `bpy` module is; the module itself names a part in Python as its file."""
    import bpy

    return os.path.dirname(os.path.normpath(bpy.utils.resource_path("LOCAL")))


def folders():
    """Where the engine and its Python have their files."""
    import sys

    import bpy

    found = [bpy.utils.resource_path(kind) for kind in ("SYSTEM", "LOCAL")]
    found += [os.path.dirname(bpy.app.binary_path)] if bpy.app.binary_path else [sys.prefix, sys.base_prefix]
    found += sys.path
    # A virtual environment is small links to a Python that is elsewhere.
    found += [os.path.dirname(os.path.realpath(sys.executable))] if not bpy.app.binary_path else []
    return sorted({path for path in found if path and os.path.isabs(path)})


def processors(cycles):
    return [device[0] for device in cycles.available_devices("CPU") if device[1] == "CPU"][:1]


def gpus(preferences, kind):
    try:
        found = preferences.get_devices_for_type(kind)
    except (ValueError, TypeError):
        return []
    return [{"kind": kind, "id": device.id, "name": device.name} for device in found if device.type == kind]


def kernels(cycles):
    """The instruction sets of the processor that Cycles knows, as it lists them: its rounding depends on them."""
    words = [word for line in cycles.system_info().splitlines() for word in line.replace(",", " ").split()]
    return sorted({word.upper() for word in words} & {"SSE2", "SSE3", "SSE41", "SSE42", "AVX", "AVX2", "NEON"})


serve(ask)
