//! The verbs of producers.

use std::sync::Arc;

use rocketmq::Producer;
use rocketmq::conf::{ClientOption, ProducerOption};
use rocketmq::error::ClientError;
use rocketmq::model::common::SendReceipt;
use rocketmq::model::message::{Message, MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use serde_json::json;

use crate::answers::Answers;
use crate::command::{Command, Failure, Reply, bad, unsupported};
use crate::driver::{Driver, Object};
use crate::load;
use crate::message::{map, seconds};

/// What every client of this driver is made with.
pub fn option(driver: &Driver) -> ClientOption {
    let mut option = ClientOption::default();
    option.set_access_url(driver.endpoint.as_str());
    option.set_enable_tls(driver.tls);
    if let (Ok(access), Ok(secret)) = (std::env::var("TESTKIT_ACCESS_KEY"), std::env::var("TESTKIT_SECRET_KEY")) {
        option.set_access_key(access);
        option.set_secret_key(secret);
    }
    option
}

fn resolution(name: &str) -> Result<TransactionResolution, Failure> {
    match name {
        "COMMIT" => Ok(TransactionResolution::COMMIT),
        "ROLLBACK" => Ok(TransactionResolution::ROLLBACK),
        "UNKNOWN" => Ok(TransactionResolution::UNKNOWN),
        _ => Err(bad(format!("{name} is none of COMMIT, ROLLBACK, UNKNOWN"))),
    }
}

pub async fn make(driver: Arc<Driver>, command: Command) -> Reply {
    let topics = command.texts("topics")?;
    let check = Answers::of(&command)?;
    let name = driver.claim(&command)?;
    let made = start(&driver, name.clone(), topics, check).await;
    driver.keep(name, made, |producer| Object::Producer(Arc::new(producer)))
}

async fn start(
    driver: &Arc<Driver>,
    name: String,
    topics: Vec<String>,
    check: Option<Answers>,
) -> Result<Producer, ClientError> {
    let mut options = ProducerOption::default();
    options.set_topics(topics);
    let mut producer = match check {
        None => Producer::new(options, option(driver))?,
        Some(answers) => {
            let events = driver.clone();
            let checker = move |transaction: String, message: MessageView| {
                let answer = answers.checked(&events, &name, &transaction, &message);
                resolution(&answer).unwrap_or(TransactionResolution::UNKNOWN)
            };
            Producer::new_transaction_producer(options, option(driver), Box::new(checker))?
        }
    };
    producer.start().await?;
    Ok(producer)
}

/// The message of a send command, or the one of a load with a body and a key of its own.
fn outgoing(command: &Command, own: Option<(Vec<u8>, Option<String>)>) -> Result<MessageBuilder, Failure> {
    for field in ["delay_level", "queue"] {
        if command.field(field).is_some() {
            return Err(unsupported(format!("this SDK has no {field}")));
        }
    }
    let (body, keys) = match own {
        Some((body, key)) => (body, key.into_iter().collect()),
        None => (command.bytes("body")?, command.texts("keys")?),
    };
    let mut builder = MessageBuilder::builder()
        .set_topic(command.text("topic")?)
        .set_body(body)
        .set_keys(keys)
        .set_properties(command.pairs("props")?);
    if let Some(tag) = command.maybe_text("tag")? {
        builder = builder.set_tag(tag);
    }
    if let Some(group) = command.maybe_text("group")? {
        builder = builder.set_message_group(group);
    }
    if let Some(at) = command.maybe_number("deliver_at")? {
        builder = builder.set_delivery_timestamp(seconds(at));
    }
    Ok(builder)
}

/// What a send replies; the SDK shows neither offset nor queue.
fn receipt(sent: &SendReceipt) -> Reply {
    Ok(map(json!({"id": sent.message_id(), "transaction": some(sent.transaction_id())})))
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

pub async fn send(driver: &Driver, command: &Command) -> Reply {
    let message = outgoing(command, None)?.build()?;
    receipt(&driver.producer(command)?.send(message).await?)
}

pub async fn send_batch(driver: &Driver, command: &Command) -> Reply {
    let producer = driver.producer(command)?;
    let messages = built(&command.list("messages")?)?;
    let sent = producer.batch_send(messages).await?;
    let ids: Vec<&str> = sent.iter().map(SendReceipt::message_id).collect();
    Ok(map(json!({"ids": ids})))
}

fn built(commands: &[Command]) -> Result<Vec<impl Message + use<>>, Failure> {
    commands.iter().map(|one| Ok(outgoing(one, None)?.build()?)).collect()
}

pub async fn send_many(driver: Arc<Driver>, command: Command) -> Reply {
    let producer = driver.producer(&command)?;
    load::send_many(command, move |command, body, key| {
        let producer = producer.clone();
        async move {
            let message = outgoing(&command, Some((body, key)))?.build()?;
            producer.send(message).await?;
            Ok(())
        }
    })
    .await
}

pub async fn send_transaction(driver: &Driver, command: &Command) -> Reply {
    let outcome = resolution(&command.text("outcome")?)?;
    let producer = driver.producer(command)?;
    let message = outgoing(command, None)?.enable_transaction().build()?;
    let transaction = producer.send_transaction_message(message).await?;
    let reply = map(json!({"id": transaction.message_id(), "transaction": transaction.transaction_id()}));
    match outcome {
        TransactionResolution::COMMIT => transaction.commit().await?,
        TransactionResolution::ROLLBACK => transaction.rollback().await?,
        TransactionResolution::UNKNOWN => {}
    }
    Ok(reply)
}
