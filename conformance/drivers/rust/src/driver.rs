//! The loop of the driver: commands from standard input, replies and events to standard output.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::fd::FromRawFd;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rocketmq::model::message::MessageView;
use rocketmq::{Producer, error::ClientError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::codes;
use crate::command::{Command, Failure, Reply, bad};
use crate::consumer::Simple;
use crate::{consumer, producer};

/// Verbs that this SDK can express; it has no push consumer and cannot change an invisible time.
const VERBS: [&str; 12] = [
    "ack",
    "close",
    "drain",
    "exit",
    "hello",
    "producer",
    "receive",
    "send",
    "send_batch",
    "send_many",
    "send_tx",
    "simple",
];

/// A client that a command has made.
#[derive(Clone)]
pub enum Object {
    /// The name is taken, the client is being started.
    Starting,
    Producer(Arc<Producer>),
    Simple(Arc<Simple>),
}

pub struct Driver {
    pub endpoint: String,
    pub tls: bool,
    out: Mutex<File>,
    objects: Mutex<HashMap<String, Object>>,
    messages: Mutex<Vec<Arc<MessageView>>>,
}

impl Driver {
    /// Takes standard output away from everything else: what an SDK prints goes to standard error.
    pub fn new(endpoint: String, tls: bool) -> std::io::Result<Driver> {
        // SAFETY: descriptors 1 and 2 are open, and the duplicate belongs to the File from here on.
        let out = unsafe {
            let kept = libc::dup(1);
            if kept < 0 || libc::dup2(2, 1) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            File::from_raw_fd(kept)
        };
        Ok(Driver { endpoint, tls, out: Mutex::new(out), objects: Mutex::default(), messages: Mutex::default() })
    }

    /// Carries out commands until the end of input, which ends the process.
    pub async fn run(self: Arc<Self>) {
        let (sender, mut lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().split(b'\n') {
                let _ = sender.send(line.unwrap_or_else(|_| std::process::exit(1)));
            }
            std::process::exit(0);
        });
        while let Some(line) = lines.recv().await {
            self.clone().take(&line).await;
        }
    }

    async fn take(self: Arc<Self>, line: &[u8]) {
        let fields = match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return self.answer(Value::Null, None, Err(bad("not a JSON object"))),
            Err(error) => return self.answer(Value::Null, None, Err(bad(error.to_string()))),
        };
        let command = Command(fields);
        let number = command.0.get("i").cloned().unwrap_or_default();
        if command.field("do") == Some(&json!("exit")) {
            self.answer(number, None, Ok(Map::new()));
            std::process::exit(0);
        }
        let background = command.field("bg") == Some(&json!(true));
        let done = tokio::spawn(async move {
            let begin = Instant::now();
            // A task of its own: a panic inside the SDK ends that one and is an answer of the SDK.
            let task = tokio::spawn(self.clone().carry_out(command));
            let reply = task.await.unwrap_or_else(|error| Err(Failure::Panic(panic_text(error))));
            self.answer(number, Some(begin.elapsed().as_micros() as f64 / 1000.0), reply);
        });
        if !background {
            let _ = done.await;
        }
    }

    async fn carry_out(self: Arc<Self>, command: Command) -> Reply {
        match command.text("do")?.as_str() {
            "hello" => Ok(hello()),
            "producer" => producer::make(self, command).await,
            "send" => producer::send(&self, &command).await,
            "send_batch" => producer::send_batch(&self, &command).await,
            "send_many" => producer::send_many(self, command).await,
            "send_tx" => producer::send_transaction(&self, &command).await,
            "simple" => consumer::make(&self, &command).await,
            "receive" => consumer::receive(&self, &command).await,
            "ack" => consumer::ack(&self, &command).await,
            "drain" => consumer::drain(self, command).await,
            "close" => self.close(&command).await,
            other => Err(Failure::Refused("UnknownVerb", format!("this driver has no verb {other}"))),
        }
    }

    fn answer(&self, number: Value, ms: Option<f64>, reply: Reply) {
        let mut line =
            Map::from_iter([("i".into(), number), ("ok".into(), json!(reply.is_ok())), ("ms".into(), json!(ms))]);
        match reply {
            Ok(fields) => line.extend(fields),
            Err(failure) => {
                let (kind, code, text) = name(failure);
                line.extend([("kind".into(), json!(kind)), ("code".into(), json!(code)), ("err".into(), json!(text))]);
            }
        }
        self.write(Value::Object(line));
    }

    /// Writes one reply or event.
    pub fn write(&self, line: Value) {
        let text = format!("{line}\n");
        if self.out.lock().unwrap().write_all(text.as_bytes()).is_err() {
            std::process::exit(1); // nobody listens any more
        }
    }

    /// Takes the name in `as`, which must be free, for a client that is about to be started.
    pub fn claim(&self, command: &Command) -> Result<String, Failure> {
        let name = command.text("as")?;
        let mut objects = self.objects.lock().unwrap();
        if objects.contains_key(&name) {
            return Err(bad(format!("an object is called {name} already")));
        }
        objects.insert(name.clone(), Object::Starting);
        Ok(name)
    }

    /// Keeps the started client under its name, or gives the name free again.
    pub fn keep<T>(&self, name: String, made: Result<T, ClientError>, wrap: impl Fn(T) -> Object) -> Reply {
        let mut objects = self.objects.lock().unwrap();
        match made {
            Ok(client) => objects.insert(name, wrap(client)),
            Err(error) => {
                objects.remove(&name);
                return Err(error.into());
            }
        };
        Ok(Map::new())
    }

    fn on(&self, command: &Command) -> Result<Object, Failure> {
        let name = command.text("on")?;
        let found = self.objects.lock().unwrap().get(&name).cloned();
        found.ok_or_else(|| Failure::Refused("UnknownObject", format!("no object is called {name}")))
    }

    pub fn producer(&self, command: &Command) -> Result<Arc<Producer>, Failure> {
        match self.on(command)? {
            Object::Producer(producer) => Ok(producer),
            _ => Err(bad("this object is no client for this verb")),
        }
    }

    pub fn simple(&self, command: &Command) -> Result<Arc<Simple>, Failure> {
        match self.on(command)? {
            Object::Simple(simple) => Ok(simple),
            _ => Err(bad("this object is no client for this verb")),
        }
    }

    /// Gives a received message a handle. All are kept: a test may acknowledge one twice, or late.
    pub fn handle(&self, message: MessageView) -> (usize, Arc<MessageView>) {
        let message = Arc::new(message);
        let mut messages = self.messages.lock().unwrap();
        messages.push(message.clone());
        (messages.len(), message)
    }

    /// The messages of the handles in `h`.
    pub fn kept(&self, command: &Command) -> Result<Vec<Arc<MessageView>>, Failure> {
        let messages = self.messages.lock().unwrap();
        let find = |handle: i64| usize::try_from(handle - 1).ok().and_then(|at| messages.get(at).cloned());
        let unknown = |handle| Failure::Refused("UnknownHandle", format!("handle {handle} was never given out"));
        command.handles()?.into_iter().map(|handle| find(handle).ok_or_else(|| unknown(handle))).collect()
    }

    async fn close(&self, command: &Command) -> Reply {
        let name = command.text("on")?;
        // The map's own reference goes, so that the client is free once no background command holds it.
        drop(self.on(command)?);
        let object = self.objects.lock().unwrap().remove(&name);
        let busy = || bad(format!("a background command still uses {name}"));
        match object {
            Some(Object::Producer(producer)) => Arc::into_inner(producer).ok_or_else(busy)?.shutdown().await?,
            Some(Object::Simple(simple)) => Arc::into_inner(simple).ok_or_else(busy)?.consumer.shutdown().await?,
            _ => return Err(bad(format!("{name} is being started"))),
        }
        Ok(Map::new())
    }
}

fn hello() -> Map<String, Value> {
    // The version is that of the exact requirement in Cargo.toml; cargo tells a program nothing of its dependencies.
    let hello = json!({
        "sdk": "rocketmq", "version": "5.0.0", "language": "rust", "protocol": "grpc", "protocol_version": 1,
        "verbs": VERBS, "modes": [], "outcomes": [],
    });
    hello.as_object().cloned().unwrap_or_default()
}

/// Kind, code and text of a failure. The SDK hides the number of the server's code and tells its name.
fn name(failure: Failure) -> (String, Option<i32>, String) {
    match failure {
        Failure::Refused(kind, text) => (kind.into(), None, text),
        Failure::Panic(text) => ("panic".into(), None, text),
        Failure::Sdk(error) => {
            let code = error.context().iter().find(|(key, _)| *key == "code").and_then(|(_, name)| codes::number(name));
            (format!("{:?}", error.kind()), code, error.to_string())
        }
    }
}

fn panic_text(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(cause) => cause
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()))
            .unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}
