//! A command inside a machine.
use super::Error;
use std::io;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Output};

/// A command that runs inside a machine. It is killed when this is dropped, and by the kernel should this process die.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    name: String,
}

impl Process {
    pub(crate) fn new(child: Child, name: String) -> Self {
        Self { child: Some(child), name }
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is taken by what consumes the process only")
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// What it writes, if that was piped and not taken before.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child().stdout.take()
    }

    /// What it reads, if that was piped and not taken before.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child().stdin.take()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> Result<bool, Error> {
        let name = self.name.clone();
        self.child().try_wait().map(|ended| ended.is_none()).map_err(Error::system(format!("looking after {name}")))
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        let name = self.name.clone();
        self.child().wait().map_err(Error::system(format!("waiting for {name}")))
    }

    /// Waits for its end and takes all that it wrote and that was piped.
    pub fn output(mut self) -> Result<Output, Error> {
        let child = self.child.take().expect("it is taken by what consumes the process only");
        child.wait_with_output().map_err(Error::system(format!("waiting for {}", self.name)))
    }

    /// kill -9.
    pub fn kill(mut self) -> Result<(), Error> {
        let name = self.name.clone();
        self.end().map_err(Error::system(format!("killing {name}")))
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait().map(drop)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
