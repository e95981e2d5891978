//! The Web3 Secret Storage format, version 3: the key under AES-128-CTR, the cipher's key from the password by scrypt.
//!
//! Files from elsewhere are hostile input: their cost settings are bounded, so that no file can make us use more
//! memory or time than a strong one of our own.
use aes::Aes128;
use aes::cipher::{KeyIvInit, StreamCipher};
use alloy_primitives::{Address, hex, keccak256};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::Password;
use crate::account::Account;

/// The most memory that a file may ask for, in bytes.
const MEMORY_MAX: u64 = 1 << 30;
/// The most rounds of PBKDF2 that a file may ask for.
const ROUNDS_MAX: u32 = 10_000_000;

/// How much work a password guess costs: the base-2 logarithm of scrypt's `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost(u8);

impl Cost {
    /// 128 MiB and some tenths of a second for each guess.
    pub const STANDARD: Self = Self(17);
    /// Almost nothing: for tests, and for keys without value.
    pub const QUICK: Self = Self(10);
}

/// Why a keystore did not open.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The password does not fit.
    #[error("wrong password")]
    Password,
    /// The file is not what it should be.
    #[error("{0}")]
    Format(String),
}

/// A keystore file's content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Keystore {
    /// Whose key it is, if the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bare_address")]
    pub address: Option<Address>,
    #[serde(alias = "Crypto")]
    crypto: Crypto,
    id: String,
    version: u8,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Crypto {
    cipher: String,
    cipherparams: CipherParameters,
    ciphertext: Hex,
    #[serde(flatten)]
    derivation: Derivation,
    mac: Hex,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CipherParameters {
    iv: Hex,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kdf", content = "kdfparams", rename_all = "lowercase")]
enum Derivation {
    Scrypt { dklen: u32, n: u64, r: u32, p: u32, salt: Hex },
    Pbkdf2 { dklen: u32, c: u32, prf: String, salt: Hex },
}

/// Bytes as hexadecimal digits without a prefix.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Hex(Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, hex::FromHexError> {
        hex::decode(text).map(Self)
    }
}

impl From<Hex> for String {
    fn from(bytes: Hex) -> Self {
        hex::encode(bytes.0)
    }
}

mod bare_address {
    //! An address as most wallets write it into keystores: lower case, no prefix.
    use alloy_primitives::{Address, hex};
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(address: &Option<Address>, serializer: S) -> Result<S::Ok, S::Error> {
        match address {
            Some(address) => serializer.serialize_str(&hex::encode(address)),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Address>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}

impl Keystore {
    /// Encrypts an account's key.
    pub fn seal(account: &Account, password: &Password, cost: Cost) -> Self {
        let derivation =
            Derivation::Scrypt { dklen: 32, n: 1 << cost.0, r: 8, p: 1, salt: Hex(random::<32>().to_vec()) };
        let derived = derivation.derive(password).expect("our own settings are within the limits");
        let iv = random::<16>();
        let mut ciphertext = account.key().to_vec();
        apply(&derived, &iv, &mut ciphertext);
        let mac = mac(&derived, &ciphertext);
        let crypto = Crypto {
            cipher: "aes-128-ctr".into(),
            cipherparams: CipherParameters { iv: Hex(iv.to_vec()) },
            ciphertext: Hex(ciphertext),
            derivation,
            mac: Hex(mac.to_vec()),
        };
        Self { address: Some(account.address()), crypto, id: uuid(random()), version: 3 }
    }

    /// Decrypts the key.
    pub fn open(&self, password: &Password) -> Result<Account, Error> {
        let refuse = |reason: &str| Error::Format(reason.into());
        let crypto = &self.crypto;
        if self.version != 3 || crypto.cipher != "aes-128-ctr" {
            return Err(refuse("only version 3 with aes-128-ctr is known"));
        }
        let iv: [u8; 16] = crypto.cipherparams.iv.0[..].try_into().map_err(|_| refuse("iv of a wrong length"))?;
        let sealed: [u8; 32] = crypto.ciphertext.0[..].try_into().map_err(|_| refuse("key of a wrong length"))?;
        let derived = crypto.derivation.derive(password)?;
        if !bool::from(mac(&derived, &sealed)[..].ct_eq(&crypto.mac.0)) {
            return Err(Error::Password);
        }
        let mut key = Zeroizing::new(sealed);
        apply(&derived, &iv, &mut key[..]);
        let account = Account::from_key(&key).map_err(|error| Error::Format(error.to_string()))?;
        match self.address {
            Some(address) if address != account.address() => Err(refuse("its key belongs to another address")),
            Some(_) | None => Ok(account),
        }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers become JSON")
    }

    /// Reads a file's text.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::Format(error.to_string()))
    }
}

impl Derivation {
    fn derive(&self, password: &Password) -> Result<Zeroizing<[u8; 32]>, Error> {
        let refuse = |reason: String| Err(Error::Format(reason));
        let mut derived = Zeroizing::new([0; 32]);
        match self {
            Self::Scrypt { dklen: 32, n, r, p, salt } => {
                let memory = n.checked_mul(128).and_then(|bytes| bytes.checked_mul(u64::from(*r)));
                let affordable = memory.is_some_and(|bytes| bytes <= MEMORY_MAX) && *p <= 16;
                let log_n = n.ilog2_exact().filter(|_| affordable);
                let Some(parameters) = log_n.and_then(|log_n| scrypt::Params::new(log_n, *r, *p).ok()) else {
                    return refuse(format!("scrypt with n {n}, r {r}, p {p} is not supported"));
                };
                scrypt::scrypt(password.bytes(), &salt.0, &parameters, &mut derived[..])
                    .expect("32 bytes can be derived");
            }
            Self::Pbkdf2 { dklen: 32, c, prf, salt } if prf == "hmac-sha256" && (1..=ROUNDS_MAX).contains(c) => {
                pbkdf2::pbkdf2::<hmac::Hmac<Sha256>>(password.bytes(), &salt.0, *c, &mut derived[..]);
            }
            Self::Scrypt { .. } | Self::Pbkdf2 { .. } => return refuse("its key derivation is not supported".into()),
        }
        Ok(derived)
    }
}

trait ExactLogarithm {
    fn ilog2_exact(self) -> Option<u8>;
}

impl ExactLogarithm for &u64 {
    fn ilog2_exact(self) -> Option<u8> {
        self.is_power_of_two().then(|| self.trailing_zeros() as u8)
    }
}

fn apply(derived: &[u8; 32], iv: &[u8; 16], bytes: &mut [u8]) {
    let key: [u8; 16] = derived[..16].try_into().expect("half of 32");
    ctr::Ctr128BE::<Aes128>::new(&key.into(), iv.into()).apply_keystream(bytes);
}

fn mac(derived: &[u8; 32], ciphertext: &[u8]) -> [u8; 32] {
    keccak256([&derived[16..], ciphertext].concat()).0
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// A random identifier of version 4, as the format wants it.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex::encode(bytes);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
