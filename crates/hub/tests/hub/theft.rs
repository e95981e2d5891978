//! Stolen cookies, tokens, codes and signatures: what they are good for, and for how long.
use crate::people::{PASSPHRASE, Shows, Somebody, now_ms};
use crate::place::{Api, Place, array};
use data_encoding::BASE32_NOPAD;
use gleaner_accounts::{Accounts, Secret, Settings, Visit};
use gleaner_chain::Account;
use gleaner_chain::primitives::eip191_hash_message;
use gleaner_wire::Millis;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::{Value, json};

const ACCOUNTS: [&str; 2] = ["requester", "provider"];
const OTHER: &str = "quite another phrase of words";

async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap_or_default())
}

/// Tries to sign in.
async fn sign_in(api: &Api, name: &str, passphrase: &str, code: Option<&str>) -> (StatusCode, Value) {
    let said = json!({ "name": name, "passphrase": passphrase, "code": code });
    Somebody::nobody(api).post("/api/v1/session", &said).await
}

fn session(who: &Somebody) -> (&str, &str) {
    match &who.shows {
        Shows::Session { cookie, csrf } => (cookie, csrf),
        other => panic!("no session: {other:?}"),
    }
}

async fn is_signed_in(who: &Somebody) -> bool {
    who.ask(Method::GET, "/api/v1/session").send().await.unwrap().status() == StatusCode::OK
}

#[tokio::test]
async fn a_pages_token_is_good_for_its_own_session_alone() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let thief = Somebody::sign_up(&place.api, "thief", &ACCOUNTS).await;
    let again = Somebody::sign_in(&place.api, "owner").await;
    let (cookie, csrf) = session(&owner);
    let (stolen, old) = (session(&thief).1.to_owned(), session(&again).1.to_owned());
    let cut = &csrf[..csrf.len() - 1];
    for wrong in ["", "0", "null", cut, &stolen, &old, &csrf.to_uppercase(), &format!("{csrf},{csrf}")] {
        let shows = Shows::Session { cookie: cookie.to_owned(), csrf: wrong.to_owned() };
        let forger = Somebody { api: place.api.clone(), shows };
        let (status, body) = forger.post("/api/v1/account/totp", &json!({})).await;
        assert_eq!((status, body["code"].as_str()), (StatusCode::FORBIDDEN, Some("csrf")), "`{wrong}`");
    }
    // In the address or the body it counts for nothing.
    let path = format!("/api/v1/account/totp?x-gleaner-csrf={csrf}&csrf={csrf}");
    let (status, _) = owner.forged().post(&path, &json!({ "csrf": csrf })).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(owner.post("/api/v1/account/totp", &json!({})).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_cookie_that_was_planted_before_is_worth_nothing_after_signing_in() {
    let place = Place::new().await;
    let victim = Somebody::sign_up(&place.api, "victim", &ACCOUNTS).await;
    let thief = Somebody::sign_up(&place.api, "thief", &ACCOUNTS).await;
    let said = json!({ "name": "victim", "passphrase": PASSPHRASE });
    let invented = format!("gleaner={}", "a".repeat(64));
    for planted in [invented.clone(), session(&thief).0.to_owned()] {
        let asker = Somebody { api: place.api.clone(), shows: Shows::CookieAlone(planted.clone()) };
        let response = asker.ask(Method::POST, "/api/v1/session").json(&said).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let signed_in = Somebody::let_in(&place.api, response).await;
        assert_ne!(session(&signed_in).0, planted, "the session has a token of its own");
        assert_eq!(signed_in.json("/api/v1/session").await["account"]["name"], "victim");
    }
    let planted = Somebody { api: place.api.clone(), shows: Shows::CookieAlone(invented.clone()) };
    assert!(!is_signed_in(&planted).await);
    assert_eq!(thief.json("/api/v1/session").await["account"]["name"], "thief");
    // Beside the real one, a planted cookie makes both worth nothing, so that nobody works in the name of another.
    let both = format!("{}; {invented}", session(&victim).0);
    assert!(!is_signed_in(&Somebody { api: place.api.clone(), shows: Shows::CookieAlone(both) }).await);
}

#[tokio::test]
async fn signing_in_again_ends_the_session_that_the_browser_had() {
    let place = Place::new().await;
    let first = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let said = json!({ "name": "owner", "passphrase": PASSPHRASE });
    let response = first.ask(Method::POST, "/api/v1/session").json(&said).send().await.unwrap();
    let second = Somebody::let_in(&place.api, response).await;
    assert!(is_signed_in(&second).await);
    assert!(!is_signed_in(&first).await);
}

#[tokio::test]
async fn a_stolen_session_ends_when_its_owner_says_so() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let stolen = Somebody::sign_in(&place.api, "owner").await;
    let thief = stolen.forged();
    assert!(is_signed_in(&thief).await);
    let listed = owner.json("/api/v1/account/sessions").await;
    let of_thief = listed["items"].as_array().unwrap().iter().find(|session| session["current"] != true).unwrap();
    let path = format!("/api/v1/account/sessions/{}", of_thief["id"].as_str().unwrap());
    assert_eq!(owner.delete(&path).await, StatusCode::NO_CONTENT);
    assert!(!is_signed_in(&thief).await);
    let (third, fourth) = (Somebody::sign_in(&place.api, "owner").await, Somebody::sign_in(&place.api, "owner").await);
    assert!(owner.delete("/api/v1/account/sessions").await.is_success());
    assert!(!is_signed_in(&third).await && !is_signed_in(&fourth).await && is_signed_in(&owner).await);
    assert_eq!(owner.delete("/api/v1/session").await, StatusCode::NO_CONTENT);
    assert!(!is_signed_in(&owner).await, "the cookie is worth nothing, whoever kept it");
}

