//! Deciding between a claim and those who computed something else, by sampling as Snowflake does it: polls of a few auditors,
//! each of which counts only with a supermajority for one answer, until several in a row say the same.
//!
//! Whom a poll asks is `draw::auditors`. With few auditors the same are drawn again and again; each of them computes once, and
//! its answer counts in every poll that draws it. There may be any number of answers: two who lie, each in its own way, must
//! not keep all others from being heard.
use gleaner_wire::receipt::Side;
use serde::{Deserialize, Serialize};

use super::policy::Policy;

/// A decision under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    sample: u32,
    quorum: u32,
    streak: u32,
    polls_max: u32,
    polls: u32,
    leaning: Option<Side>,
    agreeing: u32,
}

/// Where a vote stands after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// One more poll is needed.
    Again,
    /// This side is right, and all others are wrong.
    Decided(Side),
    /// The polls do not say; managed referees do.
    Undecided,
}

impl Vote {
    /// A vote among so many eligible auditors, the one that disagreed with the claim among them.
    pub fn new(policy: &Policy, eligible: usize) -> Self {
        Self::among(policy, eligible, policy.voters_min)
    }

    /// The same where managed referees are at hand, who need not leave it to a handful of auditors.
    pub fn beside_referees(policy: &Policy, eligible: usize) -> Self {
        Self::among(policy, eligible, policy.voters_min_refereed.max(policy.voters_min))
    }

    fn among(policy: &Policy, eligible: usize, voters_min: u32) -> Self {
        let sample = policy.poll.min(u32::try_from(eligible).unwrap_or(u32::MAX));
        // The same share of a smaller poll, rounded up, as a quorum of the full one is.
        let share = (u64::from(sample) * u64::from(policy.quorum)).div_ceil(u64::from(policy.poll.max(1)));
        let enough = u64::try_from(eligible).is_ok_and(|eligible| eligible >= u64::from(voters_min));
        let polls_max = if enough { policy.polls_max } else { 0 };
        Self {
            sample,
            quorum: u32::try_from(share).unwrap_or(u32::MAX).max(1),
            streak: policy.streak.max(1),
            polls_max,
            polls: 0,
            leaning: None,
            agreeing: 0,
        }
    }

    /// How many auditors a poll asks.
    pub fn sample(&self) -> usize {
        self.sample as usize
    }

    /// How many of them must say the same for a poll to count.
    pub fn quorum(&self) -> u32 {
        self.quorum
    }

    /// Where the vote stands.
    pub fn step(&self) -> Step {
        if self.agreeing >= self.streak
            && let Some(leaning) = self.leaning
        {
            return Step::Decided(leaning);
        }
        // Polls that cannot complete a row any more would only cost work.
        let left = self.polls_max.saturating_sub(self.polls);
        if left < self.streak - self.agreeing { Step::Undecided } else { Step::Again }
    }

    /// The number of the poll to take next, by which its auditors are drawn: 1 for the first, because 0 is the audit that began
    /// the vote.
    pub fn next_poll(&self) -> Option<u32> {
        (self.step() == Step::Again).then_some(self.polls + 1)
    }

    /// Counts a poll: how many are for the claim, and how many for each of its rivals. Who gave no answer is in none of them.
    pub fn count(&mut self, votes: &[u32]) -> Step {
        if self.step() != Step::Again {
            return self.step();
        }
        self.polls += 1;
        let mut enough = votes.iter().enumerate().filter(|(_, votes)| **votes >= self.quorum);
        // A quorum of half or less could be met by several sides, which says nothing either.
        let says = enough.next().filter(|_| enough.next().is_none()).map(|(place, _)| Side::at(place));
        self.agreeing = match says {
            None => 0,
            Some(_) if says == self.leaning => self.agreeing + 1,
            Some(_) => 1,
        };
        self.leaning = says;
        self.step()
    }
}

/// What comes of a claim that polls did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// This side is right, and all others are wrong.
    Decided(Side),
    /// Every answer is another one: the program does not repeat itself.
    Unrepeatable,
    /// Nobody can tell.
    Undecided,
}

