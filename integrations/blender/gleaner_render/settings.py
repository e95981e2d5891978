"""What the panel remembers: which hub, how to split, and how far the render is."""

import bpy


class GleanerPreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    program: bpy.props.StringProperty(name="Program", default="gleaner", subtype="FILE_PATH")
    hub: bpy.props.StringProperty(name="Hub", description="Address of the hub; empty: the one of this machine")
    token_file: bpy.props.StringProperty(
        name="Token file", description="File with the hub's token; empty: the one of this machine", subtype="FILE_PATH"
    )

    def draw(self, _):
        self.layout.prop(self, "program")
        self.layout.prop(self, "hub")
        self.layout.prop(self, "token_file")


class GleanerRender(bpy.types.PropertyGroup):
    """Saved with the scene."""

    what: bpy.props.EnumProperty(
        name="Frames",
        items=[
            ("CURRENT", "Current frame", "The frame that is shown"),
            ("RANGE", "Frame range", "The scene's range of frames"),
            ("LIST", "These frames", "Frames as they are written below"),
        ],
    )
    frames: bpy.props.StringProperty(
        name="Frames", default="1-10", description='Such as "1-250", "1-250x5" or "3,7,9-12"'
    )
    split: bpy.props.EnumProperty(
        name="Split",
        items=[
            ("WHOLE", "Whole frames", "One task for each frame"),
            ("TILES", "Tiles", "Each frame in tiles, equal to the unsplit frame (Cycles)"),
            ("SAMPLES", "Samples", "Each frame in ranges of samples (Cycles)"),
        ],
    )
    columns: bpy.props.IntProperty(name="Columns", default=2, min=1, max=64)
    rows: bpy.props.IntProperty(name="Rows", default=2, min=1, max=64)
    ranges: bpy.props.IntProperty(name="Ranges", default=4, min=2, max=4096)
    picture: bpy.props.EnumProperty(name="Format", items=[("png", "PNG", ""), ("exr", "OpenEXR", "")])
    video: bpy.props.EnumProperty(name="Video", items=[("none", "None", ""), ("mp4", "MP4", ""), ("webm", "WebM", "")])
    price_max: bpy.props.StringProperty(name="At most", default="1 GLN", description="The render never costs more")


class GleanerState(bpy.types.PropertyGroup):
    """Of this session."""

    message: bpy.props.StringProperty()
    price: bpy.props.StringProperty()
    is_running: bpy.props.BoolProperty()
    fraction: bpy.props.FloatProperty(name="Done", min=0.0, max=1.0, subtype="FACTOR")
    results: bpy.props.StringProperty()


def frames_of(scene):
    wanted = scene.gleaner
    if wanted.what == "CURRENT":
        return str(scene.frame_current)
    if wanted.what == "LIST":
        return wanted.frames
    step = "x{}".format(scene.frame_step) if scene.frame_step > 1 else ""
    return "{}-{}{}".format(scene.frame_start, scene.frame_end, step)


def split_of(scene):
    wanted = scene.gleaner
    if wanted.split == "TILES":
        return ("tiles", wanted.columns, wanted.rows)
    if wanted.split == "SAMPLES":
        return ("samples", wanted.ranges)
    return None


CLASSES = (GleanerPreferences, GleanerRender, GleanerState)


def register():
    for one in CLASSES:
        bpy.utils.register_class(one)
    bpy.types.Scene.gleaner = bpy.props.PointerProperty(type=GleanerRender)
    bpy.types.WindowManager.gleaner = bpy.props.PointerProperty(type=GleanerState)


def unregister():
    del bpy.types.WindowManager.gleaner
    del bpy.types.Scene.gleaner
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
