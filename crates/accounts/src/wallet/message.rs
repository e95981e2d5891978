//! The message of EIP-4361 that a wallet shows and signs: written exactly, read strictly.
use alloy_primitives::Address as Checksummed;
use chrono::{DateTime, SecondsFormat, Utc};
use gleaner_wire::{Address, Millis};
use std::fmt;

/// The longest message that is read.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// The shortest nonce, by the standard.
const NONCE_CHARS_MIN: usize = 8;
const RESOURCES_MAX: usize = 16;
const GREETING: &str = " wants you to sign in with your Ethereum account:";

/// Why a text is not such a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Too long.
    #[error("the message has more than {MESSAGE_BYTES_MAX} bytes")]
    Long,
    /// A part is missing, doubled or in another place.
    #[error("the message is not as EIP-4361 has it: its {0} is missing or wrong")]
    Part(&'static str),
}

/// What a wallet signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `http` or `https`, if it is said.
    pub scheme: Option<String>,
    /// Host and port of the page.
    pub domain: String,
    /// Who signs.
    pub address: Address,
    /// What people read.
    pub statement: Option<String>,
    /// The page.
    pub uri: String,
    /// Which chain the account is on.
    pub chain_id: u64,
    /// What makes the message unlike all others.
    pub nonce: String,
    /// When it was made.
    pub issued_at: Millis,
    /// When it ends.
    pub expires_at: Option<Millis>,
    /// When it begins.
    pub not_before: Option<Millis>,
    /// Another name of the request.
    pub request_id: Option<String>,
    /// What is to be allowed beside signing in.
    pub resources: Vec<String>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{scheme}://")?;
        }
        writeln!(f, "{}{GREETING}", self.domain)?;
        write!(f, "{}\n\n", Checksummed::from(self.address.0))?;
        if let Some(statement) = &self.statement {
            writeln!(f, "{statement}")?;
        }
        write!(f, "\nURI: {}\nVersion: 1\nChain ID: {}\nNonce: {}", self.uri, self.chain_id, self.nonce)?;
        write!(f, "\nIssued At: {}", time(self.issued_at))?;
        if let Some(at) = self.expires_at {
            write!(f, "\nExpiration Time: {}", time(at))?;
        }
        if let Some(at) = self.not_before {
            write!(f, "\nNot Before: {}", time(at))?;
        }
        if let Some(id) = &self.request_id {
            write!(f, "\nRequest ID: {id}")?;
        }
        if !self.resources.is_empty() {
            write!(f, "\nResources:")?;
        }
        self.resources.iter().try_for_each(|resource| write!(f, "\n- {resource}"))
    }
}

fn time(at: Millis) -> String {
    let at = i64::try_from(at.0).ok().and_then(DateTime::<Utc>::from_timestamp_millis);
    at.unwrap_or(DateTime::<Utc>::MAX_UTC).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn parse_time(text: &str, what: &'static str) -> Result<Millis, MessageError> {
    let at = DateTime::parse_from_rfc3339(text).map_err(|_| MessageError::Part(what))?;
    // A space in place of the T is common, and not of the standard.
    let at = at.timestamp_millis().try_into().ok().filter(|_| text.as_bytes().get(10) == Some(&b'T'));
    at.map(Millis).ok_or(MessageError::Part(what))
}

/// Lines of a message that are not read yet.
struct Lines<'a> {
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Lines<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, MessageError> {
        self.rest.next().ok_or(MessageError::Part(what))
    }

    /// What follows a label in the next line, which must be there.
    fn field(&mut self, label: &str, what: &'static str) -> Result<&'a str, MessageError> {
        self.next(what)?.strip_prefix(label).filter(|value| !value.is_empty()).ok_or(MessageError::Part(what))
    }

    /// What follows a label in the next line, if that is its label.
    fn optional(&mut self, label: &str) -> Option<&'a str> {
        let value = self.rest.peek()?.strip_prefix(label)?;
        self.rest.next();
        Some(value)
    }
}

