//! Links that sign in once: whoever runs a hub on this machine opens its page without having to type anything.
//!
//! A link is a challenge whose answer is to come back with it. It is good once, for a few minutes, for one account, and is no
//! second factor: an account that has one asks for its code all the same.
use crate::challenge::{CHALLENGE_BYTES, CHALLENGE_MS, Fault, Purpose};
use crate::session::Via;
use crate::sign_in::SignedIn;
use crate::{AccountId, Accounts, Error, Refusal, Secret, Visit, account};
use data_encoding::HEXLOWER;
use gleaner_wire::Millis;

const ID_BYTES: usize = 8;
const LINK_BYTES: usize = ID_BYTES + CHALLENGE_BYTES;

/// A link that was just made: the only moment at which it is known.
#[derive(Debug)]
pub struct Link {
    /// What whoever comes by it shows.
    pub code: Secret,
    /// Until when.
    pub ends_at: Millis,
}

impl Accounts {
    /// A link that signs in to an account, once.
    pub fn link(&self, visit: Visit, account: AccountId) -> Result<Link, Error> {
        if self.account(account)?.is_none() {
            return Err(Refusal::NotFound("account").into());
        }
        let challenge = self.challenge(visit.now, Purpose::Link(account))?;
        let code = HEXLOWER.encode(&[account.0.to_be_bytes().as_slice(), &challenge].concat());
        Ok(Link { code: Secret::new(code), ends_at: visit.now.after(Millis(CHALLENGE_MS)) })
    }

    /// Signs in by a link.
    pub fn sign_in_by_link(&self, visit: Visit, code: &Secret) -> Result<SignedIn, Error> {
        let foreign = || Refusal::from(Fault::Foreign);
        let text = Some(code.expose()).filter(|text| text.len() == 2 * LINK_BYTES).ok_or_else(foreign)?;
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| foreign())?;
        let (id, challenge) = bytes.split_first_chunk::<ID_BYTES>().ok_or_else(foreign)?;
        let id = AccountId(u64::from_be_bytes(*id));
        let answered = self.answered(visit.now, Purpose::Link(id), challenge).map_err(Refusal::from)?;
        self.sign_in_by_key(visit, Via::Link, None, None, |db| {
            answered.spend(db, visit.now)?;
            account::find(db, id)?.ok_or_else(|| Refusal::NotFound("account").into())
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, visit};

    fn fault(result: Result<SignedIn, Error>) -> Fault {
        match result {
            Err(Error::Refused(Refusal::Challenge(fault))) => fault,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("not refused"),
        }
    }

    #[test]
    fn a_link_signs_in_once_and_soon() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let link = accounts.link(visit(NOW), id).unwrap();
        assert_eq!(fault(accounts.sign_in_by_link(visit(link.ends_at), &link.code)), Fault::Expired);
        let signed = accounts.sign_in_by_link(visit(NOW), &link.code).unwrap();
        assert_eq!((signed.account.id, signed.session.via), (id, Via::Link));
        assert_eq!(fault(accounts.sign_in_by_link(visit(NOW), &link.code)), Fault::Used);
    }

    #[test]
    fn a_link_is_for_its_account_alone() {
        let (_dir, accounts) = accounts();
        let (id, other) = (made(&accounts, "orchard"), made(&accounts, "barley"));
        let link = accounts.link(visit(NOW), id).unwrap();
        let changed = format!("{:016x}{}", other.0, &link.code.expose()[2 * ID_BYTES..]);
        for code in ["", "00", changed.as_str(), &"x".repeat(2 * LINK_BYTES)] {
            assert_eq!(fault(accounts.sign_in_by_link(visit(NOW), &Secret::new(code))), Fault::Foreign, "{code}");
        }
        assert!(accounts.link(visit(NOW), AccountId(other.0 + 1)).is_err());
    }
}
