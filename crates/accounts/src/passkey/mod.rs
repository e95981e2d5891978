//! Passkeys (WebAuthn): keys that never leave their device, bound to the page that they were made for.
//!
//! Passkeys are asked to be found without a name and to know their owner (by a finger, a face or a PIN), so one alone is
//! two factors. Signatures are ECDSA over P-256 or Ed25519; attestation is not asked for.
mod attestation;
mod authenticator;
mod client_data;
mod public_key;

use crate::account::{self, Account};
use crate::audit::{self, Kind};
use crate::challenge::{CHALLENGE_MS, Challenge, Purpose};
use crate::session::Via;
use crate::sign_in::SignedIn;
use crate::{AccountId, Accounts, Error, Refusal, Site, Visit, wallet};
use client_data::Ceremony;
use data_encoding::BASE64URL_NOPAD;
use gleaner_wire::Millis;
use public_key::{Algorithm, PublicKey};
use ring::digest::{SHA256, digest};
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// Passkeys of one account.
pub const PASSKEYS_PER_ACCOUNT_MAX: u64 = 16;
/// The longest label, in characters.
pub const LABEL_CHARS_MAX: usize = 64;
/// The longest text of base64 that is decoded.
const ENCODED_CHARS_MAX: usize = 32 * 1024;
/// What people see beside the name of the page.
const PAGE_NAME: &str = "Gleaner";

/// Why a passkey is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A part cannot be read.
    #[error("the passkey's {0} cannot be read")]
    Form(&'static str),
    /// One kind of ceremony was passed off as another.
    #[error("the passkey answered another question than it was asked")]
    Ceremony,
    /// Another page, or a frame within one.
    #[error("the passkey was used on another page than this hub's")]
    Origin,
    /// Bound to another domain.
    #[error("the passkey is bound to another domain than this hub's")]
    Domain,
    /// Nobody was there, or nobody known.
    #[error("the passkey did not make sure who used it: allow it to ask for a PIN, a finger or a face")]
    NotVerified,
    /// A kind of signature that was not asked for.
    #[error("the passkey signs in a way that this hub does not know")]
    Algorithm,
    /// A certificate that was not asked for.
    #[error("the passkey came with a certificate that was not asked for")]
    Attestation,
    /// A wrong signature.
    #[error("the passkey's signature is wrong")]
    Signature,
    /// No account has it.
    #[error("no account on this hub has this passkey")]
    Unknown,
    /// The counter went back.
    #[error("this passkey seems to have been copied: remove it from the account and make a new one")]
    Cloned,
    /// It is there already.
    #[error("this passkey is in use already")]
    Taken,
    /// No label, or a long one.
    #[error("a passkey has a label of at most {LABEL_CHARS_MAX} printable characters")]
    Label,
}

/// Bytes in the base64 that browsers write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() > ENCODED_CHARS_MAX {
            return Err(D::Error::custom("too long"));
        }
        BASE64URL_NOPAD.decode(text.as_bytes()).map(Self).map_err(|_| D::Error::custom("not base64url"))
    }
}

/// What `navigator.credentials.create` gave, as its `toJSON` writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// The passkey's id.
    pub raw_id: Base64,
    /// The rest.
    pub response: CreatedResponse,
}

/// What a new passkey says.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedResponse {
    /// What the browser said.
    #[serde(rename = "clientDataJSON")]
    pub client_data: Base64,
    /// The new key.
    pub attestation_object: Base64,
}

/// What `navigator.credentials.get` gave, as its `toJSON` writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    /// The passkey's id.
    pub raw_id: Base64,
    /// The rest.
    pub response: UsedResponse,
}

/// What a used passkey says.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedResponse {
    /// What the browser said.
    #[serde(rename = "clientDataJSON")]
    pub client_data: Base64,
    /// What the authenticator said.
    pub authenticator_data: Base64,
    /// Under both.
    pub signature: Base64,
    /// Whose passkey it is, by its own word.
    pub user_handle: Option<Base64>,
}

/// A passkey, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passkey {
    /// Its id, in base64.
    pub id: String,
    /// What its owner calls it.
    pub label: String,
    /// When it was added.
    pub made_at: Millis,
    /// When it was last used.
    pub used_at: Option<Millis>,
}

/// A passkey that was found, with its account.
struct Found {
    account: Account,
    handle: Vec<u8>,
    key: PublicKey,
    sign_count: u32,
}

