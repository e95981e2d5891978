//! What numbers devices compute. Honest results of one class differ a little; those of two classes by what the classes do.
use gleaner_core::proof::{Pair, Tolerances};
use gleaner_wire::check::{Check, Compared};

use super::people::Answer;
use super::setting::Kind;
use crate::chance::{mix, mix_two};

/// Three classes of devices: seven in ten workers, more than a quarter, and three in a hundred.
const CLASSES: usize = 3;
/// How far an honest result is from the middle of its class, in millionths of what the check tolerates.
const SPREAD: u64 = 200_000;
/// One in a hundred is this many times as far away: beyond what the check tolerates, which has to be learned.
const TAIL: u64 = 8;
/// How far the middles of two classes are apart.
const APART: u64 = 30_000_000;
/// How far a lie is from the truth.
const LIE: u64 = 1 << 50;
/// How results are compared. What its tolerances are does not matter: distances are in parts of them.
const CHECK: Check = Check::Image { pixel: 1, perceptual: 1, learned: true };
/// Classes of devices.
const NAMES: [&str; CLASSES] = ["first", "other", "third"];

/// The class of a worker, by a number below a thousand.
pub(super) fn class(drawn: u64) -> usize {
    match drawn {
        0..700 => 0,
        700..970 => 1,
        _ => 2,
    }
}

/// Whose results can be compared, and how.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    kind: Kind,
    known: Tolerances,
}

impl Noise {
    pub fn new(kind: Kind) -> Self {
        Self { kind, known: Tolerances::default() }
    }

    /// Whether two classes may be judged against each other. In audits a worker's own class comes first.
    pub fn comparable(&self, one: usize, other: usize) -> bool {
        self.kind == Kind::Exact || self.known.tolerated(&self.pair(one, other)).is_some()
    }

    /// Whether anybody can be blamed for a difference between two classes.
    pub fn is_known(&self, one: usize, other: usize) -> bool {
        self.kind == Kind::Exact || self.known.is_known(&self.pair(one, other))
    }

    /// Whether two workers are of one class.
    pub fn alike(&self, one: usize, other: usize) -> bool {
        self.named(one) == self.named(other)
    }

    /// Whether two answers of workers of these classes agree.
    pub fn agree(&self, task: u64, one: (usize, usize, Answer), other: (usize, usize, Answer)) -> bool {
        if self.kind == Kind::Exact || one.2 != other.2 {
            return one.2 == other.2;
        }
        let compared = self.compared(task, (one.0, one.1), (other.0, other.1));
        self.known.agree(&self.pair(one.1, other.1), compared).unwrap_or(true)
    }

    /// Learns from the results of two workers that are trusted, rightly or, if they are not the same, wrongly.
    pub fn learn(&mut self, task: u64, one: (usize, usize), other: (usize, usize), same: bool) {
        if self.kind != Kind::Exact {
            let compared = if same { self.compared(task, one, other) } else { Compared::at(LIE) };
            self.known.note(self.pair(one.1, other.1), compared);
        }
    }

    fn compared(&self, task: u64, one: (usize, usize), other: (usize, usize)) -> Compared {
        Compared::at(self.value(task, one).abs_diff(self.value(task, other)))
    }

    fn pair(&self, one: usize, other: usize) -> Pair {
        Pair::of(0, CHECK, self.named(one), self.named(other))
    }

    fn named(&self, class: usize) -> &'static str {
        match self.kind {
            Kind::Exact | Kind::Noisy => NAMES[0],
            Kind::Diverging => NAMES[class],
        }
    }

    /// What a worker (its number and class) computes for a task.
    fn value(&self, task: u64, (worker, class): (usize, usize)) -> u64 {
        let drawn = mix_two(mix_two(task, 7), worker as u64);
        let far = if drawn.is_multiple_of(100) { TAIL } else { 1 };
        let middle = match self.kind {
            Kind::Exact | Kind::Noisy => 0,
            // How much classes differ depends on the task as well.
            Kind::Diverging => (APART / 2 + mix(task) % APART) * class as u64,
        };
        (1 << 40) + middle + mix(drawn) % (2 * SPREAD * far) - SPREAD * far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_agrees_with_itself_and_is_not_judged_against_another_before_they_are_known() {
        let mut noise = Noise::new(Kind::Diverging);
        assert!(noise.comparable(0, 0) && !noise.comparable(0, 1));
        for task in 0..200 {
            noise.learn(task, (1, 0), (2, 1), true);
        }
        assert!(noise.comparable(1, 0));
        let agree = |other: Answer| {
            (1000..2000).filter(|task| noise.agree(*task, (1, 0, Answer::Right), (2, 1, other))).count()
        };
        assert_eq!((agree(Answer::Right), agree(Answer::Agreed)), (1000, 0));
    }

    #[test]
    fn the_tail_of_honest_noise_is_learned() {
        let mut noise = Noise::new(Kind::Noisy);
        let differing = |noise: &Noise| {
            let differ = |task: &u64| !noise.agree(*task, (1, 0, Answer::Right), (2, 0, Answer::Right));
            (0..10_000).filter(differ).count()
        };
        assert!(differing(&noise) > 10, "the check alone would blame honest workers");
        (0..1000).for_each(|task| noise.learn(task, (1, 0), (2, 0), true));
        assert_eq!(differing(&noise), 0);
    }
}
