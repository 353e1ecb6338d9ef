//! What a producer answers to checks: one word, a list of them, or a map from bodies to those.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use rocketmq::model::message::MessageView;
use serde_json::{Value, json};

use crate::command::{Command, Failure, bad};
use crate::driver::Driver;
use crate::message::show;

/// Stands for every body that a map does not name.
const OTHERS: &str = "*";

pub struct Answers {
    by_body: HashMap<String, Vec<String>>,
    asked: Mutex<HashMap<Vec<u8>, usize>>,
}

impl Answers {
    /// The answers in the field `check` of a command, if it has one.
    pub fn of(command: &Command) -> Result<Option<Answers>, Failure> {
        let Some(check) = command.field("check") else { return Ok(None) };
        let mut by_body = HashMap::new();
        match check {
            Value::Object(forms) => {
                for (body, form) in forms {
                    by_body.insert(body.clone(), words(form)?);
                }
            }
            form => drop(by_body.insert(OTHERS.into(), words(form)?)),
        }
        Ok(Some(Answers { by_body, asked: Mutex::default() }))
    }

    /// Tells that the producer called name was asked for a transaction, and returns what it is to answer.
    pub fn checked(&self, driver: &Driver, name: &str, transaction: &str, message: &MessageView) -> String {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let n = {
            let mut asked = self.asked.lock().unwrap();
            let n = asked.entry(message.body().to_vec()).or_default();
            *n += 1;
            *n
        };
        let text = String::from_utf8_lossy(message.body());
        let words = self.by_body.get(text.as_ref()).or_else(|| self.by_body.get(OTHERS));
        let answer = words.map_or("UNKNOWN", |words| words[n.min(words.len()) - 1].as_str());
        let times = message.properties().get("TRANSACTION_CHECK_TIMES").and_then(|times| times.parse::<u64>().ok());
        driver.write(json!({
            "ev": "check", "of": name, "t": at, "n": n, "times": times, "transaction": transaction,
            "msg": show(None, message), "answer": answer,
        }));
        answer.into()
    }
}

fn words(form: &Value) -> Result<Vec<String>, Failure> {
    let one =
        |word: &Value| word.as_str().filter(|word| ["COMMIT", "ROLLBACK", "UNKNOWN"].contains(word)).map(String::from);
    let words: Option<Vec<String>> = match form {
        Value::Array(many) => many.iter().map(one).collect(),
        single => one(single).map(|word| vec![word]),
    };
    words
        .filter(|words| !words.is_empty())
        .ok_or_else(|| bad("check is none of COMMIT, ROLLBACK, UNKNOWN, nor a list or a map of them"))
}
