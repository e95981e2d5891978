//! Connections that end with their server. axum lets each go on by itself, and one that is kept open for later would keep the
//! chain open too.
use axum::serve::Listener;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Accepts connections that last until the sender of `stopped` is gone.
pub(super) struct Lines {
    pub(super) listener: TcpListener,
    pub(super) stopped: watch::Receiver<()>,
}

/// One of them, also once it has become a WebSocket.
pub(super) struct Line {
    stream: TcpStream,
    /// None once it has come.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Listener for Lines {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let mut stopped = self.stopped.clone();
        let end = async move {
            // Nothing is ever sent: the sender goes.
            let _ = stopped.changed().await;
        };
        (Line { stream, end: Some(Box::pin(end)) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Line {
    /// Fails once the server has ended, and wakes the task by then. Reading and writing are one task's.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.end.as_mut().is_some_and(|end| end.as_mut().poll(context).is_ready()) {
            self.end = None;
        }
        match self.end {
            Some(_) => Ok(()),
            None => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the server has ended")),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let line = self.get_mut();
        line.check(context)?;
        Pin::new(&mut line.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let line = self.get_mut();
        line.check(context)?;
        Pin::new(&mut line.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let line = self.get_mut();
        line.check(context)?;
        Pin::new(&mut line.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