impl Message {
    /// Reads a message.
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        if text.len() > MESSAGE_BYTES_MAX {
            return Err(MessageError::Long);
        }
        let mut lines = Lines { rest: text.split('\n').peekable() };
        let (scheme, domain) = greeting(lines.next("first line")?)?;
        let address = address(lines.next("address")?)?;
        let statement = statement(&mut lines)?;
        let uri = printable(lines.field("URI: ", "URI")?, "URI")?;
        if lines.field("Version: ", "version")? != "1" {
            return Err(MessageError::Part("version"));
        }
        let chain_id = number(lines.field("Chain ID: ", "chain id")?)?;
        let nonce = nonce(lines.field("Nonce: ", "nonce")?)?;
        let issued_at = parse_time(lines.field("Issued At: ", "time of issue")?, "time of issue")?;
        let expires_at = lines.optional("Expiration Time: ").map(|at| parse_time(at, "expiration time")).transpose()?;
        let not_before = lines.optional("Not Before: ").map(|at| parse_time(at, "time to begin")).transpose()?;
        let request_id = lines.optional("Request ID: ").map(|id| printable(id, "request id")).transpose()?;
        let resources = resources(&mut lines)?;
        if lines.rest.next().is_some() {
            return Err(MessageError::Part("end"));
        }
        Ok(Self {
            scheme,
            domain,
            address,
            statement,
            uri,
            chain_id,
            nonce,
            issued_at,
            expires_at,
            not_before,
            request_id,
            resources,
        })
    }
}

fn greeting(line: &str) -> Result<(Option<String>, String), MessageError> {
    let whole = line.strip_suffix(GREETING).ok_or(MessageError::Part("first line"))?;
    let (scheme, domain) = whole.split_once("://").map_or((None, whole), |(scheme, domain)| (Some(scheme), domain));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']' | b'_');
    if domain.is_empty() || !domain.bytes().all(plain) {
        return Err(MessageError::Part("domain"));
    }
    let scheme = scheme.map(|scheme| match scheme {
        "http" | "https" => Ok(scheme.to_owned()),
        _ => Err(MessageError::Part("scheme")),
    });
    Ok((scheme.transpose()?, domain.to_owned()))
}

/// An address with the capitals of EIP-55: a wrong digit shows.
fn address(line: &str) -> Result<Address, MessageError> {
    let address = Checksummed::parse_checksummed(line, None).map_err(|_| MessageError::Part("address"))?;
    Ok(Address(address.into_array()))
}

fn statement(lines: &mut Lines<'_>) -> Result<Option<String>, MessageError> {
    let part = MessageError::Part("statement");
    if !lines.next("statement")?.is_empty() {
        return Err(part);
    }
    let line = lines.next("statement")?;
    if line.is_empty() {
        return Ok(None);
    }
    let statement = printable(line, "statement")?;
    if lines.next("statement")?.is_empty() { Ok(Some(statement)) } else { Err(part) }
}

fn resources(lines: &mut Lines<'_>) -> Result<Vec<String>, MessageError> {
    let mut resources = Vec::new();
    match lines.optional("Resources:") {
        None => return Ok(resources),
        Some("") => {}
        Some(_) => return Err(MessageError::Part("list of resources")),
    }
    while let Some(resource) = lines.optional("- ") {
        if resources.len() == RESOURCES_MAX {
            return Err(MessageError::Part("list of resources"));
        }
        resources.push(printable(resource, "list of resources")?);
    }
    if resources.is_empty() { Err(MessageError::Part("list of resources")) } else { Ok(resources) }
}

fn number(text: &str) -> Result<u64, MessageError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or(MessageError::Part("chain id"))
}

fn nonce(text: &str) -> Result<String, MessageError> {
    let plain = text.len() >= NONCE_CHARS_MIN && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { Ok(text.to_owned()) } else { Err(MessageError::Part("nonce")) }
}

