"""Render on Gleaner: a panel in the render properties that quotes, submits, follows and opens a render.

The work is done by the `gleaner` program, which seals everything on this machine before it is sent.
"""

bl_info = {
    "name": "Render on Gleaner",
    "author": "The Gleaner project",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "Properties > Render > Render on Gleaner",
    "description": "Renders frames on idle GPUs at a price that is known beforehand",
    "category": "Render",
}

from . import operators, panel, settings

PARTS = (settings, operators, panel)


def register():
    for part in PARTS:
        part.register()


def unregister():
    for part in reversed(PARTS):
        part.unregister()
