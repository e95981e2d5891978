//! How a hub ends: whoever is connected and says nothing keeps neither its folder nor its ports.
use crate::authority::Authority;
use crate::place::{PATIENCE, config};
use gleaner_chain::genesis::Genesis;
use gleaner_core::Params;
use gleaner_hub::money::ChainConfig;
use gleaner_hub::{Config, Hub, Tls};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

fn encrypted_with_chain(dir: &Path) -> Config {
    let files = Authority::new().write(dir);
    let genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).unwrap();
    let rpc = "127.0.0.1:0".parse().unwrap();
    Config {
        tls: Some(Tls::Files { certificate: files.certificate, key: files.key }),
        chain: ChainConfig::Embedded { rpc, genesis: Box::new(genesis) },
        ..config(&dir.join("hub"), Params::default())
    }
}

fn address(url: &str) -> SocketAddr {
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Where the hub's chain answers.
async fn rpc(hub: &Hub) -> SocketAddr {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
    let chain = client.get(format!("{}/api/v1/chain", hub.own_url())).send().await.unwrap();
    address(chain.json::<Value>().await.unwrap()["url"].as_str().unwrap())
}

/// A connection that has said this and was answered, if anything was said, and stays open.
async fn connected(to: SocketAddr, said: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    if !said.is_empty() {
        assert_ne!(timeout(PATIENCE, stream.read(&mut [0; 4096])).await.unwrap().unwrap(), 0);
    }
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stays_connected_keeps_neither_folder_nor_ports_of_a_hub_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = encrypted_with_chain(dir.path());
    let hub = gleaner_hub::start(config.clone()).await.unwrap();
    let (public, own, rpc) = (hub.address(), address(hub.own_url()), rpc(&hub).await);
    let question = r#"{"id":1,"method":"eth_chainId"}"#;
    let asked = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{question}", question.len());
    let upgrade = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let _open = [
        connected(own, "GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await,
        connected(own, "").await,
        connected(public, "").await,
        connected(rpc, &asked).await,
        connected(rpc, upgrade).await,
        connected(rpc, "").await,
    ];
    timeout(PATIENCE, hub.stop()).await.expect("it ends");
    // Everything is free, now and not in a while.
    for taken in [public, own, rpc] {
        drop(std::net::TcpListener::bind(taken).unwrap());
    }
    assert!(!gleaner_data::store::is_open(&config.dir.join("chunks")), "its store is let go of");
    assert!(!gleaner_chain::embedded::is_open(&config.dir.join("chain")), "and so is its chain");
    config.listen = public;
    let again = gleaner_hub::start(config).await.expect("its folder is free");
    assert_eq!((again.address(), address(again.own_url()), self::rpc(&again).await), (public, own, rpc));
    timeout(PATIENCE, again.stop()).await.expect("it ends again");
}
