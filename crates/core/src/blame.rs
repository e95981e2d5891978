//! Who pays for a failed attempt, and what happens next: one table.
use gleaner_wire::Cause;

/// Who pays for the time of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// The requester, out of the job's order, once it is believed that the program was at fault.
    Requester,
    /// Nobody: the worker's own time is lost.
    Nobody,
}

/// What happens to the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes to another worker. The failed one may have it again if there is no other.
    Elsewhere,
    /// It goes to another worker, which gets all the time that the job allows.
    WithFullTime,
    /// It goes to another worker and never back.
    NeverBack,
    /// It goes to another worker; when enough different ones agree on the fault, the job ends with it.
    UntilAgreed,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// Who pays.
    pub payer: Payer,
    /// What happens next.
    pub next: Next,
    /// Trouble points for the worker; see `pool`.
    pub trouble: u32,
    /// The row in words.
    pub words: &'static str,
}

/// What follows for an attempt that was stopped at the time that its prediction paid for, before the job's own limit. Paid,
/// a worker could claim it of the shortest tasks.
pub const STOPPED_EARLY: Consequence = Consequence {
    payer: Payer::Nobody,
    next: Next::WithFullTime,
    trouble: 1,
    words: "nobody pays; it took far longer than predicted, and is tried again with all the time the job allows",
};

/// The table.
pub fn consequence(cause: Cause) -> Consequence {
    let (payer, next, trouble, words) = match cause {
        Cause::WorkerLeft => (Payer::Nobody, Next::Elsewhere, 1, "nobody pays; it goes to another worker"),
        Cause::DeviceFault => (Payer::Nobody, Next::NeverBack, 2, "nobody pays; it goes to another worker"),
        Cause::ProgramFault => (
            Payer::Requester,
            Next::UntilAgreed,
            0,
            "the requester pays if others come to it too; they try it before the job ends",
        ),
        Cause::OutOfMemory => (
            Payer::Requester,
            Next::UntilAgreed,
            0,
            "the requester pays if others come to it too; if it happens again, raise needs.memory",
        ),
        Cause::TimeLimit => (
            Payer::Requester,
            Next::UntilAgreed,
            0,
            "the requester pays if others come to it too; if it happens again, raise time_max",
        ),
        Cause::BadInput => {
            (Payer::Nobody, Next::UntilAgreed, 0, "nobody pays; other workers look at it before the job ends")
        }
        Cause::RefusedByOwner => (Payer::Nobody, Next::Elsewhere, 0, "nobody pays; it goes to another worker"),
        // It is the worker that says so; paid, it would say so more often.
        Cause::HubFault => (Payer::Nobody, Next::Elsewhere, 0, "nobody pays; it is tried again"),
        // What it says about the worker is more than points; see `audit`.
        Cause::Refuted => (Payer::Nobody, Next::NeverBack, 0, "nobody pays; it goes to another worker"),
    };
    Consequence { payer, next, trouble, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requesters_pay_only_for_faults_of_their_program() {
        let paid: alloc::vec::Vec<_> =
            Cause::ALL.into_iter().filter(|cause| consequence(*cause).payer == Payer::Requester).collect();
        assert_eq!(paid, [Cause::ProgramFault, Cause::OutOfMemory, Cause::TimeLimit]);
    }
}
