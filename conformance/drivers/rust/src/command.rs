//! One line of input: typed access to its fields, with the refusals of PROTOCOL.md for what is missing or wrong.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocketmq::error::ClientError;
use serde_json::{Map, Value};

/// Why a command has no good answer.
pub enum Failure {
    /// The driver's own refusal: one of the kinds of PROTOCOL.md, and its text.
    Refused(&'static str, String),
    Sdk(ClientError),
    /// The SDK panicked.
    Panic(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Failure::Sdk(error)
    }
}

pub fn bad(text: impl Into<String>) -> Failure {
    Failure::Refused("BadCommand", text.into())
}

/// Refuses a field that the SDK has no way to express, so that a test does not believe in it.
pub fn unsupported(text: impl Into<String>) -> Failure {
    Failure::Refused("Unsupported", text.into())
}

pub type Reply = Result<Map<String, Value>, Failure>;

/// The fields of one JSON object; a field that is null counts as absent.
#[derive(Clone)]
pub struct Command(pub Map<String, Value>);

impl Command {
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn typed<T>(&self, name: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Failure> {
        match self.field(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                None => Err(bad(format!("field {name} must be {what}"))),
                some => Ok(some),
            },
        }
    }

    pub fn maybe_text(&self, name: &str) -> Result<Option<String>, Failure> {
        self.typed(name, "a text", |value| value.as_str().map(String::from))
    }

    pub fn text(&self, name: &str) -> Result<String, Failure> {
        self.maybe_text(name)?.ok_or_else(|| missing(name))
    }

    pub fn maybe_number(&self, name: &str) -> Result<Option<i64>, Failure> {
        self.typed(name, "an integer", Value::as_i64)
    }

    pub fn number(&self, name: &str) -> Result<i64, Failure> {
        self.maybe_number(name)?.ok_or_else(|| missing(name))
    }

    /// Bytes, which stand there in base64.
    pub fn maybe_bytes(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.typed(name, "base64", |value| STANDARD.decode(value.as_str()?).ok())
    }

    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Failure> {
        self.maybe_bytes(name)?.ok_or_else(|| missing(name))
    }

    /// A list of texts, empty when absent.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Failure> {
        let read = |value: &Value| value.as_array()?.iter().map(|one| one.as_str().map(String::from)).collect();
        Ok(self.typed(name, "a list of texts", read)?.unwrap_or_default())
    }

    /// A map of texts, empty when absent.
    pub fn pairs(&self, name: &str) -> Result<HashMap<String, String>, Failure> {
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), String::from(value.as_str()?)));
        let read = |value: &Value| value.as_object()?.iter().map(pair).collect();
        Ok(self.typed(name, "a map of texts", read)?.unwrap_or_default())
    }

    /// A map of objects, empty when absent.
    pub fn table(&self, name: &str) -> Result<Vec<(String, Command)>, Failure> {
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), Command(value.as_object()?.clone())));
        let read = |value: &Value| value.as_object()?.iter().map(pair).collect();
        Ok(self.typed(name, "a map of objects", read)?.unwrap_or_default())
    }

    /// A list of objects, empty when absent.
    pub fn list(&self, name: &str) -> Result<Vec<Command>, Failure> {
        let one = |value: &Value| Some(Command(value.as_object()?.clone()));
        let read = |value: &Value| value.as_array()?.iter().map(one).collect();
        Ok(self.typed(name, "a list of objects", read)?.unwrap_or_default())
    }

    /// The field `h`: one handle or a list of them.
    pub fn handles(&self) -> Result<Vec<i64>, Failure> {
        let read = |value: &Value| match value.as_array() {
            Some(many) => many.iter().map(Value::as_i64).collect(),
            None => value.as_i64().map(|one| vec![one]),
        };
        self.typed("h", "a handle or a list of handles", read)?.ok_or_else(|| missing("h"))
    }
}

fn missing(name: &str) -> Failure {
    bad(format!("field {name} is missing"))
}
