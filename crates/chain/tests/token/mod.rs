//! The token contract and accounts that send transactions to it, for tests of the chains below it.
use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall, SolValue, sol};
use gleaner_chain::embedded::{CHAIN_ID, Chain};

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
    function transfer(address to, uint256 value) returns (bool);
    function balanceOf(address account) view returns (uint256);
    error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
}

/// All tokens there are.
pub const SUPPLY: u64 = 1_000_000_000;

/// A key made of one byte, for chains on which nothing is worth anything.
pub fn key(byte: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_slice(&[byte; 32]).unwrap()
}

pub fn signed(key: &PrivateKeySigner, transaction: TxEip1559) -> TxEnvelope {
    let signature = key.sign_hash_sync(&transaction.signature_hash()).unwrap();
    transaction.into_signed(signature).into()
}

pub fn unsigned(nonce: u64, to: TxKind, input: Bytes) -> TxEip1559 {
    TxEip1559 { chain_id: CHAIN_ID, nonce, gas_limit: 5_000_000, to, input, ..TxEip1559::default() }
}

pub fn raw(key: &PrivateKeySigner, nonce: u64, to: TxKind, input: Bytes) -> Bytes {
    signed(key, unsigned(nonce, to, input)).encoded_2718().into()
}

/// The code that makes the token and gives all of it to an account.
pub fn creation_code(holder: Address) -> Bytes {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo tells tests where their package is");
    let text = std::fs::read_to_string(format!("{root}/../../contracts/artifacts/Token.json")).unwrap();
    let artifact: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut code = hex::decode(artifact["bytecode"].as_str().unwrap()).unwrap();
    code.extend((U256::from(SUPPLY), holder).abi_encode_params());
    code.into()
}

/// Makes the token with the account's first transaction.
pub async fn deploy(chain: &Chain, owner: &PrivateKeySigner) -> Address {
    let hash = chain.send_raw(raw(owner, 0, TxKind::Create, creation_code(owner.address()))).await.unwrap();
    let receipt = chain.receipt(hash).await.unwrap().expect("it is in a block");
    assert!(receipt.success);
    receipt.contract.expect("it makes a contract")
}

pub fn transfer(key: &PrivateKeySigner, nonce: u64, token: Address, to: Address, value: u64) -> Bytes {
    raw(key, nonce, TxKind::Call(token), transferCall { to, value: U256::from(value) }.abi_encode().into())
}

pub async fn balance(chain: &Chain, token: Address, account: Address) -> u64 {
    let answer = chain.call(Address::ZERO, token, balanceOfCall { account }.abi_encode().into()).await.unwrap();
    U256::abi_decode(&answer).unwrap().to()
}