fn printable(text: &str, what: &'static str) -> Result<String, MessageError> {
    let plain = !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if plain { Ok(text.to_owned()) } else { Err(MessageError::Part(what)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the standard, with all parts.
    const EXAMPLE: &str = "https://example.com wants you to sign in with your Ethereum account:
0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2

I accept the ExampleOrg Terms of Service: https://example.com/tos

URI: https://example.com/login
Version: 1
Chain ID: 1
Nonce: 32891756
Issued At: 2021-09-30T16:25:24.000Z
Expiration Time: 2021-09-30T17:25:24.000Z
Not Before: 2021-09-30T16:25:24.000Z
Request ID: some-id
Resources:
- ipfs://bafybeiemxf5abjwjbikoz4mc3a3dla6ual3jsgpdr4cjr3oz3evfyavhwq/
- https://example.com/my-web2-claim.json";

    #[test]
    fn the_example_of_the_standard_reads_and_writes_back() {
        let message = Message::parse(EXAMPLE).expect("read");
        assert_eq!(message.domain, "example.com");
        assert_eq!(message.issued_at, Millis(1_633_019_124_000));
        assert_eq!(message.resources.len(), 2);
        assert_eq!(message.to_string(), EXAMPLE);
    }

    #[test]
    fn parts_that_may_be_left_out_are() {
        let text = "localhost:7070 wants you to sign in with your Ethereum account:
0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2


URI: http://localhost:7070
Version: 1
Chain ID: 31337
Nonce: 32891756
Issued At: 2021-09-30T16:25:24.000Z";
        let message = Message::parse(text).expect("read");
        assert_eq!((&message.scheme, &message.statement, message.chain_id), (&None, &None, 31_337));
        assert_eq!(message.to_string(), text);
    }

    #[test]
    fn what_differs_from_the_standard_is_refused() {
        for (from, to) in [
            ("Version: 1", "Version: 2"),
            ("Chain ID: 1", "Chain ID: 01"),
            ("Chain ID: 1", "Chain ID: 0x1"),
            ("Nonce: 32891756", "Nonce: 3289175"),
            ("Nonce: 32891756", "Nonce: 3289 1756"),
            ("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "0xc02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"),
            ("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\n\n", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2\n"),
            ("https://example.com wants", "ftp://example.com wants"),
            ("https://example.com wants", "https://example.com/login wants"),
            ("https://example.com wants", "https://user@example.com wants"),
            (" to sign in", " to  sign in"),
            ("Issued At: 2021-09-30T16:25:24.000Z\n", ""),
            ("Issued At: 2021-09-30T16", "Issued At: 2021-09-30 16"),
            ("Issued At: 2021-09-30T16", "Issued At: 2021-09-31T16"),
            ("- https://example.com/my", "https://example.com/my"),
            ("Request ID: some-id", "Request ID: some-id\nRequest ID: other"),
            ("URI: https://example.com/login\nVersion: 1", "Version: 1\nURI: https://example.com/login"),
            ("claim.json", "claim.json\n"),
            ("\n", "\r\n"),
        ] {
            let changed = EXAMPLE.replacen(from, to, 1);
            assert_ne!(changed, EXAMPLE, "{from}");
            assert!(Message::parse(&changed).is_err(), "{changed}");
        }
        assert_eq!(Message::parse(&format!("{EXAMPLE}{}", " ".repeat(MESSAGE_BYTES_MAX))), Err(MessageError::Long));
    }

    fn message() -> impl Strategy<Value = Message> {
        let text = "[ -~]{1,40}";
        let times = (
            0_u64..4_000_000_000_000,
            prop::option::of(0_u64..4_000_000_000_000),
            prop::option::of(0_u64..4_000_000_000_000),
        );
        let words = (prop::option::of(text), "[!-~]{1,40}", prop::option::of(text), prop::collection::vec(text, 0..4));
        (
            prop::option::of("https?"),
            "[a-z0-9.-]{1,20}(:[0-9]{1,5})?",
            any::<[u8; 20]>(),
            any::<u64>(),
            "[a-zA-Z0-9]{8,80}",
            times,
            words,
        )
            .prop_map(
                |(
                    scheme,
                    domain,
                    address,
                    chain_id,
                    nonce,
                    (issued, expires, begins),
                    (statement, uri, request_id, resources),
                )| {
                    Message {
                        scheme,
                        domain,
                        address: Address(address),
                        statement,
                        uri,
                        chain_id,
                        nonce,
                        issued_at: Millis(issued),
                        expires_at: expires.map(Millis),
                        not_before: begins.map(Millis),
                        request_id,
                        resources,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(message in message()) {
            prop_assert_eq!(Message::parse(&message.to_string()), Ok(message));
        }

        #[test]
        fn what_reads_writes_back_except_for_times(text in any::<String>(), at in 0..EXAMPLE.len(), char in any::<char>()) {
            let _ = Message::parse(&text);
            let mut changed = EXAMPLE.to_owned();
            changed.replace_range(at..=at, &char.to_string());
            if let Ok(message) = Message::parse(&changed) {
                prop_assert_eq!(Message::parse(&message.to_string()), Ok(message));
            }
        }
    }
}