#[tokio::test]
async fn another_passphrase_ends_every_other_session_and_the_old_one() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let stolen = Somebody::sign_in(&place.api, "owner").await;
    let token = owner.token(&json!({ "read": true })).await;
    let change = |old: &str| {
        let said = json!({ "old": old, "new": OTHER });
        answer(stolen.ask(Method::PUT, "/api/v1/account/passphrase").json(&said))
    };
    assert_eq!(change("a wrong one, guessed").await.1["code"], "wrong-credentials", "a session alone changes nothing");
    let said = json!({ "old": PASSPHRASE, "new": OTHER });
    let (status, _) = answer(owner.ask(Method::PUT, "/api/v1/account/passphrase").json(&said)).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert!(is_signed_in(&owner).await && !is_signed_in(&stolen).await);
    assert_eq!(sign_in(&place.api, "owner", PASSPHRASE, None).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(sign_in(&place.api, "owner", OTHER, None).await.0, StatusCode::OK);
    // Tokens are no passphrases: machines go on with them, and their owner sees and revokes them.
    assert_eq!(token.ask(Method::GET, "/api/v1/jobs").send().await.unwrap().status(), StatusCode::OK);
    let listed = owner.json("/api/v1/account/tokens").await;
    let id = &listed["items"][0]["id"];
    assert_eq!(owner.delete(&format!("/api/v1/account/tokens/{id}")).await, StatusCode::NO_CONTENT);
    assert_eq!(token.ask(Method::GET, "/api/v1/jobs").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let kinds = owner.json("/api/v1/account/events").await;
    let kinds: Vec<_> = kinds["items"].as_array().unwrap().iter().map(|event| event["kind"].clone()).collect();
    for kind in ["passphrase-changed", "token-revoked", "token-made", "signed-in"] {
        assert!(kinds.contains(&json!(kind)), "{kind} in {kinds:?}");
    }
}

#[tokio::test]
async fn a_token_reaches_no_further_than_its_scopes_and_its_account() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let thief = Somebody::sign_up(&place.api, "thief", &ACCOUNTS).await;
    let token = thief.token(&json!({ "read": true, "submit": true, "spend": "0.5" })).await;
    // Not in another's name.
    let program = token.as_api().store(b"a program").await.to_string();
    for name in ["@owner", "owner", "local"] {
        let job = token.ask(Method::POST, "/api/v1/jobs").header("gleaner-requester", name).json(&array(1, &program));
        let (status, body) = answer(job).await;
        assert_eq!((status, body["code"].as_str()), (StatusCode::FORBIDDEN, Some("requester")), "{name}: {body}");
    }
    // Not beyond what it may spend, in one piece or in many.
    let mut job = array(1, &program);
    job["budget"] = json!({ "price_max": "0.51 GLN" });
    let (status, body) = answer(token.ask(Method::POST, "/api/v1/jobs").json(&job)).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("over-limit")), "{body}");
    job["budget"] = json!({ "price_max": "0.2 GLN" });
    let mut statuses = Vec::new();
    for key in 0..4_u8 {
        let request = token.ask(Method::POST, "/api/v1/jobs").header("idempotency-key", format!("{key:032x}"));
        statuses.push(answer(request.json(&job)).await.0.as_u16());
    }
    assert_eq!(statuses, [201, 201, 422, 422]);
    // Not to make more of its kind, or to look at who else there is.
    for (method, path) in [(Method::POST, "/api/v1/account/tokens"), (Method::GET, "/api/v1/accounts")] {
        assert_eq!(answer(token.ask(method, path).json(&json!({}))).await.0, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(owner.json("/api/v1/jobs").await["items"], json!([]));
}

#[tokio::test]
async fn what_is_no_token_is_refused_and_a_cookie_beside_it_does_not_help() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let token = owner.make_token(&json!({ "read": true })).await["text"].as_str().unwrap().to_owned();
    let cut = token[..token.len() - 1].to_owned();
    let changed = format!("{cut}{}", if token.ends_with('0') { '1' } else { '0' });
    let long = "x".repeat(8000);
    let wrong = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        token.clone(),
        format!("Bearer {cut}"),
        format!("Bearer {changed}"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {token} {token}"),
        format!("Bearer {long}"),
        format!("Bearer {}", "0".repeat(64)),
    ];
    for value in wrong {
        let request = owner.ask(Method::GET, "/api/v1/jobs").header(header::AUTHORIZATION, &value);
        let (status, body) = answer(request).await;
        assert_eq!((status, body["code"].as_str()), (StatusCode::UNAUTHORIZED, Some("unauthorized")), "{value}");
    }
    let right = Somebody::nobody(&place.api).ask(Method::GET, "/api/v1/jobs").bearer_auth(&token);
    assert_eq!(answer(right).await.0, StatusCode::OK);
    // In an address it would be in logs and histories.
    let path = format!("/api/v1/jobs?token={token}&access_token={token}");
    let (status, _) = answer(Somebody::nobody(&place.api).ask(Method::GET, &path)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

/// The owner of a wallet.
struct Wallet(Account);

impl Wallet {
    async fn challenge(&self, api: &Api) -> String {
        let address = self.0.address().to_string().to_lowercase();
        let (status, body) =
            Somebody::nobody(api).post("/api/v1/session/wallet/challenge", &json!({ "address": address })).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body["message"].as_str().unwrap().to_owned()
    }

    fn sign(&self, message: &str) -> String {
        self.0.sign_digest(eip191_hash_message(message)).to_string()
    }
}

async fn show_signed(api: &Api, message: &str, signature: &str) -> (StatusCode, Value) {
    let said = json!({ "message": message, "signature": signature });
    Somebody::nobody(api).post("/api/v1/session/wallet", &said).await
}

#[tokio::test]
async fn a_signed_message_lets_in_once_and_only_where_it_was_meant() {
    let place = Place::new().await;
    let api = &place.api;
    let wallet = Wallet(Account::from_words("a wallet of a test"));
    let message = wallet.challenge(api).await;
    let signature = wallet.sign(&message);
    // One that a page in the middle has had signed under its own name, or changed afterwards.
    let host = api.url.trim_start_matches("http://");
    let elsewhere = message.replace(host, "evil.example");
    assert_ne!(elsewhere, message);
    let (status, body) = show_signed(api, &elsewhere, &wallet.sign(&elsewhere)).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("wallet")), "{body}");
    let (status, _) = show_signed(api, &elsewhere, &signature).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    // Somebody else's signature.
    let thief = Wallet(Account::from_words("another wallet"));
    let (status, _) = show_signed(api, &message, &thief.sign(&message)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    // The right one, and then again by whoever has listened.
    assert_eq!(show_signed(api, &message, &signature).await.0, StatusCode::OK);
    let (status, body) = show_signed(api, &message, &signature).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("challenge")), "{body}");
    // A hub that does not know the nonce: it is another's, or this one's of another time.
    let other = Place::new().await;
    let moved = message.replace(host, other.api.url.trim_start_matches("http://"));
    let (status, body) = show_signed(&other.api, &moved, &wallet.sign(&moved)).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::UNPROCESSABLE_ENTITY, Some("challenge")), "{body}");
}