pub(crate) fn count(db: &Connection, account: AccountId) -> Result<u64, Error> {
    Ok(db.query_row("SELECT count(*) FROM passkey WHERE account = ?1", [account.0], |row| row.get(0))?)
}

fn find(db: &Connection, id: &[u8]) -> Result<Option<Found>, Error> {
    let query = format!(
        "SELECT {}, account.handle, passkey.algorithm, passkey.public, passkey.sign_count \
         FROM passkey JOIN account ON account.id = passkey.account WHERE passkey.id = ?1",
        account::COLUMNS
    );
    let row = |row: &rusqlite::Row<'_>| {
        let algorithm: i64 = row.get(6)?;
        Ok((account::read_account(row)?, row.get(5)?, algorithm, row.get(7)?, row.get(8)?))
    };
    let Some((account, handle, algorithm, bytes, sign_count)) =
        db.prepare_cached(&query)?.query_row([id], row).optional()?
    else {
        return Ok(None);
    };
    let algorithm = Algorithm::from_number(algorithm).ok_or(Error::Altered("a passkey"))?;
    Ok(Some(Found { account, handle, key: PublicKey { algorithm, bytes }, sign_count }))
}

/// A counter that stands still at zero counts nothing; any other has to grow.
fn has_grown(before: u32, now: u32) -> bool {
    (before == 0 && now == 0) || now > before
}

fn domain(site: &Site) -> Result<&str, Refusal> {
    site.passkey_domain().ok_or(Refusal::NoPasskeyDomain)
}

fn store(
    db: &Connection,
    visit: Visit,
    account: AccountId,
    attested: &attestation::Attested,
    label: &str,
) -> Result<Passkey, Error> {
    let credential = &attested.credential;
    if find(db, &credential.id)?.is_some() {
        return Err(Refusal::from(Fault::Taken).into());
    }
    if count(db, account)? >= PASSKEYS_PER_ACCOUNT_MAX {
        return Err(Refusal::TooMany { what: "passkeys of one account", max: PASSKEYS_PER_ACCOUNT_MAX }.into());
    }
    let (algorithm, public) = (credential.key.algorithm.number(), &credential.key.bytes);
    db.execute(
        "INSERT INTO passkey (id, account, algorithm, public, sign_count, label, made_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![credential.id, account.0, algorithm, public, attested.sign_count, label, visit.now.0],
    )?;
    audit::note(db, visit, Some(account), Kind::PasskeyAdded, label)?;
    Ok(Passkey {
        id: BASE64URL_NOPAD.encode(&credential.id),
        label: label.to_owned(),
        made_at: visit.now,
        used_at: None,
    })
}

impl Accounts {
    /// Options for `navigator.credentials.create`, as `parseCreationOptionsFromJSON` reads them.
    pub fn new_passkey_options(&self, now: Millis, id: AccountId, site: &Site) -> Result<Value, Error> {
        let domain = domain(site)?;
        let challenge = self.challenge(now, Purpose::NewPasskey(id))?;
        let account = self.account(id)?.ok_or(Refusal::NotFound("account"))?;
        let handle = "SELECT handle FROM account WHERE id = ?1";
        let handle: Vec<u8> = self.read(|db| Ok(db.query_row(handle, [id.0], |row| row.get(0))?))?;
        let known: Vec<Value> =
            self.passkeys(id)?.into_iter().map(|passkey| json!({ "type": "public-key", "id": passkey.id })).collect();
        let algorithms: Vec<Value> =
            Algorithm::ALL.iter().map(|algorithm| json!({ "type": "public-key", "alg": algorithm.number() })).collect();
        Ok(json!({
            "rp": { "id": domain, "name": PAGE_NAME },
            "user": {
                "id": BASE64URL_NOPAD.encode(&handle),
                "name": account.name,
                "displayName": account.name,
            },
            "challenge": BASE64URL_NOPAD.encode(&challenge),
            "pubKeyCredParams": algorithms,
            "timeout": CHALLENGE_MS,
            "excludeCredentials": known,
            "authenticatorSelection": { "residentKey": "required", "requireResidentKey": true, "userVerification": "required" },
            "attestation": "none",
        }))
    }

