//! A hub process that is really killed.
use crate::place::{Api, config};
use crate::worker::{Worker, done_with};
use gleaner_core::Params;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Set in the process that is to be killed: the hub's folder.
const FOLDER: &str = "GLEANER_TEST_KILLED_HUB";
const NAME: &str = "kill::a_hub_killed_in_the_middle_of_work_loses_nothing_it_acknowledged";
/// How often the hub is killed.
const KILLS: u32 = 5;

pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A hub in a process of its own, which is killed when what this returns is dropped.
pub fn spawn(dir: &Path) -> (Process, Api) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).env(FOLDER, dir).stdout(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    let address = lines.map_while(Result::ok).find_map(|line| Some(line.split_once("hub at ")?.1.to_owned()));
    (process, Api::at(&address.expect("the hub says where it is"), &dir.join("api.token")))
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the killed process says its address to its parent")]
async fn a_hub_killed_in_the_middle_of_work_loses_nothing_it_acknowledged() {
    if let Some(dir) = std::env::var_os(FOLDER) {
        let hub = gleaner_hub::start(config(Path::new(&dir), Params::default())).await.unwrap();
        println!("hub at {}", hub.address());
        std::future::pending::<()>().await;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut process, mut api) = spawn(dir.path());
    let job = api.submit_array(1_000_000, 1).await.job;
    let mut acknowledged = 0;
    for _ in 0..KILLS {
        let mut worker = Worker::join(&api, 1).await;
        let mut starts = worker.starts().await;
        for round in 0..5 {
            let batch = worker.finish(starts.iter().map(done_with).collect()).await;
            if round == 4 {
                // This batch may or may not be on disk when the process dies.
                break;
            }
            acknowledged += starts.len() as u64;
            starts = worker.acknowledged(batch).await;
            if starts.is_empty() {
                starts = worker.starts().await;
            }
        }
        drop(process);
        (process, api) = spawn(dir.path());
        let summary = api.job(job).await.summary;
        assert!(summary.done >= acknowledged, "{} of {acknowledged} are known", summary.done);
        acknowledged = summary.done;
    }
    drop(process);
}