#[tokio::test]
async fn a_signed_message_lets_in_once_however_many_show_it_at_once() {
    let place = Place::new().await;
    let wallet = Wallet(Account::from_words("a wallet of a test"));
    let message = wallet.challenge(&place.api).await;
    let signature = wallet.sign(&message);
    let shown = (0..8).map(|_| show_signed(&place.api, &message, &signature));
    let statuses: Vec<_> = futures_util::future::join_all(shown).await.into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses.iter().filter(|status| status.is_success()).count(), 1, "{statuses:?}");
}

/// A code of the second factor, as an app shows it.
fn totp(secret: &str, now_ms: u64) -> String {
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let tag = ring::hmac::sign(&key, &(now_ms / 30_000).to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[19] & 15);
    let number = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

#[tokio::test]
async fn codes_of_the_second_factor_are_good_once() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let stolen = Somebody::sign_in(&place.api, "owner").await;
    let (status, enrolment) = owner.post("/api/v1/account/totp", &json!({})).await;
    assert_eq!(status, StatusCode::OK, "{enrolment}");
    let secret = enrolment["secret"].as_str().unwrap().to_owned();
    // The code of the step before this one is taken too, so that the clock cannot pass it by.
    let code = totp(&secret, now_ms());
    let (status, recovery) = owner.post("/api/v1/account/totp/confirm", &json!({ "code": code })).await;
    assert_eq!(status, StatusCode::OK, "{recovery}");
    assert!(!is_signed_in(&stolen).await, "whoever came without it is out");
    let again = |code: &str| {
        let code = code.to_owned();
        let api = place.api.clone();
        async move {
            let (status, body) = sign_in(&api, "owner", PASSPHRASE, Some(&code)).await;
            (status.as_u16(), body["code"].as_str().unwrap_or_default().to_owned())
        }
    };
    let wrong = (401, "wrong-code".to_owned());
    assert_eq!(again(&code).await, wrong, "it was used to turn the second factor on");
    let next = totp(&secret, now_ms() + 30_000);
    assert_eq!(again(&next).await.0, 200);
    assert_eq!(again(&next).await, wrong);
    let spare = recovery["recovery_codes"][0].as_str().unwrap();
    assert_eq!(again(spare).await.0, 200);
    assert_eq!(again(spare).await, wrong);
    // Without a code the passphrase is worth nothing, and a session alone does not turn the second factor off.
    let (status, body) = sign_in(&place.api, "owner", PASSPHRASE, None).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::UNAUTHORIZED, Some("second-factor-needed")));
    let (status, _) = answer(owner.ask(Method::DELETE, "/api/v1/account/totp").json(&json!({ "code": next }))).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

