"""Puts a scene and everything it needs into one folder, such that every relative path still holds.

Files keep their places relative to each other, below the folder that all of them share. The scene that is open stays
as it is: what is changed is the copy.
"""

import os
import shutil

import bpy

from . import files


class Problem(Exception):
    """Why a scene cannot be sent, one line for each file."""


def collect_into(folder):
    """Fills the folder; returns the scene's path inside it, with forward slashes."""
    if not bpy.data.filepath:
        raise Problem("Save the scene first: paths in it are relative to where it is")
    needed = files.collect()
    refuse(needed)
    blend = os.path.abspath(bpy.data.filepath)
    root = shared_folder([blend] + [entry["resolved"] for entry in needed])
    for entry in needed:
        place(entry["resolved"], os.path.join(folder, inside(entry["resolved"], root)))
    copy = os.path.join(folder, inside(blend, root))
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    save_copy(copy)
    return inside(blend, root).replace(os.sep, "/")


def refuse(needed):
    lines = []
    for entry in needed:
        users = " (used by {})".format(", ".join(entry["users"])) if entry["users"] else ""
        name = "the {} {}{}".format(entry["kind"], entry["path"], users)
        if not entry["exists"]:
            lines.append(name + " is missing")
        elif entry["linked"] and not entry["path"].startswith("//"):
            lines.append(name + " is named by an absolute path in a library")
    if lines:
        raise Problem("\n".join(lines))


def shared_folder(paths):
    folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
    try:
        return os.path.commonpath(folders)
    except ValueError:
        raise Problem("The scene and its files are on different drives: bring them onto one") from None


def inside(path, root):
    return os.path.relpath(os.path.abspath(path), root)


def place(source, target):
    """Links rather than copies where it can: caches and volumes are large."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, dirs_exist_ok=True)
        return
    if os.path.exists(target):
        return
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def save_copy(path):
    """Saves with relative paths only, and gives the open scene its own paths back."""
    before = [(item, name, getattr(item, name)) for item, name in named()]
    try:
        bpy.ops.file.make_paths_relative()
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True, relative_remap=False)
    finally:
        for item, name, value in before:
            if getattr(item, name) != value:
                setattr(item, name, value)


def named():
    """What of the open scene names a file, without making Blender load it anew when it is written."""
    for item in bpy.data.images:
        if item.library is None:
            yield item, "filepath_raw"
    data = bpy.data
    for collection in (data.libraries, data.sounds, data.fonts, data.volumes, data.movieclips, data.cache_files):
        for item in collection:
            if item.library is None:
                yield item, "filepath"
