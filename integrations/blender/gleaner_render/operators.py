"""Quote, render, stop, open: what the buttons of the panel do."""

import os
import shutil
import tempfile

import bpy

from . import collect, job, program, settings

PACE_S = 1.0
running = {}


def base(context):
    """A function that makes commands out of words, with the preferences' hub."""
    wanted = context.preferences.addons[__package__].preferences
    return lambda *words: program.command(wanted.program, wanted.hub, wanted.token_file, *words)


def make_job(scene):
    """Writes a job folder: the files, and the job beside them. Returns the folder and the job file."""
    folder = tempfile.mkdtemp(prefix="gleaner-")
    try:
        inside = collect.collect_into(os.path.join(folder, job.FOLDER))
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    wanted = scene.gleaner
    video = wanted.video if wanted.picture == "png" and wanted.video != "none" else None
    name = bpy.path.display_name_from_filepath(bpy.data.filepath)
    text = job.job_text(
        name, inside, settings.frames_of(scene), settings.split_of(scene), wanted.picture, video, wanted.price_max
    )
    path = os.path.join(folder, "job.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return folder, path


class Step:
    """What both ways of asking the program have in common."""

    @classmethod
    def poll(cls, context):
        return not context.window_manager.gleaner.is_running

    def execute(self, context):
        state = context.window_manager.gleaner
        try:
            # First whether there is a program at all: copying files takes time.
            make = base(context)
            make("--version")
            folder, path = make_job(context.scene)
            self.begin(make, folder, path)
        except (collect.Problem, program.Missing, OSError) as problem:
            state.message = str(problem)
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        state.is_running, state.fraction, state.message = True, 0.0, ""
        bpy.app.timers.register(self.tick(), first_interval=PACE_S)
        return {"FINISHED"}


class GLEANER_OT_quote(Step, bpy.types.Operator):
    bl_idname = "gleaner.quote"
    bl_label = "Quote"
    bl_description = "Asks the hub what this render costs; nothing is rendered"

    def begin(self, make, folder, path):
        running["call"] = program.Call(make("quote", path, "--json"), folder, "quote")

    def tick(self):
        def tick():
            call = running["call"]
            if not call.ended():
                return PACE_S
            state = bpy.context.window_manager.gleaner
            state.is_running = False
            answer = call.answer()
            answer = answer if isinstance(answer, dict) else {}
            state.price = str(answer.get("price", ""))
            state.message = call.problem() or program.quote_words(answer)
            shutil.rmtree(call.folder, ignore_errors=True)
            redraw()
            return None

        return tick


class GLEANER_OT_render(Step, bpy.types.Operator):
    bl_idname = "gleaner.render"
    bl_label = "Render on Gleaner"
    bl_description = "Sends the scene with its files, and fetches the pictures"

    def begin(self, make, folder, path):
        running["run"] = program.Run(make, path, os.path.join(folder, "out"), folder)

    def tick(self):
        def tick():
            run = running["run"]
            goes_on = run.step()
            state = bpy.context.window_manager.gleaner
            state.fraction = run.fraction()
            state.message = "job {}".format(run.number) if run.number else "sending"
            if not goes_on:
                end(state, run)
            redraw()
            return PACE_S if goes_on else None

        return tick


def end(state, run):
    state.is_running = False
    state.message = run.problem() or run.outcome()
    if run.problem() is None:
        state.results = run.results
        show(run.pictures())


class GLEANER_OT_stop(bpy.types.Operator):
    bl_idname = "gleaner.stop"
    bl_label = "Stop"
    bl_description = "Cancels the render; what was not used of its price comes back"

    @classmethod
    def poll(cls, context):
        return context.window_manager.gleaner.is_running

    def execute(self, context):
        run = running.get("run")
        if run is not None and run.number is not None:
            running["cancel"] = program.Call(base(context)("job", "cancel", run.number), run.folder, "cancel")
        elif run is not None:
            run.call.stop()
        if running.get("call") is not None:
            running["call"].stop()
        return {"FINISHED"}


class GLEANER_OT_open(bpy.types.Operator):
    bl_idname = "gleaner.open"
    bl_label = "Open Result"
    bl_description = "Shows the first picture in an image editor"

    def execute(self, context):
        run = running.get("run")
        if run is None or not run.pictures():
            self.report({"WARNING"}, "There is no picture")
            return {"CANCELLED"}
        show(run.pictures())
        return {"FINISHED"}


def show(pictures):
    """Loads the first picture, and shows it where an image editor is open."""
    if not pictures:
        return None
    image = bpy.data.images.load(pictures[0], check_existing=True)
    image.name = "Gleaner Result"
    for area in areas():
        if area.type == "IMAGE_EDITOR":
            area.spaces.active.image = image
    return image


def areas():
    for window in bpy.context.window_manager.windows:
        yield from window.screen.areas


def redraw():
    for area in areas():
        if area.type == "PROPERTIES":
            area.tag_redraw()


CLASSES = (GLEANER_OT_quote, GLEANER_OT_render, GLEANER_OT_stop, GLEANER_OT_open)


def register():
    for one in CLASSES:
        bpy.utils.register_class(one)


def unregister():
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