    /// Adds the passkey that was made.
    pub fn add_passkey(
        &self,
        visit: Visit,
        account: AccountId,
        site: &Site,
        created: &Created,
        label: &str,
    ) -> Result<Passkey, Error> {
        let fits = (1..=LABEL_CHARS_MAX).contains(&label.chars().count());
        if !fits || label.trim() != label || label.chars().any(char::is_control) {
            return Err(Refusal::from(Fault::Label).into());
        }
        let domain = domain(site)?;
        let client_data = &created.response.client_data.0;
        let challenge = client_data::check(client_data, Ceremony::Create, site).map_err(Refusal::from)?;
        let answered = self.answered(visit.now, Purpose::NewPasskey(account), &challenge).map_err(Refusal::from)?;
        let client_hash = digest(&SHA256, client_data);
        let attested = attestation::check(&created.response.attestation_object.0, client_hash.as_ref(), domain);
        let attested = attested.map_err(Refusal::from)?;
        if attested.credential.id != created.raw_id.0 {
            return Err(Refusal::from(Fault::Form("id")).into());
        }
        self.write(|db| {
            answered.spend(db, visit.now)?;
            store(db, visit, account, &attested, label)
        })
    }

    /// Options for `navigator.credentials.get`, as `parseRequestOptionsFromJSON` reads them.
    pub fn passkey_options(&self, now: Millis, site: &Site) -> Result<Value, Error> {
        let domain = domain(site)?;
        let challenge: Challenge = self.challenge(now, Purpose::Passkey)?;
        Ok(json!({
            "challenge": BASE64URL_NOPAD.encode(&challenge),
            "timeout": CHALLENGE_MS,
            "rpId": domain,
            "allowCredentials": [],
            "userVerification": "required",
        }))
    }

    /// Signs in with the passkey that was used.
    pub fn sign_in_with_passkey(&self, visit: Visit, site: &Site, used: &Used) -> Result<SignedIn, Error> {
        let domain = domain(site)?;
        let response = &used.response;
        let client_data = &response.client_data.0;
        let challenge = client_data::check(client_data, Ceremony::Get, site).map_err(Refusal::from)?;
        let answered = self.answered(visit.now, Purpose::Passkey, &challenge).map_err(Refusal::from)?;
        let said = authenticator::check(&response.authenticator_data.0, domain).map_err(Refusal::from)?;
        let signed = [&response.authenticator_data.0[..], digest(&SHA256, client_data).as_ref()].concat();
        let mut cloned = None;
        let done = self.sign_in_by_key(visit, Via::Passkey, None, None, |db| {
            answered.spend(db, visit.now)?;
            let found = find(db, &used.raw_id.0)?.ok_or(Refusal::from(Fault::Unknown))?;
            found.key.verify(&signed, &response.signature.0).map_err(Refusal::from)?;
            if response.user_handle.as_ref().is_some_and(|handle| handle.0 != found.handle) {
                return Err(Refusal::from(Fault::Unknown).into());
            }
            if !has_grown(found.sign_count, said.sign_count) {
                cloned = Some(found.account.id);
                return Err(Refusal::from(Fault::Cloned).into());
            }
            let query = "UPDATE passkey SET sign_count = ?2, used_ms = ?3 WHERE id = ?1";
            db.execute(query, params![used.raw_id.0, said.sign_count, visit.now.0])?;
            Ok(found.account)
        });
        if let Some(account) = cloned {
            self.note(visit, Some(account), Kind::PasskeyCloned, "")?;
        }
        done
    }

    /// The passkeys of an account.
    pub fn passkeys(&self, account: AccountId) -> Result<Vec<Passkey>, Error> {
        self.read(|db| {
            let query = "SELECT id, label, made_ms, used_ms FROM passkey WHERE account = ?1 ORDER BY made_ms, id";
            let mut statement = db.prepare_cached(query)?;
            let rows = statement.query_map([account.0], |row| {
                Ok(Passkey {
                    id: BASE64URL_NOPAD.encode(&row.get::<_, Vec<u8>>(0)?),
                    label: row.get(1)?,
                    made_at: Millis(row.get(2)?),
                    used_at: row.get::<_, Option<u64>>(3)?.map(Millis),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Removes a passkey, unless it is the last way into the account.
    pub fn remove_passkey(&self, visit: Visit, account: AccountId, id: &str) -> Result<(), Error> {
        let id = BASE64URL_NOPAD.decode(id.as_bytes()).map_err(|_| Refusal::NotFound("passkey"))?;
        self.write(|db| {
            let query = "DELETE FROM passkey WHERE id = ?1 AND account = ?2 RETURNING label";
            let label: Option<String> = db.query_row(query, params![id, account.0], |row| row.get(0)).optional()?;
            let label = label.ok_or(Refusal::NotFound("passkey"))?;
            wallet::keep_a_way_in(db, account)?;
            audit::note(db, visit, Some(account), Kind::PasskeyRemoved, &label)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
