//! Recovery codes: for whoever has lost the device that shows codes. Each works once; only hashes are kept.
use crate::{AccountId, Chance, Error, Secret, chance};
use data_encoding::BASE32_NOPAD;
use rusqlite::{Connection, params};

/// Codes that are made together.
pub const CODES: usize = 10;
/// Random bytes of one: too many to be guessed even from the hashes.
const CODE_BYTES: usize = 10;
/// Characters between dashes.
const GROUP_CHARS: usize = 4;

/// New codes, which replace all earlier ones.
pub(crate) fn renew(db: &Connection, account: AccountId, chance: &dyn Chance) -> Result<Vec<Secret>, Error> {
    remove(db, account)?;
    let mut codes = Vec::with_capacity(CODES);
    for _ in 0..CODES {
        let code: [u8; CODE_BYTES] = chance::bytes(chance)?;
        let query = "INSERT INTO recovery (account, hash) VALUES (?1, ?2)";
        db.execute(query, params![account.0, blake3::hash(&code).as_bytes()])?;
        codes.push(Secret::new(text(&code)));
    }
    Ok(codes)
}

/// Uses a code up; whether it was one.
pub(crate) fn spend(db: &Connection, account: AccountId, given: &str) -> Result<bool, Error> {
    let Some(code) = parse(given) else { return Ok(false) };
    let query = "DELETE FROM recovery WHERE account = ?1 AND hash = ?2";
    Ok(db.execute(query, params![account.0, blake3::hash(&code).as_bytes()])? == 1)
}

pub(crate) fn remove(db: &Connection, account: AccountId) -> Result<(), Error> {
    db.execute("DELETE FROM recovery WHERE account = ?1", [account.0])?;
    Ok(())
}

/// How many are left.
pub(crate) fn left(db: &Connection, account: AccountId) -> Result<u64, Error> {
    Ok(db.query_row("SELECT count(*) FROM recovery WHERE account = ?1", [account.0], |row| row.get(0))?)
}

fn text(code: &[u8]) -> String {
    let letters = BASE32_NOPAD.encode(code).to_ascii_lowercase();
    let groups: Vec<&str> = (0..letters.len()).step_by(GROUP_CHARS).map(|at| &letters[at..at + GROUP_CHARS]).collect();
    groups.join("-")
}

/// Reads a code back, however it was typed.
fn parse(text: &str) -> Option<[u8; CODE_BYTES]> {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    BASE32_NOPAD.decode(letters.to_ascii_uppercase().as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        let code = [0xa5; CODE_BYTES];
        let text = text(&code);
        assert_eq!(text, "uws2-ljnf-uws2-ljnf");
        for typed in [text.clone(), text.to_uppercase(), text.replace('-', ""), format!(" {} ", text.replace('-', " "))]
        {
            assert_eq!(parse(&typed), Some(code));
        }
    }

    proptest! {
        #[test]
        fn what_is_no_code_is_refused(text in any::<String>()) {
            if let Some(code) = parse(&text) {
                let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
                prop_assert!(letters.eq_ignore_ascii_case(&super::text(&code).replace('-', "")));
            }
        }
    }
}