/// What follows from all answers about a claim, one of which, if any, is by one of the platform's own workers. It is taken to
/// be right if somebody else came to the same; alone it could be that of a program that does not repeat itself.
pub fn last_word(answers: &[Side], referee: Option<usize>) -> Last {
    let many = |side: Side| answers.iter().filter(|other| **other == side).count() > 1;
    let decided = referee.and_then(|at| answers.get(at)).filter(|side| match side {
        Side::Claim => true,
        Side::Rival(_) => many(**side),
        Side::Alone => false,
    });
    let differs = |side: &Side| match side {
        Side::Claim => false,
        Side::Rival(_) => !many(*side),
        Side::Alone => true,
    };
    match decided {
        Some(side) => Last::Decided(*side),
        None if answers.len() > 1 && answers.iter().all(differs) => Last::Unrepeatable,
        None => Last::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(eligible: usize) -> Vote {
        Vote::new(&Policy::default(), eligible)
    }

    #[test]
    fn two_polls_in_a_row_decide() {
        let mut clear = vote(100);
        assert_eq!((clear.sample(), clear.quorum(), clear.next_poll()), (11, 8, Some(1)));
        assert_eq!(clear.count(&[8, 3]), Step::Again);
        assert_eq!(clear.next_poll(), Some(2));
        assert_eq!(clear.count(&[11, 0]), Step::Decided(Side::Claim));
        assert_eq!(
            (clear.next_poll(), clear.count(&[0, 11])),
            (None, Step::Decided(Side::Claim)),
            "what is decided stays so"
        );
    }

    #[test]
    fn a_poll_without_a_supermajority_starts_the_row_anew() {
        let mut vote = vote(100);
        assert_eq!(vote.count(&[2, 9]), Step::Again);
        assert_eq!(vote.count(&[7, 4]), Step::Again);
        assert_eq!(vote.count(&[1, 10]), Step::Again);
        assert_eq!(vote.count(&[3, 8]), Step::Decided(Side::Rival(1)));
    }

    #[test]
    fn a_change_of_mind_counts_as_the_first_of_a_row() {
        let mut vote = vote(100);
        for votes in [[8, 3], [3, 8], [9, 2]] {
            assert_eq!(vote.count(&votes), Step::Again);
        }
        assert_eq!(vote.count(&[11, 0]), Step::Decided(Side::Claim));
    }

    #[test]
    fn referees_are_asked_as_soon_as_no_row_can_be_completed() {
        let mut vote = vote(100);
        let policy = Policy::default();
        for _ in 1..policy.polls_max - policy.streak + 1 {
            assert_eq!(vote.count(&[6, 5]), Step::Again);
        }
        assert_eq!((vote.count(&[6, 5]), vote.next_poll()), (Step::Undecided, None));
    }

    #[test]
    fn few_auditors_need_the_same_supermajority_and_very_few_none_at_all() {
        let quorums = [3, 4, 5, 7, 10, 11, 500].map(|eligible| vote(eligible).quorum());
        assert_eq!(quorums, [3, 3, 4, 6, 8, 8, 8]);
        let mut four = vote(4);
        assert_eq!((four.count(&[1, 3]), four.count(&[1, 3])), (Step::Again, Step::Decided(Side::Rival(1))));
        for eligible in 0..3 {
            assert_eq!(vote(eligible).step(), Step::Undecided, "one or two are no majority of anything");
        }
    }

    #[test]
    fn referees_who_are_at_hand_do_not_leave_it_to_a_handful() {
        let of = |eligible| Vote::beside_referees(&Policy::default(), eligible).step();
        assert_eq!((of(15), of(16)), (Step::Undecided, Step::Again));
    }

    #[test]
    fn somebody_who_lies_in_its_own_way_keeps_nobody_from_being_heard() {
        let mut split = vote(100);
        // The claim and the first rival are lies of two who do not know each other.
        assert_eq!(split.count(&[0, 1, 10]), Step::Again);
        assert_eq!(split.count(&[1, 2, 8]), Step::Decided(Side::Rival(2)));
        let mut close = vote(100);
        assert_eq!((close.count(&[0, 4, 7]), close.count(&[0, 3, 8])), (Step::Again, Step::Again));
        assert_eq!(close.count(&[0, 8, 3]), Step::Again, "another side starts the row anew");
    }

    #[test]
    fn a_platforms_own_worker_needs_somebody_who_computed_the_same() {
        use Side::{Alone, Claim, Rival};
        assert_eq!(last_word(&[Rival(1), Claim], Some(1)), Last::Decided(Claim), "whoever made the claim did");
        assert_eq!(last_word(&[Rival(1), Rival(1)], Some(1)), Last::Decided(Rival(1)));
        assert_eq!(last_word(&[Rival(1), Rival(2)], Some(1)), Last::Unrepeatable, "three answers, all different");
        assert_eq!(last_word(&[Rival(1), Rival(2), Rival(2)], Some(1)), Last::Decided(Rival(2)), "two lies beside it");
        assert_eq!(last_word(&[Rival(1), Rival(2), Claim], Some(1)), Last::Undecided, "one for each of two");
        assert_eq!(last_word(&[Rival(1), Alone, Alone], Some(1)), Last::Unrepeatable);
        assert_eq!(last_word(&[Rival(1), Rival(1)], None), Last::Undecided, "nobody of the platform's own");
        assert_eq!(last_word(&[Rival(1)], None), Last::Undecided, "two answers are too few to blame the program");
    }

    #[test]
    fn answers_that_were_not_given_speak_for_neither_side() {
        let mut vote = vote(100);
        assert_eq!(vote.count(&[7, 0]), Step::Again);
        assert_eq!(vote.count(&[8, 0]), Step::Again);
        assert_eq!(vote.count(&[8, 0]), Step::Decided(Side::Claim));
    }
}
