//! The same methods over a WebSocket, and word of new blocks and logs for who asks for it.
use super::methods::{Methods, shown};
use super::protocol::{Call, Fault, Incoming, Params};
use super::{reply, shape};
use crate::embedded::{Block, collect_logs};
use crate::node::LogFilter;
use alloy_primitives::U256;
use alloy_rpc_types_eth::Filter;
use axum::extract::ws::{Message, WebSocket};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;

/// The most subscriptions on one connection.
const SUBSCRIPTIONS_MAX: usize = 64;

enum Topic {
    Heads,
    Logs(LogFilter),
}

#[derive(Default)]
struct Subscriptions {
    topics: BTreeMap<U256, Topic>,
    last_id: u64,
}

/// Serves one connection until it ends. One that cannot keep up is closed, since it would miss blocks.
pub(super) async fn serve(methods: Arc<Methods>, mut socket: WebSocket) {
    let mut news = methods.chain.news();
    let mut subscriptions = Subscriptions::default();
    loop {
        tokio::select! {
            message = socket.recv() => {
                let body = match message {
                    Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
                    Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                let answer = subscriptions.answer(&methods, &body).await;
                if socket.send(Message::text(answer.to_string())).await.is_err() {
                    return;
                }
            }
            block = news.recv() => {
                let block = match block {
                    Ok(block) => block,
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return,
                };
                for message in subscriptions.messages(&block) {
                    if socket.send(Message::text(message.to_string())).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl Subscriptions {
    async fn answer(&mut self, methods: &Methods, body: &[u8]) -> Value {
        match Incoming::read(body) {
            Ok(Incoming::One(Ok(call))) if matches!(&*call.method, "eth_subscribe" | "eth_unsubscribe") => {
                let (id, method, params) = call.into_parts();
                let result = if method == "eth_subscribe" { self.add(&params) } else { self.remove(&params) };
                Call::answer(&id, result)
            }
            Ok(_) | Err(_) => reply(methods, body).await,
        }
    }

    fn add(&mut self, params: &Params) -> Result<Value, Fault> {
        if self.topics.len() >= SUBSCRIPTIONS_MAX {
            return Err(Fault::limit(format!("a connection has at most {SUBSCRIPTIONS_MAX} subscriptions")));
        }
        let topic = match &*params.required::<String>(0)? {
            "newHeads" => Topic::Heads,
            "logs" => Topic::Logs(shape::wanted(&params.optional::<Filter>(1)?.unwrap_or_default())),
            other => return Err(Fault::params(format!("there is no subscription to {:.32}", other))),
        };
        self.last_id += 1;
        let id = U256::from(self.last_id);
        self.topics.insert(id, topic);
        shown(id)
    }

    fn remove(&mut self, params: &Params) -> Result<Value, Fault> {
        shown(self.topics.remove(&params.required(0)?).is_some())
    }

    fn messages(&self, block: &Block) -> Vec<Value> {
        let mut messages = Vec::new();
        for (id, topic) in &self.topics {
            match topic {
                Topic::Heads => messages.extend(shown(shape::header(block)).ok().map(|head| message(*id, &head))),
                Topic::Logs(filter) => {
                    let mut found = Vec::new();
                    collect_logs(block, filter, &mut found);
                    let logs = found.into_iter().filter_map(|entry| shown(shape::found(entry)).ok());
                    messages.extend(logs.map(|log| message(*id, &log)));
                }
            }
        }
        messages
    }
}

fn message(id: U256, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": { "subscription": id, "result": result } })
}
