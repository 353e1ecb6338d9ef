//! Messages as the protocol shows them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocketmq::model::message::MessageView;
use serde_json::{Map, Value, json};

/// The message; the SDK shows neither queue nor offset, and its times are whole seconds.
pub fn show(handle: Option<usize>, message: &MessageView) -> Value {
    json!({
        "h": handle,
        "id": message.message_id(),
        "topic": message.topic(),
        "body": STANDARD.encode(message.body()),
        "tag": message.tag(),
        "keys": message.keys(),
        "props": message.properties(),
        "group": message.message_group(),
        "attempt": Some(message.delivery_attempt()).filter(|attempt| *attempt > 0),
        "queue": null,
        "offset": null,
        "born": message.born_timestamp() * 1000,
        "deliver_at": message.delivery_timestamp().map(|seconds| seconds * 1000),
        "stored": null,
        "offset_id": null,
        "broker": null,
        "born_host": Some(message.born_host()).filter(|host| !host.is_empty()),
        "store_host": null,
    })
}

/// The SDK counts in whole seconds; the next one, so that nothing comes before its time.
pub fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) > 0)
}

/// The fields of an object that was written down as JSON.
pub fn map(fields: Value) -> Map<String, Value> {
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
