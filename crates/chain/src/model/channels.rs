//! Channels for small payments.
use super::{Economy, Moment, Refusal, TREASURY, VOUCHERS, Who, refuse_if, share};

/// The longest chain of words.
const STEPS_MAX: u32 = 1024;

/// What is remembered of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// What was put in; of a closed one, what was redeemed.
    pub amount: u64,
    /// What was redeemed.
    pub redeemed: u64,
    /// The platform's share when it was opened.
    pub share: u64,
    /// From when it may be closed; 0 while the payer stays.
    pub closing_at: u64,
    /// Whether it is over.
    pub closed: bool,
}

/// What a payee shows to redeem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Showing {
    /// What the anchor says was paid before.
    pub base: u64,
    /// What one step pays.
    pub step: u64,
    /// How many steps the chain has.
    pub steps: u32,
    /// How many of them are shown.
    pub index: u32,
    /// Whether the payer signed the anchor.
    pub signed: bool,
    /// Whether the word is the right one.
    pub right: bool,
}

impl Economy {
    pub(super) fn open_channel(&mut self, payer: Who, payee: Who, amount: u64, nonce: u64) -> Result<(), Refusal> {
        let channel = Channel { amount, redeemed: 0, share: self.terms.platform_share, closing_at: 0, closed: false };
        let before = self.channels.insert((payer, payee, nonce), channel);
        refuse_if(before.is_some(), Refusal::ChannelExists)?;
        self.shift(payer, VOUCHERS, amount)
    }

    pub(super) fn top_up(&mut self, caller: Who, id: (Who, Who, u64), amount: u64) -> Result<(), Refusal> {
        let channel = self.ongoing(id)?;
        refuse_if(caller != id.0, Refusal::NotThePayer)?;
        refuse_if(channel.closing_at != 0, Refusal::AlreadyClosing)?;
        channel.amount += amount;
        self.shift(caller, VOUCHERS, amount)
    }

    pub(super) fn redeem(&mut self, caller: Who, id: (Who, Who, u64), showing: &Showing) -> Result<(), Refusal> {
        let channel = self.ongoing(id)?;
        refuse_if(caller != id.1, Refusal::NotThePayee)?;
        refuse_if(showing.steps > STEPS_MAX, Refusal::TooManySteps)?;
        refuse_if(showing.index > showing.steps, Refusal::BadIndex)?;
        refuse_if(!showing.signed, Refusal::BadSignature)?;
        refuse_if(!showing.right, Refusal::BadWord)?;
        let total = (showing.base + showing.step * u64::from(showing.index)).min(channel.amount);
        refuse_if(total <= channel.redeemed, Refusal::NothingToRedeem)?;
        let fee = share(total, channel.share) - share(channel.redeemed, channel.share);
        let paid = total - channel.redeemed - fee;
        channel.redeemed = total;
        self.shift(VOUCHERS, caller, paid)?;
        self.shift(VOUCHERS, TREASURY, fee)
    }

    pub(super) fn close_channel(&mut self, caller: Who, id: (Who, Who, u64)) -> Result<(), Refusal> {
        self.ongoing(id)?;
        refuse_if(caller != id.1, Refusal::NotThePayee)?;
        self.end_channel(id)
    }

    pub(super) fn start_close(&mut self, at: Moment, caller: Who, id: (Who, Who, u64)) -> Result<(), Refusal> {
        let closing_at = at.now + self.terms.challenge_window;
        let channel = self.ongoing(id)?;
        refuse_if(caller != id.0, Refusal::NotThePayer)?;
        refuse_if(channel.closing_at != 0, Refusal::AlreadyClosing)?;
        channel.closing_at = closing_at;
        Ok(())
    }

    pub(super) fn finish_close(&mut self, at: Moment, id: (Who, Who, u64)) -> Result<(), Refusal> {
        let channel = self.ongoing(id)?;
        refuse_if(channel.closing_at == 0, Refusal::NotClosing)?;
        refuse_if(at.now < channel.closing_at, Refusal::WindowOpen)?;
        self.end_channel(id)
    }

    fn end_channel(&mut self, id: (Who, Who, u64)) -> Result<(), Refusal> {
        let channel = self.ongoing(id)?;
        let refunded = channel.amount - channel.redeemed;
        (channel.closed, channel.amount) = (true, channel.redeemed);
        self.shift(VOUCHERS, id.0, refunded)
    }

    fn ongoing(&mut self, id: (Who, Who, u64)) -> Result<&mut Channel, Refusal> {
        self.channels.get_mut(&id).filter(|channel| !channel.closed).ok_or(Refusal::ChannelNotOpen)
    }
}
