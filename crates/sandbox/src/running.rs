//! A job that runs: how its owner steers it and learns of its end.

use crate::Ending;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

pub(crate) const ORDERS_MAX: usize = 16;

/// What a supervisor is told.
#[derive(Debug)]
pub(crate) enum Order {
    Stop { grace: Duration },
    Freeze { frozen: bool, done: oneshot::Sender<bool> },
}

/// A running job. Dropping it, and every [`Controls`] made of it, kills the job.
#[derive(Debug)]
pub struct Running {
    controls: Controls,
    ending: oneshot::Receiver<Ending>,
}

/// Steers a running job from elsewhere.
#[derive(Debug, Clone)]
pub struct Controls(mpsc::Sender<Order>);

impl Running {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Order>, oneshot::Sender<Ending>) {
        let (orders, receiver) = mpsc::channel(ORDERS_MAX);
        let (sender, ending) = oneshot::channel();
        (Self { controls: Controls(orders), ending }, receiver, sender)
    }

    /// A handle that stops, freezes and thaws the job while somebody else waits for its end.
    #[must_use]
    pub fn controls(&self) -> Controls {
        self.controls.clone()
    }

    /// Waits for the end. When it returns, nothing of the job runs any more.
    pub async fn ending(self) -> Ending {
        let fault = || Ending {
            cause: crate::Cause::SandboxFault {
                what: "the supervisor of the job went away".into(),
                remedy: "restart the worker, and report this: it should not happen".into(),
            },
            usage: crate::Usage::default(),
        };
        self.ending.await.unwrap_or_else(|_| fault())
    }
}

impl Controls {
    /// Asks the program to end (SIGTERM), and kills it after `grace`. A job that has ended already stays as it is.
    pub async fn stop(&self, grace: Duration) {
        let _ = self.0.send(Order::Stop { grace }).await;
    }

    /// Stops its processes where they are, and says whether they stand still now; their memory stays. The time limit stands
    /// still as well. A job that is being stopped or has ended is not frozen.
    pub async fn freeze(&self) -> bool {
        self.set_frozen(true).await
    }

    /// Lets it run on, and says whether it does.
    pub async fn thaw(&self) -> bool {
        self.set_frozen(false).await
    }

    async fn set_frozen(&self, frozen: bool) -> bool {
        let (done, answer) = oneshot::channel();
        self.0.send(Order::Freeze { frozen, done }).await.is_ok() && answer.await.unwrap_or(false)
    }
}