/// A session of some time ago, as a thief finds it in a browser.
fn old_session(place: &Place, name: &str, ago_ms: u64) -> Somebody {
    let accounts = Accounts::open(place.dir(), Settings::default()).unwrap();
    let then = Visit { now: Millis(now_ms() - ago_ms), address: None };
    let signed = accounts.sign_in(then, name, &Secret::new(PASSPHRASE), None).unwrap();
    let (cookie, csrf) =
        (format!("gleaner={}", signed.session.token.expose()), signed.session.csrf.expose().to_owned());
    Somebody { api: place.api.clone(), shows: Shows::Session { cookie, csrf } }
}

#[tokio::test]
async fn a_stolen_session_gets_no_other_way_in() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let wallet = Wallet(Account::from_words("a thief's wallet"));
    let stolen = old_session(&place, "owner", 11 * 60 * 1000);
    assert!(is_signed_in(&stolen).await);
    let message = wallet.challenge(&place.api).await;
    let signed = json!({ "message": message, "signature": wallet.sign(&message) });
    for (path, said) in [
        ("/api/v1/account/passkeys/challenge", json!({})),
        ("/api/v1/account/wallets", signed.clone()),
        ("/api/v1/account/totp", json!({})),
    ] {
        let (status, body) = stolen.post(path, &said).await;
        assert_eq!((status, body["code"].as_str()), (StatusCode::FORBIDDEN, Some("fresh-sign-in")), "{path}: {body}");
        assert!(body["detail"].as_str().unwrap().contains("sign in again"), "{body}");
    }
    assert_eq!(show_signed(&place.api, &message, signed["signature"].as_str().unwrap()).await.0, StatusCode::OK);
    assert_eq!(owner.json("/api/v1/account/wallets").await["items"], json!([]), "it has an account of its own by that");
    // Whoever has just signed in may.
    let mine = Wallet(Account::from_words("the owner's wallet"));
    let message = mine.challenge(&place.api).await;
    let signed = json!({ "message": message, "signature": mine.sign(&message) });
    assert_eq!(owner.post("/api/v1/account/wallets", &signed).await.0, StatusCode::NO_CONTENT);
    let soon = old_session(&place, "owner", 9 * 60 * 1000);
    assert_eq!(soon.post("/api/v1/account/totp", &json!({})).await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_operators_reset_puts_a_thief_out_who_had_made_themselves_at_home() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    let wallet = Wallet(Account::from_words("a thief's wallet"));
    let message = wallet.challenge(&place.api).await;
    let signed = json!({ "message": message, "signature": wallet.sign(&message) });
    assert_eq!(owner.post("/api/v1/account/wallets", &signed).await.0, StatusCode::NO_CONTENT);
    let token = owner.token(&json!({ "read": true })).await;
    let (status, _) = owner.post("/api/v1/webhooks", &json!({ "url": "https://example.com/" })).await;
    assert_eq!(status, StatusCode::CREATED);
    let id = owner.json("/api/v1/session").await["account"]["id"].to_string();
    let reset = place.api.post(&format!("/api/v1/accounts/{id}/passphrase")).json(&json!({})).send().await.unwrap();
    let passphrase = reset.json::<Value>().await.unwrap()["passphrase"].as_str().unwrap().to_owned();
    assert!(!is_signed_in(&owner).await && !is_signed_in(&token).await);
    let message = wallet.challenge(&place.api).await;
    let (status, body) = show_signed(&place.api, &message, &wallet.sign(&message)).await;
    assert!(status.is_client_error(), "the wallet signs nobody in: {body}");
    let said = json!({ "name": "owner", "passphrase": passphrase });
    let response = Somebody::nobody(&place.api).ask(Method::POST, "/api/v1/session").json(&said).send().await.unwrap();
    let again = Somebody::let_in(&place.api, response).await;
    for path in ["/api/v1/account/wallets", "/api/v1/account/tokens", "/api/v1/account/passkeys", "/api/v1/webhooks"] {
        assert_eq!(again.json(path).await["items"], json!([]), "{path}");
    }
}

