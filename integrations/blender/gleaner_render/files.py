"""Which files a scene needs besides itself, and who uses them.

Reads Blender's data only; copies and changes nothing. The add-on collects by it, and the `gleaner-blender` crate
embeds it to look at scenes before anything is paid: so both know the same files.
"""

import os
import re

import bpy

USERS_MAX = 5
FILES_MAX = 20000


def collect():
    """Every external file, as dictionaries with kind, path, resolved, exists, linked and users."""
    files = {}
    users = Users()
    for kind, owner, path, wanted in references():
        for resolved in expand(path, owner, wanted):
            add(files, users, kind, owner, path, resolved)
    for resolved in bpy.utils.blend_paths(absolute=True, packed=False, local=False):
        resolved = os.path.normpath(resolved)
        if resolved not in files and not is_covered(files, resolved):
            add(files, users, "other", None, resolved, resolved)
    return [files[key] for key in sorted(files)][:FILES_MAX]


def add(files, users, kind, owner, path, resolved):
    entry = files.get(resolved)
    if entry is None:
        entry = {
            "kind": kind,
            "path": path,
            "resolved": resolved,
            "exists": os.path.exists(resolved),
            "linked": owner is not None and owner.library is not None,
            "users": [],
        }
        files[resolved] = entry
    for name in users.of(owner):
        if name not in entry["users"] and len(entry["users"]) < USERS_MAX:
            entry["users"].append(name)


def is_covered(files, resolved):
    """Blender lists a picture in many tiles, or a sequence, under a name that is none of its files."""
    return "<" in resolved or any(entry["path"] == resolved for entry in files.values())


def references():
    """Kind, owner, path and the names to look for, of everything that is not packed."""
    for library in bpy.data.libraries:
        if library.packed_file is None:
            yield "library", library, library.filepath, None
    for image in bpy.data.images:
        if image.source in {"FILE", "SEQUENCE", "MOVIE", "TILED"} and image.filepath and not is_packed(image):
            yield "texture", image, image.filepath, tiles(image)
    yield from plain("sound", bpy.data.sounds)
    yield from plain("font", (font for font in bpy.data.fonts if font.filepath != "<builtin>"))
    yield from plain("volume", bpy.data.volumes)
    yield from plain("movie clip", bpy.data.movieclips)
    yield from plain("cache", bpy.data.cache_files)
    yield from nodes()
    for thing in bpy.data.objects:
        yield from caches(thing)


def plain(kind, items):
    for item in items:
        if item.filepath and getattr(item, "packed_file", None) is None:
            yield kind, item, item.filepath, None


def is_packed(image):
    return image.packed_file is not None or len(getattr(image, "packed_files", ())) > 0


def tiles(image):
    if image.source != "TILED":
        return None
    return [tile.number for tile in image.tiles]


def nodes():
    """Lamps with measured light (IES) and shaders in OSL."""
    trees = [owner.node_tree for owner in (*bpy.data.materials, *bpy.data.worlds, *bpy.data.lights) if owner.node_tree]
    for tree in (*trees, *bpy.data.node_groups):
        for node in tree.nodes:
            if node.type in {"TEX_IES", "SCRIPT"} and node.mode == "EXTERNAL" and node.filepath:
                yield ("light profile" if node.type == "TEX_IES" else "shader"), tree, node.filepath, None


def caches(thing):
    """What modifiers of an object read from the disk."""
    for modifier in thing.modifiers:
        if modifier.type in {"MESH_CACHE", "OCEAN"} and getattr(modifier, "filepath", "") and is_read(modifier):
            yield "cache", thing, modifier.filepath, None
        domain = getattr(modifier, "domain_settings", None)
        if modifier.type == "FLUID" and domain is not None:
            yield "cache", thing, domain.cache_directory, None
        cache = getattr(modifier, "point_cache", None)
        if cache is not None and cache.use_external and cache.filepath:
            yield "cache", thing, cache.filepath, None


def is_read(modifier):
    return modifier.type == "MESH_CACHE" or getattr(modifier, "is_cached", False)


def expand(path, owner, wanted):
    """The real files behind a path, which may stand for many."""
    resolved = os.path.normpath(bpy.path.abspath(path, library=base(owner)))
    if getattr(owner, "source", None) == "SEQUENCE":
        return sequence(resolved)
    if wanted is None or not re.search(r"<(UDIM|UVTILE)>", resolved):
        return [resolved]
    return [resolved.replace("<UDIM>", str(number)).replace("<UVTILE>", uv_tile(number)) for number in wanted]


def sequence(first):
    """The numbered neighbours of a file, or the file itself where there are none."""
    folder, name = os.path.split(first)
    number = re.search(r"\d+(?=\D*$)", name)
    if number is None or not os.path.isdir(folder):
        return [first]
    pattern = re.compile(re.escape(name[: number.start()]) + r"\d+" + re.escape(name[number.end() :]))
    found = sorted(entry for entry in os.listdir(folder) if pattern.fullmatch(entry))
    return [os.path.join(folder, entry) for entry in found] or [first]


def base(owner):
    """What a relative path is relative to: a library's own path counts from the scene that names it."""
    if owner is None or isinstance(owner, bpy.types.Library):
        return None
    return owner.library


def uv_tile(number):
    return "u{}_v{}".format((number - 1001) % 10 + 1, (number - 1001) // 10 + 1)


class Users:
    """Who uses a data-block, up to the objects, so that a person can find it."""

    DEPTH_MAX = 8

    def __init__(self):
        self.map = bpy.data.user_map()
        self.linked = {}
        for item in self.map:
            if item.library is not None:
                self.linked.setdefault(item.library, []).append(item)

    def of(self, owner):
        if owner is None:
            return []
        if isinstance(owner, bpy.types.Library):
            return self.of_library(owner)
        return self.above([owner])

    def of_library(self, library):
        items = sorted(self.linked.get(library, ()), key=lambda item: item.name_full)
        objects = [item for item in items if isinstance(item, bpy.types.Object)]
        return [describe(item) for item in (objects or items)[:USERS_MAX]]

    def above(self, items):
        """Walks up until there are objects; where there are none, the nearest user is named."""
        nearest = None
        seen = set(items)
        for _ in range(self.DEPTH_MAX):
            objects = sorted(describe(item) for item in items if isinstance(item, bpy.types.Object))
            if objects:
                return objects[:USERS_MAX]
            items = {user for item in items for user in self.map.get(item, ()) if user not in seen}
            items = {item for item in items if item.bl_rna.identifier not in {"Screen", "WindowManager", "WorkSpace"}}
            if not items:
                break
            seen |= items
            nearest = nearest or sorted(describe(item) for item in items)[:USERS_MAX]
        return nearest or []


def describe(item):
    return "{} {}".format(item.bl_rna.identifier.lower(), item.name)
