"""The panel in the render properties."""

import bpy


class GLEANER_PT_render(bpy.types.Panel):
    bl_label = "Render on Gleaner"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "render"

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        wanted = context.scene.gleaner
        state = context.window_manager.gleaner
        layout.prop(wanted, "what")
        if wanted.what == "LIST":
            layout.prop(wanted, "frames")
        layout.prop(wanted, "split")
        if wanted.split == "TILES":
            layout.prop(wanted, "columns")
            layout.prop(wanted, "rows")
        elif wanted.split == "SAMPLES":
            layout.prop(wanted, "ranges")
        layout.prop(wanted, "picture")
        if wanted.picture == "png":
            layout.prop(wanted, "video")
        layout.prop(wanted, "price_max")
        self.draw_steps(layout, state)

    def draw_steps(self, layout, state):
        row = layout.row()
        row.enabled = not state.is_running
        row.operator("gleaner.quote")
        row.operator("gleaner.render")
        if state.price:
            layout.label(text="Price: " + state.price)
        if state.is_running:
            layout.prop(state, "fraction", slider=True)
            layout.operator("gleaner.stop")
        for line in state.message.splitlines():
            layout.label(text=line)
        if state.results and not state.is_running:
            layout.operator("gleaner.open")


def register():
    bpy.utils.register_class(GLEANER_PT_render)


def unregister():
    bpy.utils.unregister_class(GLEANER_PT_render)
