//! An authenticator in software, what it signs, and everything that may be wrong with that.
use super::*;
use crate::challenge;
use crate::store::tests::{NOW, accounts, made, visit};
use minicbor::Encoder;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};

enum Key {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

/// How a wrapping vouches for a new key.
#[derive(Clone, Copy, PartialEq)]
enum Vouching {
    None,
    Itself,
    Certificate,
}

/// An authenticator in software. What it says can be changed, so that tests can lie.
struct Authenticator {
    key: Key,
    id: Vec<u8>,
    handle: Option<Vec<u8>>,
    count: u32,
    flags: u8,
    domain: &'static str,
    origin: &'static str,
    vouching: Vouching,
    extensions: bool,
}

impl Authenticator {
    fn new(algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let key = match algorithm {
            Algorithm::Es256 => {
                let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random);
                Key::Es256(pair.unwrap())
            }
            Algorithm::EdDsa => {
                let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
                Key::EdDsa(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
            }
        };
        Self {
            key,
            id: vec![7; 32],
            handle: None,
            count: 1,
            flags: 0x05,
            domain: "hub.example",
            origin: "https://hub.example",
            vouching: Vouching::None,
            extensions: false,
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.key {
            Key::Es256(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Key::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    fn cose(&self) -> Vec<u8> {
        let mut encoder = Encoder::new(Vec::new());
        match &self.key {
            Key::Es256(pair) => {
                let point = pair.public_key().as_ref();
                encoder.map(5).unwrap().i8(1).unwrap().i8(2).unwrap().i8(3).unwrap().i8(-7).unwrap();
                encoder.i8(-1).unwrap().i8(1).unwrap().i8(-2).unwrap().bytes(&point[1..33]).unwrap();
                encoder.i8(-3).unwrap().bytes(&point[33..]).unwrap();
            }
            Key::EdDsa(pair) => {
                encoder.map(4).unwrap().i8(1).unwrap().i8(1).unwrap().i8(3).unwrap().i8(-8).unwrap();
                encoder.i8(-1).unwrap().i8(6).unwrap().i8(-2).unwrap().bytes(pair.public_key().as_ref()).unwrap();
            }
        }
        encoder.into_writer()
    }

    fn data(&self, with_key: bool) -> Vec<u8> {
        let mut data = digest(&SHA256, self.domain.as_bytes()).as_ref().to_vec();
        let extensions = if self.extensions { 0x80 } else { 0 };
        data.push(self.flags | extensions | if with_key { 0x40 } else { 0 });
        data.extend(self.count.to_be_bytes());
        if with_key {
            data.extend([0; 16]);
            data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
            data.extend(&self.id);
            data.extend(self.cose());
        }
        if self.extensions {
            let mut encoder = Encoder::new(Vec::new());
            encoder.map(1).unwrap().str("credProtect").unwrap().u8(2).unwrap();
            data.extend(encoder.into_writer());
        }
        data
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = &options["challenge"];
        json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false }).to_string().into()
    }

    /// Answers options of a new passkey, as a browser would.
    fn create(&mut self, options: &Value) -> Created {
        let handle = options["user"]["id"].as_str().unwrap();
        self.handle = Some(BASE64URL_NOPAD.decode(handle.as_bytes()).unwrap());
        let client_data = self.client_data("webauthn.create", options);
        let data = self.data(true);
        let signed = [&data[..], digest(&SHA256, &client_data).as_ref()].concat();
        let mut encoder = Encoder::new(Vec::new());
        encoder.map(3).unwrap().str("fmt").unwrap();
        match self.vouching {
            Vouching::None => {
                encoder.str("none").unwrap().str("attStmt").unwrap().map(0).unwrap();
            }
            Vouching::Itself | Vouching::Certificate => {
                let certified = self.vouching == Vouching::Certificate;
                let algorithm = if matches!(self.key, Key::Es256(_)) { -7 } else { -8 };
                encoder.str("packed").unwrap().str("attStmt").unwrap().map(if certified { 3 } else { 2 }).unwrap();
                encoder.str("alg").unwrap().i8(algorithm).unwrap().str("sig").unwrap();
                encoder.bytes(&self.sign(&signed)).unwrap();
                if certified {
                    encoder.str("x5c").unwrap().array(1).unwrap().bytes(&[1, 2, 3]).unwrap();
                }
            }
        }
        encoder.str("authData").unwrap().bytes(&data).unwrap();
        self.count += u32::from(self.count > 0);
        read(&json!({
            "id": BASE64URL_NOPAD.encode(&self.id),
            "rawId": BASE64URL_NOPAD.encode(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
                "attestationObject": BASE64URL_NOPAD.encode(&encoder.into_writer()),
                "transports": ["internal"],
            },
        }))
    }

    /// Answers options of signing in, as a browser would.
    fn get(&mut self, options: &Value) -> Used {
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(false);
        let signature = self.sign(&[&data[..], digest(&SHA256, &client_data).as_ref()].concat());
        self.count += u32::from(self.count > 0);
        read(&json!({
            "id": BASE64URL_NOPAD.encode(&self.id),
            "rawId": BASE64URL_NOPAD.encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": BASE64URL_NOPAD.encode(&client_data),
                "authenticatorData": BASE64URL_NOPAD.encode(&data),
                "signature": BASE64URL_NOPAD.encode(&signature),
                "userHandle": self.handle.as_ref().map(|handle| BASE64URL_NOPAD.encode(handle)),
            },
        }))
    }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

fn site() -> Site {
    Site::parse("https://hub.example").unwrap()
}

fn refusal<T>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("not refused"),
    }
}

fn add(accounts: &Accounts, id: AccountId, authenticator: &mut Authenticator) -> Result<Passkey, Error> {
    let options = accounts.new_passkey_options(NOW, id, &site())?;
    accounts.add_passkey(visit(NOW), id, &site(), &authenticator.create(&options), "a laptop")
}

fn sign_in(accounts: &Accounts, authenticator: &mut Authenticator) -> Result<SignedIn, Error> {
    let options = accounts.passkey_options(NOW, &site())?;
    accounts.sign_in_with_passkey(visit(NOW), &site(), &authenticator.get(&options))
}

#[test]
fn a_passkey_of_either_kind_signs_in_without_a_name() {
    for algorithm in Algorithm::ALL {
        for (vouching, extensions) in [(Vouching::None, false), (Vouching::Itself, true)] {
            let (_dir, accounts) = accounts();
            let id = made(&accounts, "orchard");
            let mut authenticator = Authenticator { vouching, extensions, ..Authenticator::new(algorithm) };
            let added = add(&accounts, id, &mut authenticator).unwrap();
            for _ in 0..3 {
                let signed = sign_in(&accounts, &mut authenticator).unwrap();
                assert_eq!(signed.account.id, id);
                let session = accounts.session(visit(NOW), signed.session.token.expose()).unwrap().unwrap();
                assert_eq!(session.session.via, Via::Passkey);
            }
            assert_eq!(accounts.passkeys(id).unwrap(), [Passkey { used_at: Some(NOW), ..added }]);
        }
    }
}

#[test]
fn a_passkey_is_two_factors() {
    let (_dir, accounts) = accounts();
    let id = made(&accounts, "orchard");
    let mut authenticator = Authenticator::new(Algorithm::Es256);
    add(&accounts, id, &mut authenticator).unwrap();
    crate::totp::tests::turn_on(&accounts, id);
    sign_in(&accounts, &mut authenticator).unwrap();
}

#[test]
fn an_answer_is_good_once_and_in_time() {
    let (_dir, accounts) = accounts();
    let id = made(&accounts, "orchard");
    let mut authenticator = Authenticator::new(Algorithm::EdDsa);
    let options = accounts.new_passkey_options(NOW, id, &site()).unwrap();
    let created = authenticator.create(&options);
    let late = visit(NOW.after(Millis(CHALLENGE_MS)));
    let add = |visit| accounts.add_passkey(visit, id, &site(), &created, "a laptop");
    assert_eq!(refusal(add(late)), Refusal::Challenge(challenge::Fault::Expired));
    add(visit(NOW)).unwrap();
    assert_eq!(refusal(add(visit(NOW))), Refusal::Challenge(challenge::Fault::Used));
    let used = authenticator.get(&accounts.passkey_options(NOW, &site()).unwrap());
    accounts.sign_in_with_passkey(visit(NOW), &site(), &used).unwrap();
    let again = refusal(accounts.sign_in_with_passkey(visit(NOW), &site(), &used));
    assert_eq!(again, Refusal::Challenge(challenge::Fault::Used));
}

#[test]
fn a_challenge_of_one_account_is_no_use_to_another() {
    let (_dir, accounts) = accounts();
    let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
    let mut authenticator = Authenticator::new(Algorithm::Es256);
    let created = authenticator.create(&accounts.new_passkey_options(NOW, first, &site()).unwrap());
    let refused = refusal(accounts.add_passkey(visit(NOW), second, &site(), &created, "a laptop"));
    assert_eq!(refused, Refusal::Challenge(challenge::Fault::Foreign));
    let used = authenticator.get(&accounts.new_passkey_options(NOW, first, &site()).unwrap());
    let refused = refusal(accounts.sign_in_with_passkey(visit(NOW), &site(), &used));
    assert_eq!(refused, Refusal::Challenge(challenge::Fault::Foreign));
}

#[test]
fn another_page_domain_or_an_absent_owner_is_refused() {
    let (_dir, accounts) = accounts();
    let id = made(&accounts, "orchard");
    type Lie = fn(&mut Authenticator);
    let lies: [(Lie, Fault); 6] = [
        (|liar| liar.origin = "https://evil.example", Fault::Origin),
        (|liar| liar.domain = "evil.example", Fault::Domain),
        (|liar| liar.flags = 0x04, Fault::NotVerified),
        (|liar| liar.flags = 0x01, Fault::NotVerified),
        (|liar| liar.flags = 0x15, Fault::Form("authenticator data")),
        (|liar| liar.vouching = Vouching::Certificate, Fault::Attestation),
    ];
    for (lie, fault) in lies {
        let mut authenticator = Authenticator::new(Algorithm::Es256);
        lie(&mut authenticator);
        assert_eq!(refusal(add(&accounts, id, &mut authenticator)), Refusal::Passkey(fault));
    }
    let mut honest = Authenticator::new(Algorithm::Es256);
    add(&accounts, id, &mut honest).unwrap();
    for (lie, fault) in &lies[..5] {
        let (origin, domain, flags) = (honest.origin, honest.domain, honest.flags);
        lie(&mut honest);
        assert_eq!(refusal(sign_in(&accounts, &mut honest)), Refusal::Passkey(*fault));
        (honest.origin, honest.domain, honest.flags) = (origin, domain, flags);
    }
    sign_in(&accounts, &mut honest).unwrap();
}

#[test]
fn another_key_or_owner_is_refused() {
    let (_dir, accounts) = accounts();
    let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
    let mut honest = Authenticator::new(Algorithm::Es256);
    add(&accounts, first, &mut honest).unwrap();
    let mut thief = Authenticator { handle: honest.handle.clone(), ..Authenticator::new(Algorithm::Es256) };
    assert_eq!(refusal(sign_in(&accounts, &mut thief)), Refusal::Passkey(Fault::Signature));
    assert_eq!(refusal(add(&accounts, second, &mut thief)), Refusal::Passkey(Fault::Taken));
    let mut other = Authenticator { id: vec![8; 16], ..Authenticator::new(Algorithm::EdDsa) };
    assert_eq!(refusal(sign_in(&accounts, &mut other)), Refusal::Passkey(Fault::Unknown));
    add(&accounts, second, &mut other).unwrap();
    other.handle = honest.handle.clone();
    assert_eq!(refusal(sign_in(&accounts, &mut other)), Refusal::Passkey(Fault::Unknown));
}

#[test]
fn a_counter_that_went_back_tells_of_a_copy() {
    let (_dir, accounts) = accounts();
    let id = made(&accounts, "orchard");
    let mut authenticator = Authenticator { count: 10, ..Authenticator::new(Algorithm::Es256) };
    add(&accounts, id, &mut authenticator).unwrap();
    authenticator.count = 12;
    sign_in(&accounts, &mut authenticator).unwrap();
    authenticator.count = 12;
    assert_eq!(refusal(sign_in(&accounts, &mut authenticator)), Refusal::Passkey(Fault::Cloned));
    assert_eq!(accounts.events_of(id, None, 1).unwrap()[0].kind, Kind::PasskeyCloned);
    authenticator.count = 13;
    sign_in(&accounts, &mut authenticator).unwrap();
    assert!(has_grown(0, 0) && has_grown(0, 1) && !has_grown(1, 0) && !has_grown(5, 5));
}

#[test]
fn the_last_way_in_is_kept() {
    let (_dir, accounts) = accounts();
    let (id, other) = (made(&accounts, "orchard"), made(&accounts, "barley"));
    let mut authenticator = Authenticator::new(Algorithm::Es256);
    let passkey = add(&accounts, id, &mut authenticator).unwrap();
    accounts.write(|db| Ok(db.execute("UPDATE account SET passphrase = NULL WHERE id = ?1", [id.0])?)).unwrap();
    assert_eq!(refusal(accounts.remove_passkey(visit(NOW), other, &passkey.id)), Refusal::NotFound("passkey"));
    assert_eq!(refusal(accounts.remove_passkey(visit(NOW), id, &passkey.id)), Refusal::LastWay);
    sign_in(&accounts, &mut authenticator).unwrap();
}

#[test]
fn an_address_in_numbers_has_no_passkeys() {
    let (_dir, accounts) = accounts();
    let site = Site::parse("http://127.0.0.1:7070").unwrap();
    assert_eq!(refusal(accounts.passkey_options(NOW, &site)), Refusal::NoPasskeyDomain);
    assert!(accounts.passkey_options(NOW, &Site::parse("http://localhost:7070").unwrap()).is_ok());
}

proptest! {
    #[test]
    fn damaged_bytes_are_refused_without_a_panic(
        at in 0_usize..400, flip in 1_u8..=255, cut in 0_usize..400, noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let authenticator = Authenticator::new(Algorithm::Es256);
        let good = authenticator.data(true);
        prop_assert!(authenticator::check(&good, "hub.example").is_ok());
        let mut changed = good.clone();
        let at = at % changed.len();
        changed[at] ^= flip;
        if let Ok(data) = authenticator::check(&changed, "hub.example") {
            // The model, the counter, the id and the key may be others; nothing else may.
            prop_assert!(at > 32, "{at}: {data:?}");
        }
        let short = &good[..cut % good.len()];
        prop_assert!(authenticator::check(short, "hub.example").is_err());
        let _ = authenticator::check(&noise, "hub.example");
        let _ = attestation::check(&noise, &[0; 32], "hub.example");
        let long = [&good[..], &[0]].concat();
        prop_assert!(authenticator::check(&long, "hub.example").is_err());
    }
}
