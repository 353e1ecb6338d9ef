//! Drives the Rust SDK of the gRPC protocol (crate rocketmq) by the driver protocol.

mod answers;
mod codes;
mod command;
mod consumer;
mod driver;
mod load;
mod message;
mod producer;

use std::sync::Arc;

/// The switches of a driver; `--ca` and `--slow` ask for what this SDK does not have.
fn options(mut words: impl Iterator<Item = String>) -> Result<(String, bool), String> {
    let mut endpoint = None;
    let mut tls = false;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--endpoint" => endpoint = words.next(),
            "--tls" => tls = true,
            "--ca" => drop(words.next()),
            "--slow" => {}
            other => return Err(format!("unknown switch {other}")),
        }
    }
    endpoint.map(|endpoint| (endpoint, tls)).ok_or_else(|| "--endpoint HOST:PORT is missing".into())
}

fn main() {
    let (endpoint, tls) = options(std::env::args().skip(1)).unwrap_or_else(|text| {
        eprintln!("{text}");
        std::process::exit(2)
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let driver = driver::Driver::new(endpoint, tls).expect("standard output");
    runtime.block_on(Arc::new(driver).run());
}
