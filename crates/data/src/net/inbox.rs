//! What has come of one answer and was not handed on yet. Who broke off a request finds it here, so that nothing is lost.
use super::Error;
use super::frames::{Answer, Frame};
use gleaner_wire::BlobRef;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was left in an inbox.
#[derive(Debug, Default)]
pub struct Left {
    /// What was whole.
    pub frames: VecDeque<Frame>,
    /// The beginnings of chunks of which more was to come.
    pub begun: Vec<(BlobRef, Vec<u8>)>,
}

#[derive(Debug)]
struct State {
    answer: Answer,
    frames: VecDeque<Frame>,
    is_open: bool,
}

/// What has come of one answer and was not handed on yet.
#[derive(Debug)]
pub struct Inbox(Mutex<State>);

impl Inbox {
    /// For this answer.
    pub fn new(answer: Answer) -> Self {
        Self(Mutex::new(State { answer, frames: VecDeque::new(), is_open: true }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next bytes of the answer. What was whole before something was wrong is there all the same.
    pub fn push(&self, pieces: &[impl AsRef<[u8]>]) -> Result<(), Error> {
        let mut state = self.state();
        if !state.is_open {
            return Err(Error::Stopped);
        }
        let State { answer, frames, .. } = &mut *state;
        pieces.iter().try_for_each(|piece| answer.push(piece.as_ref(), frames))
    }

    /// The bytes of the chunk that is to be handed on next; none if none is, and nothing for one that is not there.
    pub fn first(&self) -> Option<usize> {
        self.state().frames.front().map(|frame| match frame {
            Frame::Chunk(chunk) => chunk.bytes().len(),
            Frame::Absent(_) => 0,
        })
    }

    /// Takes what is to be handed on next.
    pub fn pop(&self) -> Option<Frame> {
        self.state().frames.pop_front()
    }

    /// Whether everything has been answered.
    pub fn is_complete(&self) -> bool {
        self.state().answer.is_complete()
    }

    /// The bytes of whole chunks that came with this answer.
    pub fn whole_bytes(&self) -> u64 {
        self.state().answer.whole_bytes()
    }

    /// Takes everything that is left; nothing more gets in.
    pub fn close(&self) -> Left {
        let mut state = self.state();
        state.is_open = false;
        Left { frames: std::mem::take(&mut state.frames), begun: state.answer.take_begun() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn nothing_is_lost_when_a_request_is_broken_off() {
        let chunks = [vec![1; 100], vec![2; 100], vec![3; 100]];
        let blobs: Vec<BlobRef> = chunks.iter().map(|chunk| BlobRef::of(chunk)).collect();
        let wire: Vec<u8> = chunks.iter().flat_map(|chunk| [&100_u32.to_le_bytes()[..], chunk].concat()).collect();
        let inbox = Inbox::new(Answer::new(blobs.iter().map(|blob| (*blob, Vec::new()))));
        inbox.push(&[&wire[..250]]).expect("a good answer");
        assert_eq!((inbox.first(), inbox.whole_bytes()), (Some(100), 200));
        assert!(matches!(inbox.pop(), Some(Frame::Chunk(chunk)) if chunk.bytes() == &chunks[0]));
        let left = inbox.close();
        assert!(matches!(&left.frames[0], Frame::Chunk(chunk) if chunk.bytes() == &chunks[1]));
        assert_eq!(left.begun, [(blobs[2], chunks[2][..38].to_vec())]);
        assert!(matches!(inbox.push(&[Bytes::new()]), Err(Error::Stopped)));

        let rest = Inbox::new(Answer::new(left.begun));
        rest.push(&[&100_u32.to_le_bytes()[..], &chunks[2][38..]]).expect("the rest");
        assert!(rest.is_complete() && rest.whole_bytes() == 62);
        assert!(matches!(rest.pop(), Some(Frame::Chunk(chunk)) if chunk.bytes() == &chunks[2]));
    }
}
