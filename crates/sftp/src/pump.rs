//! Moves packets between an SSH channel and the SFTP session behind it.
//!
//! What is in memory is bounded whatever the client does: a client that does not read its answers is served no further, and
//! disconnected if it goes on asking. While answers wait for the client, the channel is still read, because the news that
//! the client can take more arrives on the same connection.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use russh::server::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::task::spawn_blocking;

use crate::packet::PACKET_BYTES_MAX;
use crate::session::Session;

/// The only subsystem there is.
pub(crate) const SUBSYSTEM: &str = "sftp";
/// Answers are gathered up to this size before they are sent.
const ANSWERS_BYTES_MAX: usize = 1024 * 1024;
/// Requests are gathered up to this size before they are answered.
const GATHERED_BYTES_MAX: usize = 1024 * 1024;
/// Requests are taken apart this many at a time.
const PACKETS_MAX: usize = 256;
/// A client that has asked this much without reading its answers is disconnected.
const BACKLOG_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a channel ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error("the client closed the channel")]
    Closed,
    #[error("the client asks without reading its answers")]
    Unread,
    #[error("the client broke the SFTP protocol")]
    Malformed,
    #[error("the session cannot go on")]
    Failed,
}

struct Pump {
    from: ChannelReadHalf,
    backlog: BytesMut,
    /// The client sends no more.
    is_finished: bool,
}

/// Serves one channel until it ends. `open` makes the session, once the client has asked for it. After an error, nothing
/// more can be done for the whole connection.
pub(crate) async fn run(
    channel: Channel<Msg>,
    open: impl FnOnce() -> Option<Session> + Send + 'static,
) -> Result<(), End> {
    let (from, to) = channel.split();
    let mut pump = Pump { from, backlog: BytesMut::new(), is_finished: false };
    match pump.serve(&to, open).await {
        Ok(()) | Err(End::Closed) => {}
        Err(end) => return Err(end),
    }
    // A connection that is gone cannot be told.
    drop(to.exit_status(0).await);
    drop(to.eof().await);
    drop(to.close().await);
    Ok(())
}

impl Pump {
    async fn serve(
        &mut self,
        to: &ChannelWriteHalf<Msg>,
        open: impl FnOnce() -> Option<Session> + Send + 'static,
    ) -> Result<(), End> {
        self.wait_for_start().await?;
        let mut session = spawn_blocking(open).await.map_err(|_| End::Failed)?.ok_or(End::Failed)?;
        let mut asked = VecDeque::new();
        loop {
            if asked.is_empty() {
                self.split_packets(&mut asked)?;
            }
            if asked.is_empty() {
                if self.is_finished {
                    return Ok(());
                }
                self.gather().await?;
                continue;
            }
            let answered = spawn_blocking(move || {
                let answers = answer(&mut session, &mut asked)?;
                Ok((session, asked, answers))
            });
            let answers;
            (session, asked, answers) = answered.await.map_err(|_| End::Failed)??;
            self.send(to, answers).await?;
        }
    }

    /// Waits until the client asks for SFTP on this channel.
    async fn wait_for_start(&mut self) -> Result<(), End> {
        loop {
            match self.from.wait().await {
                Some(ChannelMsg::RequestSubsystem { name, .. }) if name == SUBSYSTEM => return Ok(()),
                Some(ChannelMsg::Data { .. } | ChannelMsg::ExtendedData { .. }) => return Err(End::Malformed),
                Some(ChannelMsg::Eof | ChannelMsg::Close) | None => return Err(End::Closed),
                // Requests that were refused.
                Some(_) => {}
            }
        }
    }

    fn take(&mut self, message: Option<ChannelMsg>) -> Result<(), End> {
        match message {
            Some(ChannelMsg::Data { data }) => self.backlog.extend_from_slice(&data),
            Some(ChannelMsg::Eof) => self.is_finished = true,
            Some(ChannelMsg::Close) | None => return Err(End::Closed),
            // Nothing else means anything on this channel.
            Some(_) => {}
        }
        Ok(())
    }

    /// Waits for something to arrive, and takes what else is there.
    async fn gather(&mut self) -> Result<(), End> {
        let message = self.from.wait().await;
        self.take(message)?;
        while !self.is_finished && self.backlog.len() < GATHERED_BYTES_MAX {
            tokio::select! {
                biased;
                message = self.from.wait() => self.take(message)?,
                () = std::future::ready(()) => break,
            }
        }
        Ok(())
    }

    /// Takes whole packets off the backlog.
    fn split_packets(&mut self, asked: &mut VecDeque<Bytes>) -> Result<(), End> {
        while asked.len() < PACKETS_MAX
            && let Some(length) = self.backlog.first_chunk::<4>()
        {
            let length = u32::from_be_bytes(*length) as usize;
            if length == 0 || length > PACKET_BYTES_MAX {
                return Err(End::Malformed);
            }
            if self.backlog.len() < 4 + length {
                break;
            }
            self.backlog.advance(4);
            asked.push_back(self.backlog.split_to(length).freeze());
        }
        Ok(())
    }

    /// Sends answers while taking what arrives.
    async fn send(&mut self, to: &ChannelWriteHalf<Msg>, answers: Bytes) -> Result<(), End> {
        let sending = to.data_bytes(answers);
        tokio::pin!(sending);
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => return sent.map_err(|_| End::Closed),
                message = self.from.wait(), if !self.is_finished => self.take(message)?,
            }
            if self.backlog.len() > BACKLOG_BYTES_MAX {
                return Err(End::Unread);
            }
        }
    }
}

/// Answers packets until there are none left or the answers are many.
fn answer(session: &mut Session, asked: &mut VecDeque<Bytes>) -> Result<Bytes, End> {
    let mut answers = BytesMut::new();
    while answers.len() < ANSWERS_BYTES_MAX
        && let Some(packet) = asked.pop_front()
    {
        session.answer(packet, &mut answers).map_err(|_| End::Malformed)?;
    }
    Ok(answers.freeze())
}
