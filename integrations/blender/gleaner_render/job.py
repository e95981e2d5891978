"""The job file of a render, as the `gleaner` program reads it. Knows nothing of Blender."""

import json

FOLDER = "files"


def job_text(name, scene, frames, split=None, picture="png", video=None, price_max=None):
    """`scene` is the path inside the folder of files; `split` is None, ("tiles", columns, rows) or ("samples", n)."""
    lines = ["name = {}".format(quoted(name)), ""]
    if price_max:
        lines += ["[budget]", "price_max = {}".format(quoted(price_max)), ""]
    lines += [
        "[[task]]",
        'name = "render"',
        'runtime = "blender"',
        "program = {}".format(quoted(FOLDER)),
        "",
        "[task.blender]",
        "scene = {}".format(quoted(scene)),
        "frames = {}".format(quoted(frames)),
        "format = {}".format(quoted(picture)),
    ]
    if split:
        lines.append("split = {}".format(split_text(split)))
    if video:
        lines.append("video = {}".format(quoted(video)))
    lines.append("")
    return "\n".join(lines)


def split_text(split):
    if split[0] == "tiles":
        return "{{ tiles = [{}, {}] }}".format(int(split[1]), int(split[2]))
    return "{{ samples = {} }}".format(int(split[1]))


def quoted(text):
    """A basic string of TOML is a string of JSON, but for one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
