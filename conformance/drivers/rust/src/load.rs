//! The verbs that measure: `send_many` and `drain`. A thread is a task here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::command::{Command, Failure, Reply, bad};
use crate::message::map;

/// What the tasks of one load have in common.
struct Shared {
    count: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    errors: AtomicUsize,
    first: Mutex<Option<String>>,
    times: Mutex<Vec<Duration>>,
}

impl Shared {
    fn of(command: &Command) -> Result<Arc<Shared>, Failure> {
        let count = usize::try_from(command.number("count")?).ok().filter(|count| *count > 0);
        Ok(Arc::new(Shared {
            count: count.ok_or_else(|| bad("count must be positive"))?,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            errors: AtomicUsize::new(0),
            first: Mutex::default(),
            times: Mutex::default(),
        }))
    }

    fn failed(&self, failure: Failure) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let text = match failure {
            Failure::Sdk(error) => error.to_string(),
            Failure::Refused(_, text) | Failure::Panic(text) => text,
        };
        self.first.lock().unwrap().get_or_insert(text);
    }
}

fn threads(command: &Command) -> Result<i64, Failure> {
    Ok(command.maybe_number("threads")?.unwrap_or(1).max(1))
}

/// Sends `count` messages; `send` gets the command, and body and key of one message.
pub async fn send_many<Sent>(
    command: Command,
    send: impl Fn(Command, Vec<u8>, Option<String>) -> Sent + Clone + Send + 'static,
) -> Reply
where
    Sent: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let shared = Shared::of(&command)?;
    let stem = command.maybe_bytes("body")?;
    let size = usize::try_from(command.maybe_number("size")?.unwrap_or(1024)).map_err(|_| bad("size is negative"))?;
    let prefix = command.maybe_text("keys_prefix")?;
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for _ in 0..threads(&command)? {
        let (shared, command, stem, prefix, send) =
            (shared.clone(), command.clone(), stem.clone(), prefix.clone(), send.clone());
        tasks.spawn(async move {
            loop {
                let n = shared.next.fetch_add(1, Ordering::Relaxed);
                if n >= shared.count {
                    return;
                }
                let key = prefix.as_ref().map(|prefix| format!("{prefix}{n}"));
                let start = Instant::now();
                if let Err(failure) = send(command.clone(), numbered(&stem, size, n), key).await {
                    shared.failed(failure);
                }
                shared.times.lock().unwrap().push(start.elapsed());
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    let seconds = begin.elapsed().as_secs_f64();
    let mut times = std::mem::take(&mut *shared.times.lock().unwrap());
    times.sort();
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let ms = |time: Option<&Duration>| time.map(|time| time.as_secs_f64() * 1000.0);
    Ok(map(json!({
        "count": shared.count,
        "errors": shared.errors.load(Ordering::Relaxed),
        "first_error": *shared.first.lock().unwrap(),
        "per_second": shared.count as f64 / seconds,
        "p50_ms": ms(at(50)),
        "p99_ms": ms(at(99)),
    })))
}

/// The stem, or so much filler that the whole has `size` bytes, and `-n`.
fn numbered(stem: &Option<Vec<u8>>, size: usize, n: usize) -> Vec<u8> {
    let end = format!("-{n}");
    let mut body = stem.clone().unwrap_or_else(|| vec![b'x'; size.saturating_sub(end.len())]);
    body.extend(end.into_bytes());
    body
}

/// Receives and acknowledges until `count` are done or one receive finds nothing. `take` does both once and returns how
/// many messages it got and how many of them it failed to acknowledge.
pub async fn drain<Taken>(command: Command, take: impl Fn() -> Taken + Clone + Send + 'static) -> Reply
where
    Taken: Future<Output = Result<(usize, usize), Failure>> + Send + 'static,
{
    let shared = Shared::of(&command)?;
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for _ in 0..threads(&command)? {
        let (shared, take) = (shared.clone(), take.clone());
        tasks.spawn(async move {
            while shared.done.load(Ordering::Relaxed) < shared.count {
                match take().await {
                    Ok((0, _)) => return,
                    Ok((got, failed)) => {
                        shared.done.fetch_add(got - failed, Ordering::Relaxed);
                        shared.errors.fetch_add(failed, Ordering::Relaxed);
                    }
                    Err(failure) => return shared.failed(failure),
                }
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    let done = shared.done.load(Ordering::Relaxed);
    Ok(map(json!({
        "count": done,
        "errors": shared.errors.load(Ordering::Relaxed),
        "first_error": *shared.first.lock().unwrap(),
        "per_second": done as f64 / begin.elapsed().as_secs_f64(),
    })))
}
