//! What sharing a machine is like: how soon its owner has it back, how soon a container's task runs, and how much sooner a
//! frame is done on four machines than on one.
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use gleaner_client::Draft;
use gleaner_wire::api::JobState;
use tokio::time::sleep;

use super::figure::Figure;
use super::floor::percentile;
use super::local::{Local, run_to_end};

/// How often an owner comes back in one measurement, and how often a warm container starts.
const RUNS: u32 = 10;
const WAIT_MAX: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// What an owner allows by default.
const ALLOWED: f64 = 2.0;
const GAME: &str =
    "busy_percent = 90\n[[process]]\npid = 4242\nname = \"game\"\nmemory = \"3GiB\"\nbusy_percent = 85\n";
const QUIET: &str = "busy_percent = 0\n";
/// So that the device is shared again soon; how soon it is given back does not depend on it.
const PREFERENCES: &str = "[yield]\nprocess_quiet = \"1s\"\n";
/// It does not end when it is asked to, so it has to be ended.
const STUBBORN: &str = "trap '' TERM; while :; do sleep 1; done";

/// Measures all of it, with an image in OCI layout that has a shell, and a scene.
pub async fn measure(image: &Path, scene: &Path) -> Result<Vec<Figure>> {
    let mut figures = starts(image).await?;
    figures.extend(yields(image).await?);
    figures.extend(frame(scene).await?);
    Ok(figures)
}

fn container(folder: &Path, image: &Path, script: &str) -> Result<Draft> {
    let image = std::path::absolute(image).context("cannot find the image")?;
    let job = format!(
        "name = \"container\"\nprefer = \"fast\"\n[budget]\nprice_max = \"50 GLN\"\n[[task]]\nname = \"c\"\n\
         runtime = \"container\"\nprogram = {:?}\ntime_max = \"1h\"\nmemo = false\n\
         [task.container]\ncommand = [\"sh\", \"-c\", {script:?}]\n",
        image.display().to_string()
    );
    read(folder, "container.toml", &job)
}

fn read(folder: &Path, name: &str, job: &str) -> Result<Draft> {
    let path = folder.join(name);
    std::fs::write(&path, job).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Draft::read(&path)?)
}

/// A container task from submission to its end: on a machine that has nothing of its image, and on one that has all of it.
async fn starts(image: &Path) -> Result<Vec<Figure>> {
    let local = Local::with(1, &["--no-gpu", "--cpu-slots", "1", "--no-blender"]).await?;
    let once = async || -> Result<f64> {
        // Read anew, or it would be the same submission once more.
        let draft = container(local.folder(), image, "true")?;
        let begun = Instant::now();
        let view = run_to_end(&local.network.client, &draft).await?;
        ensure!(view.summary.state == JobState::Done, "the container did not run: {view:?}");
        Ok(begun.elapsed().as_secs_f64())
    };
    let cold = once().await?;
    let mut warm = Vec::new();
    for _ in 0..RUNS {
        warm.push(once().await?);
    }
    local.stop().await?;
    let bare = bare_start()?;
    let floor = "a bare process";
    Ok(vec![
        Figure::rate("a container task, image nowhere on the worker", cold * 1e3, "ms", floor, bare * 1e3),
        Figure::rate("a container task, image there, p50", percentile(warm, 50) * 1e3, "ms", floor, bare * 1e3),
    ])
}

fn bare_start() -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let begun = Instant::now();
        std::process::Command::new("/bin/true").status().context("cannot start a process")?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(percentile(times, 50))
}