/// What is told to somebody who tries to come in, but for how long they have to wait.
async fn told(api: &Api, name: &str, passphrase: &str) -> (u16, bool, Value, Value) {
    let said = json!({ "name": name, "passphrase": passphrase });
    let request = Somebody::nobody(api).ask(Method::POST, "/api/v1/session").json(&said);
    let response = request.send().await.unwrap();
    let (status, waits) = (response.status(), response.headers().contains_key(header::RETRY_AFTER));
    let body: Value = response.json().await.unwrap();
    (status.as_u16(), waits, body["code"].clone(), body["title"].clone())
}

#[tokio::test]
async fn guesses_are_slowed_down_alike_for_names_that_exist_and_names_that_do_not() {
    let place = Place::new().await;
    Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    Somebody::sign_up(&place.api, "another", &ACCOUNTS).await;
    let guess = "a wrong one, guessed";
    let first = told(&place.api, "owner", guess).await;
    assert_eq!((first.0, first.1, &first.2), (401, false, &json!("wrong-credentials")));
    assert_eq!(told(&place.api, "nobody-here", guess).await, first, "answers do not tell whether there is an account");
    // Wrong tries of the last hours, by the accounts' own clock, since each waits longer than the one before.
    let accounts = Accounts::open(place.dir(), Settings::default()).unwrap();
    let (now, apart) = (now_ms(), 20 * 60 * 1000);
    for (name, host) in [("another", 1), ("nobody-there", 2)] {
        for ago in (0..12).rev() {
            let visit = Visit { now: Millis(now - ago * apart), address: Some([192, 0, 2, host].into()) };
            assert!(accounts.sign_in(visit, name, &Secret::new(guess), None).is_err());
        }
    }
    // The right passphrase waits too, or guessing would go on.
    let locked = told(&place.api, "another", PASSPHRASE).await;
    assert_eq!((locked.0, locked.1, &locked.2), (429, true, &json!("locked-out")));
    assert_eq!(told(&place.api, "nobody-there", PASSPHRASE).await, locked);
}

