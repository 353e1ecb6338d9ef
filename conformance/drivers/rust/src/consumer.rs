//! The verbs of simple consumers. This SDK takes topic and filter with each receive, so the driver takes turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rocketmq::SimpleConsumer;
use rocketmq::conf::SimpleConsumerOption;
use rocketmq::error::ClientError;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageView;
use serde_json::{Map, Value, json};

use crate::command::{Command, Failure, Reply, bad};
use crate::driver::{Driver, Object};
use crate::load;
use crate::message::{map, show};
use crate::producer::option;

const DEADLINE_MARGIN: Duration = Duration::from_secs(1);
/// What the SDK takes where nothing is said.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(40);
/// How much sooner than by our clock a deadline may be over.
const EARLY: Duration = Duration::from_millis(200);

pub struct Simple {
    pub consumer: SimpleConsumer,
    subscriptions: Vec<(String, FilterExpression)>,
    turn: AtomicUsize,
    deadline: Duration,
}

impl Simple {
    async fn receive(&self, max: i32, invisible: Duration) -> Result<Vec<MessageView>, ClientError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.subscriptions.len();
        let (topic, filter) = &self.subscriptions[turn];
        let begin = Instant::now();
        match self.consumer.receive_with(topic, filter, max, invisible).await {
            // The deadline of a request is the end of its poll: which one a receive that finds nothing meets is chance.
            Err(error) if is_over(&error) && begin.elapsed() + EARLY >= self.deadline => Ok(Vec::new()),
            found => found,
        }
    }
}

/// Whether a request met its deadline, on either side.
fn is_over(error: &ClientError) -> bool {
    let text = error.to_string();
    ["Timeout expired", "stream no longer needed"].iter().any(|words| text.contains(words))
}

fn subscriptions(command: &Command) -> Result<Vec<(String, FilterExpression)>, Failure> {
    let mut made = Vec::new();
    for (topic, filter) in command.table("sub")? {
        let kind = match filter.maybe_text("type")?.as_deref() {
            None | Some("TAG") => FilterType::Tag,
            Some("SQL92") => FilterType::Sql,
            Some(other) => return Err(bad(format!("filter type {other} is neither TAG nor SQL92"))),
        };
        let expression = filter.maybe_text("expr")?.unwrap_or("*".into());
        made.push((topic, FilterExpression::new(kind, expression)));
    }
    if made.is_empty() {
        return Err(bad("field sub is missing"));
    }
    Ok(made)
}

pub async fn make(driver: &Driver, command: &Command) -> Reply {
    let subscriptions = subscriptions(command)?;
    let mut options = SimpleConsumerOption::default();
    options.set_consumer_group(command.text("group")?);
    options.set_topics(subscriptions.iter().map(|(topic, _)| topic.as_str()).collect());
    let mut client = option(driver);
    let mut deadline = DEFAULT_DEADLINE;
    if let Some(ms) = command.maybe_number("await_ms")? {
        // The SDK takes this for the deadline of the whole request as well, and a proxy refuses one without a margin.
        deadline = millis(ms)? + DEADLINE_MARGIN;
        client.set_long_polling_timeout(deadline);
    }
    let name = driver.claim(command)?;
    let made = match SimpleConsumer::new(options, client) {
        Ok(mut consumer) => consumer.start().await.map(|()| consumer),
        Err(error) => Err(error),
    };
    let made = made.map(|consumer| Simple { consumer, subscriptions, turn: AtomicUsize::new(0), deadline });
    driver.keep(name, made, |simple| Object::Simple(Arc::new(simple)))
}

/// How many messages a receive command wants, and for how long they are to be invisible.
fn wanted(command: &Command) -> Result<(i32, Duration), Failure> {
    let max = i32::try_from(command.maybe_number("max")?.unwrap_or(32)).map_err(|_| bad("max is out of range"))?;
    Ok((max, millis(command.maybe_number("invisible_ms")?.unwrap_or(30_000))?))
}

fn millis(ms: i64) -> Result<Duration, Failure> {
    u64::try_from(ms).map(Duration::from_millis).map_err(|_| bad("a duration is negative"))
}

pub async fn receive(driver: &Driver, command: &Command) -> Reply {
    let simple = driver.simple(command)?;
    let (max, invisible) = wanted(command)?;
    let mut shown: Vec<Value> = Vec::new();
    for message in simple.receive(max, invisible).await? {
        let (handle, message) = driver.handle(message);
        shown.push(show(Some(handle), &message));
    }
    Ok(map(json!({"messages": shown})))
}

pub async fn ack(driver: &Driver, command: &Command) -> Reply {
    let simple = driver.simple(command)?;
    for message in driver.kept(command)? {
        simple.consumer.ack(&*message).await?;
    }
    Ok(Map::new())
}

pub async fn drain(driver: Arc<Driver>, command: Command) -> Reply {
    let simple = driver.simple(&command)?;
    let (max, invisible) = wanted(&command)?;
    load::drain(command, move || {
        let simple = simple.clone();
        async move {
            let messages = simple.receive(max, invisible).await?;
            let mut failed = 0;
            for message in &messages {
                failed += simple.consumer.ack(message).await.is_err() as usize;
            }
            Ok((messages.len(), failed))
        }
    })
    .await
}