/// From the moment in which a game shows on the device until nothing of the task is left on it.
async fn yields(image: &Path) -> Result<Vec<Figure>> {
    let preferences = tempfile::NamedTempFile::new().context("cannot make a file for the benchmark")?;
    std::fs::write(&preferences, PREFERENCES).context("cannot write the benchmark's preferences")?;
    let file = preferences.path().to_str().context("a strange folder for temporary files")?;
    let local = Local::with(1, &["--no-gpu", "--cpu-slots", "1", "--no-blender", "--preferences", file]).await?;
    let endless = "name = \"endless\"\n[budget]\nprice_max = \"50 GLN\"\n[[task]]\nname = \"endless\"\nruntime = \"wasm\"\n\
                   program = \"endless.wasm\"\ntime_max = \"1h\"\nmemo = false\n";
    std::fs::write(local.folder().join("endless.wasm"), ENDLESS).context("cannot write the benchmark's program")?;
    let endless = read(local.folder(), "endless.toml", endless)?;
    let stubborn = container(local.folder(), image, STUBBORN)?;
    let mut figures = Vec::new();
    for (name, draft) in [("a wasm task", endless), ("a container that does not want to end", stubborn)] {
        let times = times(&local, &draft).await?;
        let figure = |part: &str, percent| {
            let seconds = percentile(times.clone(), percent);
            let name = format!("owner has the device back from {name}, {part}");
            Figure::rate(name, seconds, "s", "what the owner allows", ALLOWED).goal("ratio below 1")
        };
        figures.extend([figure("p50", 50), figure("worst", 100)]);
    }
    local.stop().await?;
    Ok(figures)
}

async fn times(local: &Local, draft: &Draft) -> Result<Vec<f64>> {
    let client = &local.network.client;
    let worker = local.state().join("workers/1");
    let device = worker.join("simulated-device.toml");
    let write = |text: &str| std::fs::write(&device, text).context("cannot write the simulated device");
    let (submitted, _keys) = client.submit(draft).await?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        wait(async || Ok(client.job(submitted.job).await?.summary.running == 1)).await?;
        // It has to be at its work, not at its beginning.
        sleep(Duration::from_secs(2)).await;
        let before = freed(local)?;
        let begun = Instant::now();
        write(GAME)?;
        wait(async || Ok(freed(local)? > before)).await?;
        times.push(begun.elapsed().as_secs_f64());
        // The hub hears of it a little later; until then it would say that the task runs, and the next game would come too soon.
        wait(async || Ok(client.job(submitted.job).await?.summary.running == 0)).await?;
        write(QUIET)?;
    }
    client.cancel(submitted.job).await?;
    wait(async || Ok(client.job(submitted.job).await?.summary.state.has_ended())).await?;
    Ok(times)
}

/// How often the worker has said that a device was free.
fn freed(local: &Local) -> Result<usize> {
    let log = local.worker_log(1);
    let text = std::fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    Ok(text.matches("was free after").count())
}

async fn wait(mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !condition().await? {
        if begun.elapsed() > WAIT_MAX {
            bail!("what is measured did not happen within {} s", WAIT_MAX.as_secs());
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// A frame, whole on one machine and in four tiles on four.
async fn frame(scene: &Path) -> Result<Vec<Figure>> {
    let whole = rendered(1, scene, "").await?;
    let split = rendered(4, scene, "split = { tiles = [2, 2] }\n").await?;
    let floor = "the whole frame on one worker";
    Ok(vec![Figure::rate("a frame in 4 tiles on 4 workers of one core each", split, "s", floor, whole)])
}

async fn rendered(workers: u32, scene: &Path, split: &str) -> Result<f64> {
    let options = ["--no-gpu", "--cpu-slots", "1", "--no-containers"];
    let local = Local::with(workers, &options).await?;
    let scene = std::path::absolute(scene).context("cannot find the scene")?;
    let job = format!(
        "name = \"frame\"\nprefer = \"fast\"\n[budget]\nprice_max = \"50 GLN\"\n[[task]]\nname = \"frame\"\n\
         runtime = \"blender\"\nprogram = {:?}\ntime_max = \"1h\"\nmemo = false\n\
         [task.blender]\nframes = \"3\"\nsamples = 64\nresolution = [640, 360]\n{split}",
        scene.display().to_string()
    );
    let draft = read(local.folder(), "frame.toml", &job)?;
    let begun = Instant::now();
    let view = run_to_end(&local.network.client, &draft).await?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(view.summary.state == JobState::Done, "the frame was not rendered: {view:?}");
    local.stop().await?;
    Ok(took)
}

/// `(module (func (export "_start") (loop (br 0))))`
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x0a\x01\x06_start\0\0\
    \x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endless_program_is_what_its_text_says() {
        let text = "(module (func (export \"_start\") (loop (br 0))))";
        assert_eq!(wat::parse_str(text).expect("a module"), ENDLESS);
    }
}
