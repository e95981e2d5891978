//! Keystore files against another implementation of the same format, and against hostile files.
use alloy_primitives::hex;
use gleaner_chain::account::Account;
use gleaner_chain::wallet::{self, Cost, Error, Keystore, Password};
use std::process::Command;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn another_implementation_opens_our_files() {
    let folder = folder();
    let path = folder.path().join("main.json");
    let account = Account::from_key(&[7; 32]).expect("a key");
    wallet::create(&path, &account, &Password::new("pässword"), Cost::QUICK).expect("created");
    assert_eq!(eth_keystore::decrypt_key(&path, "pässword").expect("opened"), [7; 32]);
}

#[test]
fn we_open_files_of_another_implementation() {
    let folder = folder();
    let account = Account::from_key(&[9; 32]).expect("a key");
    eth_keystore::encrypt_key(folder.path(), &mut rand::thread_rng(), [9; 32], "theirs", Some("k")).expect("written");
    let path = folder.path().join("k");
    assert_eq!(wallet::address(&path).expect("read"), None, "this implementation leaves the address out");
    assert_eq!(wallet::open(&path, &Password::new("theirs")).expect("opened").address(), account.address());
    assert!(matches!(wallet::open(&path, &Password::new("ours")), Err(Error::Password(_))));
}

#[test]
fn a_keystore_of_the_other_key_derivation_opens() {
    let key = hex!("0707070707070707070707070707070707070707070707070707070707070707");
    let sealed = pbkdf2_keystore(&key, "old", 1000);
    let opened = Keystore::from_json(&sealed).expect("a keystore").open(&Password::new("old")).expect("opened");
    assert_eq!(opened.address(), Account::from_key(&key).expect("a key").address());
}

/// Written down by hand from the definition of the format, with independent crates' primitives.
fn pbkdf2_keystore(key: &[u8; 32], password: &str, rounds: u32) -> String {
    use aes::cipher::{KeyIvInit, StreamCipher};
    let (salt, iv) = ([3; 32], [5; 16]);
    let mut derived = [0; 32];
    pbkdf2::pbkdf2::<hmac::Hmac<sha2::Sha256>>(password.as_bytes(), &salt, rounds, &mut derived);
    let mut sealed = *key;
    let mut cipher_key = [0; 16];
    cipher_key.copy_from_slice(&derived[..16]);
    ctr::Ctr128BE::<aes::Aes128>::new(&cipher_key.into(), &iv.into()).apply_keystream(&mut sealed);
    let mac = alloy_primitives::keccak256([&derived[16..], &sealed[..]].concat());
    serde_json::json!({
        "version": 3, "id": "00000000-0000-4000-8000-000000000000",
        "crypto": {
            "cipher": "aes-128-ctr", "cipherparams": { "iv": hex::encode(iv) }, "ciphertext": hex::encode(sealed),
            "kdf": "pbkdf2", "mac": hex::encode(mac),
            "kdfparams": { "dklen": 32, "c": rounds, "prf": "hmac-sha256", "salt": hex::encode(salt) },
        },
    })
    .to_string()
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    let good = Keystore::seal(&Account::random(), &Password::new("p"), Cost::QUICK).to_json();
    let swaps = [
        ("\"n\":1024", "\"n\":1099511627776"),
        ("\"n\":1024", "\"n\":1023"),
        ("\"r\":8", "\"r\":4294967295"),
        ("\"p\":1", "\"p\":100000"),
        ("\"dklen\":32", "\"dklen\":31"),
        ("\"version\":3", "\"version\":1"),
        ("aes-128-ctr", "aes-256-xyz"),
        ("\"iv\":\"", "\"iv\":\"00"),
        ("\"ciphertext\":\"", "\"ciphertext\":\"00"),
        ("\"kdf\":\"scrypt\"", "\"kdf\":\"md5\""),
        ("\"salt\":\"", "\"salt\":\"zz"),
    ];
    for (from, to) in swaps {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from} is in the file");
        let opened = Keystore::from_json(&bad).and_then(|keystore| keystore.open(&Password::new("p")));
        assert!(opened.is_err(), "{to}");
    }
}

#[test]
fn a_file_that_names_another_address_is_refused() {
    let account = Account::random();
    let keystore = Keystore::seal(&account, &Password::new("p"), Cost::QUICK);
    let mut other = keystore;
    other.address = Some(Account::random().address());
    assert!(other.open(&Password::new("p")).is_err());
}

#[test]
fn a_damaged_key_is_not_opened_as_another_one() {
    let folder = folder();
    let path = folder.path().join("main.json");
    wallet::create(&path, &Account::random(), &Password::new("p"), Cost::QUICK).expect("created");
    let text = std::fs::read_to_string(&path).expect("there");
    let at = text.find("\"ciphertext\":\"").expect("a field") + 14;
    let mut bytes = text.into_bytes();
    bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
    std::fs::write(&path, bytes).expect("written");
    assert!(matches!(wallet::open(&path, &Password::new("p")), Err(Error::Password(_))));
}

/// Set in a session that has a keyring.
const KEYRING: &str = "GLEANER_TEST_KEYRING";

#[test]
fn the_systems_keyring_keeps_a_password() {
    if std::env::var_os(KEYRING).is_none() {
        return in_a_session_with_a_keyring("the_systems_keyring_keeps_a_password");
    }
    let address = Account::random().address();
    let unlock = wallet::Unlock::Keyring(address);
    assert!(matches!(unlock.password(""), Err(Error::NoPassword(_))));
    Password::new("correct horse").remember(address).expect("kept");
    assert!(unlock.password("").expect("found") == Password::new("correct horse"));
    Password::forget(address).expect("forgotten");
    assert!(matches!(unlock.password(""), Err(Error::NoPassword(_))));
}

/// Runs one of these tests in a desktop session of its own, with a real keyring that is unlocked and thrown away.
fn in_a_session_with_a_keyring(test: &str) {
    let home = folder();
    let script = "printf keyring | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec \"$@\"";
    let ended = Command::new("dbus-run-session")
        .args(["--", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture"])
        .envs(["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"].map(|name| (name, home.path())))
        .env(KEYRING, "1")
        .output()
        .expect("dbus-run-session and gnome-keyring-daemon are installed, as scripts/test does");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}
