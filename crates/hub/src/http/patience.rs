//! Bodies that hardly arrive: whoever sends nothing, or a byte now and then, does not hold a request open for ever.
use super::problem::Problem;
use axum::Error;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as _, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How long the hub waits for a body in all, beside the time that its bytes are worth. Longer than handlers that know what
/// they wait for.
const WAIT_MAX: Duration = Duration::from_secs(90);
/// So many bytes are worth a second of waiting.
const BYTES_PER_SECOND_MIN: u64 = 1024;

/// Answers for whoever handles a request whose body does not come.
pub(super) async fn patient(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let silent = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| Body::new(Awaited::new(body, WAIT_MAX, Arc::clone(&silent))));
    let response = next.run(request).await;
    if silent.load(Ordering::Relaxed) { silence().into_response() } else { response }
}

/// Nothing arrives.
pub(super) fn silence() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "silence", "nothing arrives", "send it again")
}

/// A body that is waited for only so long. Time that the hub takes for itself does not count.
struct Awaited {
    body: Body,
    wait_max: Duration,
    waited: Duration,
    arrived: u64,
    since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
    silent: Arc<AtomicBool>,
}

impl Awaited {
    fn new(body: Body, wait_max: Duration, silent: Arc<AtomicBool>) -> Self {
        Self { body, wait_max, waited: Duration::ZERO, arrived: 0, since: None, alarm: None, silent }
    }

    fn left(&self) -> Duration {
        let earned = Duration::from_secs(self.arrived / BYTES_PER_SECOND_MIN);
        (self.wait_max + earned).saturating_sub(self.waited)
    }

    /// Rings when there is no patience left.
    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.since.is_none() {
            let (now, left) = (Instant::now(), self.left());
            self.since = Some(now);
            match &mut self.alarm {
                Some(alarm) => alarm.as_mut().reset(now + left),
                None => self.alarm = Some(Box::pin(sleep(left))),
            }
        }
        self.alarm.as_mut().expect("it was just set").as_mut().poll(context)
    }
}

impl hyper::body::Body for Awaited {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            self.waited += waited;
            let bytes = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref);
            self.arrived += bytes.map_or(0, |bytes| bytes.len() as u64);
            return Poll::Ready(frame);
        }
        ready!(self.poll_alarm(context));
        self.silent.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use futures_util::stream::{self, StreamExt};
    use std::convert::Infallible;

    const SOON: Duration = Duration::from_millis(50);
    /// More than a test waits for.
    const LONG: Duration = Duration::from_secs(3600);

    fn awaited(body: Body, wait_max: Duration) -> (Body, Arc<AtomicBool>) {
        let silent = Arc::new(AtomicBool::new(false));
        (Body::new(Awaited::new(body, wait_max, Arc::clone(&silent))), silent)
    }

    fn pieces(count: usize, bytes: usize, pause: Duration) -> Body {
        let piece = move |_| async move {
            sleep(pause).await;
            Ok::<_, Infallible>(Bytes::from(vec![0; bytes]))
        };
        Body::from_stream(stream::iter(0..count).then(piece))
    }

    #[tokio::test]
    async fn a_body_that_never_comes_is_given_up() {
        let (body, silent) = awaited(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()), SOON);
        assert!(to_bytes(body, usize::MAX).await.is_err());
        assert!(silent.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn a_byte_now_and_then_is_no_way_to_stay() {
        let (body, silent) = awaited(pieces(1_000_000, 1, Duration::from_millis(5)), SOON);
        assert!(to_bytes(body, usize::MAX).await.is_err());
        assert!(silent.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn bytes_earn_time() {
        // All the pauses are longer than what is waited at first; what arrived is worth hours.
        let (body, silent) = awaited(pieces(20, 1 << 20, Duration::from_millis(5)), Duration::from_millis(40));
        assert_eq!(to_bytes(body, usize::MAX).await.expect("all of it").len(), 20 << 20);
        assert!(!silent.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn an_ordinary_body_is_left_alone() {
        let (body, silent) = awaited(Body::from("hello"), LONG);
        assert_eq!(body.size_hint().exact(), Some(5));
        assert_eq!(to_bytes(body, 5).await.expect("all of it"), "hello");
        assert!(!silent.load(Ordering::Relaxed));
    }
}
