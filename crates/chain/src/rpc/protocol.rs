//! JSON-RPC 2.0: requests, batches, answers and the codes of errors.
use crate::node::{CallError, Error, SendError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The most requests in one batch.
const BATCH_MAX: usize = 200;

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct Fault {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Fault {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        let method: String = method.chars().take(64).collect();
        Self::new(-32_601, format!("the method {method} does not exist"))
    }

    pub(super) fn params(reason: impl Into<String>) -> Self {
        Self::new(-32_602, reason)
    }

    pub(super) fn server(reason: impl Into<String>) -> Self {
        Self::new(-32_000, reason)
    }

    pub(super) fn limit(reason: impl Into<String>) -> Self {
        Self::new(-32_005, reason)
    }

    fn json(self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        error
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused { code, message } => Self::new(code, message),
            Error::TooManyLogs => Self::limit(error.to_string()),
            Error::Unreachable { .. } | Error::Inconsistent(_) | Error::Store(_) | Error::Closed => {
                Self::new(-32_603, error.to_string())
            }
        }
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Reverted { data, text } => {
                let message = if data.is_empty() {
                    "execution reverted".to_owned()
                } else {
                    format!("execution reverted: {text}")
                };
                Self { code: 3, message, data: Some(json!(data)) }
            }
            CallError::Failed(reason) => Self::server(reason),
            CallError::Node(error) => error.into(),
        }
    }
}

impl From<SendError> for Fault {
    /// In the words that wallets and libraries look for.
    fn from(error: SendError) -> Self {
        match error {
            SendError::NonceTooLow(text) => Self::server(format!("nonce too low: {text}")),
            SendError::NonceTooHigh(text) => Self::server(format!("nonce too high: {text}")),
            SendError::AlreadyKnown => Self::server("already known"),
            SendError::Underpriced(text) => Self::server(format!("replacement transaction underpriced: {text}")),
            SendError::InsufficientFunds(text) => {
                Self::server(format!("insufficient funds for gas * price + value: {text}"))
            }
            SendError::Invalid(text) => Self::server(format!("invalid transaction: {text}")),
            SendError::Busy(text) => Self::limit(format!("busy: {text}")),
            SendError::Store(_) => Self::new(-32_603, error.to_string()),
            SendError::Node(error) => error.into(),
        }
    }
}

/// A request that is well formed.
pub(super) struct Call {
    id: Value,
    pub(super) method: String,
    pub(super) params: Params,
}

/// What comes in: one request or several.
pub(super) enum Incoming {
    One(Result<Call, Value>),
    Many(Vec<Result<Call, Value>>),
}

impl Incoming {
    /// Reads a body; the error is the answer to send back.
    pub(super) fn read(body: &[u8]) -> Result<Self, Value> {
        let body: Value =
            serde_json::from_slice(body).map_err(|_| failure(&Value::Null, Fault::new(-32_700, "this is not JSON")))?;
        match body {
            Value::Array(calls) if calls.is_empty() => Err(failure(&Value::Null, invalid("the batch is empty"))),
            Value::Array(calls) if calls.len() > BATCH_MAX => {
                Err(failure(&Value::Null, invalid(format!("a batch has at most {BATCH_MAX} requests"))))
            }
            Value::Array(calls) => Ok(Self::Many(calls.into_iter().map(Call::read).collect())),
            call => Ok(Self::One(Call::read(call))),
        }
    }
}

impl Call {
    fn read(value: Value) -> Result<Self, Value> {
        let Value::Object(mut fields) = value else {
            return Err(failure(&Value::Null, invalid("a request is an object")));
        };
        let id = fields.remove("id").unwrap_or_default();
        let params = match fields.remove("params") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(params)) => params,
            Some(_) => return Err(failure(&id, Fault::params("parameters are given as a list"))),
        };
        match fields.remove("method") {
            Some(Value::String(method)) => Ok(Self { id, method, params: Params(params) }),
            Some(_) | None => Err(failure(&id, invalid("a request names a method"))),
        }
    }

    /// The answer to this request.
    pub(super) fn answer(id: &Value, result: Result<Value, Fault>) -> Value {
        match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => failure(id, fault),
        }
    }

    /// Its parts.
    pub(super) fn into_parts(self) -> (Value, String, Params) {
        (self.id, self.method, self.params)
    }
}

/// Parameters by their place.
pub(super) struct Params(Vec<Value>);

impl Params {
    /// One that must be there.
    pub(super) fn required<T: DeserializeOwned>(&self, place: usize) -> Result<T, Fault> {
        self.optional(place)?.ok_or_else(|| Fault::params(format!("parameter {} is missing", place + 1)))
    }

    /// One that may be missing or null.
    pub(super) fn optional<T: DeserializeOwned>(&self, place: usize) -> Result<Option<T>, Fault> {
        match self.0.get(place) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value)
                .map(Some)
                .map_err(|error| Fault::params(format!("parameter {} cannot be read: {error}", place + 1))),
        }
    }
}

fn invalid(reason: impl Into<String>) -> Fault {
    Fault::new(-32_600, reason)
}

fn failure(id: &Value, fault: Fault) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": fault.json() })
}