#[tokio::test]
async fn a_name_that_is_taken_is_told_only_to_whoever_makes_an_account() {
    let place = Place::new().await;
    Somebody::sign_up(&place.api, "owner", &ACCOUNTS).await;
    for path in ["/api/v1/accounts/owner", "/api/v1/accounts?name=owner", "/api/v1/accounts"] {
        let (status, body) = answer(Somebody::nobody(&place.api).ask(Method::GET, path)).await;
        assert!(status == StatusCode::UNAUTHORIZED || status == StatusCode::NOT_FOUND, "{path}: {status} {body}");
    }
    // Nor do passkeys tell: the options for a name that is there look like those for one that is not.
    let options = |name: &str| {
        let said = json!({ "name": name });
        let api = place.api.clone();
        async move { Somebody::nobody(&api).post("/api/v1/session/passkey/challenge", &said).await.0 }
    };
    assert_eq!(options("owner").await, options("nobody-here").await);
}

#[tokio::test]
async fn nobody_makes_themselves_an_operator() {
    let place = Place::new().await;
    let said = json!({ "name": "mallory", "passphrase": PASSPHRASE, "roles": ["operator"] });
    let (status, body) = Somebody::nobody(&place.api).post("/api/v1/accounts", &said).await;
    assert_eq!((status, body["code"].as_str()), (StatusCode::FORBIDDEN, Some("role")));
    let plain = Somebody::sign_up(&place.api, "mallory", &ACCOUNTS).await;
    let (status, _) = plain
        .post("/api/v1/accounts", &json!({ "name": "eve", "passphrase": PASSPHRASE, "roles": ["operator"] }))
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}
