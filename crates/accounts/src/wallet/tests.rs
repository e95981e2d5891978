//! Wallets that sign, and messages that were meant for somebody else.
use super::*;
use crate::store::tests::{NOW, accounts, made, visit};
use crate::{Secret, challenge};
use alloy_primitives::eip191_hash_message;
use k256::ecdsa::SigningKey;

/// A wallet in software.
struct Owner(SigningKey);

impl Owner {
    fn new(seed: u8) -> Self {
        Self(SigningKey::from_slice(&[seed; 32]).unwrap())
    }

    fn address(&self) -> Address {
        Address(alloy_primitives::Address::from_private_key(&self.0).into_array())
    }

    fn sign(&self, message: &str) -> String {
        let hash = eip191_hash_message(message);
        let (signature, recovery) = self.0.sign_prehash_recoverable(hash.as_slice()).unwrap();
        format!("0x{}{:02x}", HEXLOWER.encode(&signature.to_bytes()), 27 + recovery.to_byte())
    }
}

fn site() -> Site {
    Site::parse("https://hub.example").unwrap()
}

fn place(site: &Site) -> Place<'_> {
    Place { site, chain_id: 31_337 }
}

fn refusal<T>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn a_signature_of_a_known_wallet_is_recovered() {
    // Made with another implementation: the first account of the common test mnemonic signs "hello".
    let owner = Owner(
        SigningKey::from_slice(
            &HEXLOWER.decode(b"ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80").unwrap(),
        )
        .unwrap(),
    );
    assert_eq!(owner.address().to_string(), "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    assert_eq!(signer("hello", &owner.sign("hello")), Ok(owner.address()));
}

#[test]
fn an_address_gets_an_account_and_comes_back_to_it() {
    let (_dir, accounts) = accounts();
    let (site, owner) = (site(), Owner::new(1));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
        assert!(to_sign.message.contains(&to_sign.nonce));
        let signature = owner.sign(&to_sign.message);
        let signed = accounts
            .sign_in_with_wallet(visit(NOW), place(&site), &to_sign.message, &signature, None, Newcomers::Welcome)
            .unwrap();
        assert_eq!(signed.account.name, Name::of_wallet(owner.address()));
        ids.push(signed.account.id);
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(accounts.payer_owner(&owner.address().to_string()).unwrap(), Some(ids[0]));
    assert_eq!(refusal(accounts.unlink_wallet(visit(NOW), ids[0], owner.address())), Refusal::LastWay);
    assert_eq!(accounts.wallets(ids[0]).unwrap().len(), 1);
}

#[test]
fn a_signed_message_is_good_once_and_in_time() {
    let (_dir, accounts) = accounts();
    let (site, owner) = (site(), Owner::new(1));
    let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
    let signature = owner.sign(&to_sign.message);
    let sign_in = |now| {
        accounts.sign_in_with_wallet(visit(now), place(&site), &to_sign.message, &signature, None, Newcomers::Welcome)
    };
    assert_eq!(refusal(sign_in(NOW.after(Millis(CHALLENGE_MS)))), Refusal::Wallet(Fault::Time));
    sign_in(NOW).unwrap();
    assert_eq!(refusal(sign_in(NOW)), Refusal::Challenge(challenge::Fault::Used));
}

#[test]
fn a_message_for_another_page_chain_or_wallet_is_refused() {
    let (_dir, accounts) = accounts();
    let (site, owner, thief) = (site(), Owner::new(1), Owner::new(2));
    let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
    let message = to_sign.message;
    let try_with = |message: &str, signature: &str| {
        refusal(accounts.sign_in_with_wallet(visit(NOW), place(&site), message, signature, None, Newcomers::Welcome))
    };
    assert_eq!(try_with(&message, &thief.sign(&message)), Refusal::Wallet(Fault::Signer));
    for (from, to, fault) in [
        ("https://hub.example wants", "https://evil.example wants", Fault::Domain),
        ("https://hub.example wants", "http://hub.example wants", Fault::Domain),
        ("URI: https://hub.example", "URI: https://hub.example.evil.example", Fault::Domain),
        ("Chain ID: 31337", "Chain ID: 1", Fault::Chain),
        ("Expiration Time: 2027", "Expiration Time: 2026", Fault::Time),
        ("Issued At: 2027", "Issued At: 2028", Fault::Time),
    ] {
        let changed = message.replacen(from, to, 1);
        assert_ne!(changed, message);
        assert_eq!(try_with(&changed, &owner.sign(&changed)), Refusal::Wallet(fault), "{changed}");
    }
    let more = format!("{message}\nResources:\n- https://hub.example/everything");
    assert_eq!(try_with(&more, &owner.sign(&more)), Refusal::Wallet(Fault::Resources));
    let other = message.replacen(&to_sign.nonce, &"0".repeat(to_sign.nonce.len()), 1);
    assert_eq!(try_with(&other, &owner.sign(&other)), Refusal::Challenge(challenge::Fault::Foreign));
    let stolen = accounts.wallet_challenge(NOW, place(&site), thief.address()).unwrap().nonce;
    let other = message.replacen(&to_sign.nonce, &stolen, 1);
    assert_eq!(try_with(&other, &owner.sign(&other)), Refusal::Challenge(challenge::Fault::Foreign));
    for signature in ["", "0x", "zz", &"0".repeat(130), &"f".repeat(130), &"é".repeat(65)] {
        assert!(
            matches!(try_with(&message, signature), Refusal::Wallet(Fault::Signature | Fault::Signer)),
            "{signature}"
        );
    }
}

#[test]
fn a_linked_wallet_opens_the_account_and_belongs_to_it_alone() {
    let (_dir, accounts) = accounts();
    let (site, owner) = (site(), Owner::new(1));
    let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
    let link = |id| {
        let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
        let signature = owner.sign(&to_sign.message);
        accounts.link_wallet(visit(NOW), id, place(&site), &to_sign.message, &signature)
    };
    assert_eq!(link(first).unwrap(), owner.address());
    assert_eq!(refusal(link(second)), Refusal::WalletTaken);
    let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
    let signature = owner.sign(&to_sign.message);
    let signed = accounts
        .sign_in_with_wallet(visit(NOW), place(&site), &to_sign.message, &signature, None, Newcomers::Welcome)
        .unwrap();
    assert_eq!(signed.account.id, first);
    accounts.unlink_wallet(visit(NOW), first, owner.address()).unwrap();
    assert_eq!(accounts.payers(first).unwrap(), ["@first"]);
    link(second).unwrap();
}

#[test]
fn a_second_factor_is_asked_of_wallets_too_and_the_message_stays_good() {
    let (_dir, accounts) = accounts();
    let (site, owner) = (site(), Owner::new(1));
    let id = made(&accounts, "orchard");
    let sign = || {
        let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
        let signature = owner.sign(&to_sign.message);
        (to_sign.message, signature)
    };
    let (message, signature) = sign();
    accounts.link_wallet(visit(NOW), id, place(&site), &message, &signature).unwrap();
    let recovery: Vec<Secret> = crate::totp::tests::turn_on(&accounts, id);
    let (message, signature) = sign();
    let sign_in =
        |code| accounts.sign_in_with_wallet(visit(NOW), place(&site), &message, &signature, code, Newcomers::Welcome);
    assert_eq!(refusal(sign_in(None)), Refusal::SecondFactorNeeded);
    assert_eq!(refusal(sign_in(Some("000000"))), Refusal::WrongCode);
    sign_in(Some(recovery[0].expose())).unwrap();
}

#[test]
fn where_newcomers_are_refused_only_linked_wallets_sign_in() {
    let (_dir, accounts) = accounts();
    let (site, owner) = (site(), Owner::new(1));
    let sign_in = || {
        let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
        let (message, signature) = (&to_sign.message, owner.sign(&to_sign.message));
        accounts.sign_in_with_wallet(visit(NOW), place(&site), message, &signature, None, Newcomers::Refused)
    };
    assert_eq!(refusal(sign_in()), Refusal::NoNewcomers);
    assert!(accounts.is_empty().unwrap());
    let id = made(&accounts, "orchard");
    let to_sign = accounts.wallet_challenge(NOW, place(&site), owner.address()).unwrap();
    let signature = owner.sign(&to_sign.message);
    accounts.link_wallet(visit(NOW), id, place(&site), &to_sign.message, &signature).unwrap();
    assert_eq!(sign_in().unwrap().account.id, id);
}
