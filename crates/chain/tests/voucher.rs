//! Small payments over crashes of either side, and the measuring of their rate.
use alloy_primitives::{Address, U256};
use gleaner_chain::Account;
use gleaner_chain::voucher::{Channel, Domain, Load, Payee, Payer, STEPS_MAX, measure};
use gleaner_wire::Amount;

#[test]
fn a_payee_that_forgot_an_anchor_in_a_crash_gets_it_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let domain = Domain { chain_id: 7, vouchers: Address::repeat_byte(7) };
    let account = Account::from_words("a payer");
    let id = domain.channel(account.address(), Address::repeat_byte(8), U256::from(1));
    let channel = Channel { id, payer: account.address(), funds: Amount(10_000), step: Amount(1) };
    let path = folder.path().join("payer");
    let mut payer = Payer::open(&path, domain, account, id, channel.funds, channel.step).expect("a payer");
    let open = || Payee::open(&folder.path().join("payee"), domain, Amount(50)).expect("a payee");
    let mut payee = open();
    payee.announce(channel).expect("announced");
    let first_of_the_second_chain = u64::from(STEPS_MAX) + 1;
    for _ in 0..first_of_the_second_chain + 2 {
        payee.accept(&payer.pay(1).expect("paid")).expect("taken");
    }
    drop(payee);
    let mut payee = open();
    assert!(payee.total(id).0 < first_of_the_second_chain, "the crash came before the second anchor was written");
    assert!(payee.accept(&payer.pay(1).expect("paid")).is_err(), "a word without its anchor proves nothing");
    payer.repeat_anchor();
    payee.accept(&payer.pay(1).expect("paid")).expect("taken");
    assert_eq!(payee.total(id), payer.paid());
}

#[test]
fn the_measured_payments_are_really_taken() {
    let rate = measure(&Load { channels: 3, payments: 5_000, store: None }).expect("measured");
    assert_eq!((rate.payments, rate.anchors), (2 * 3 * u64::from(STEPS_MAX), 6));
    let folder = tempfile::tempdir().expect("a folder");
    let store = Some((folder.path().join("payee"), Amount(1_000)));
    let rate = measure(&Load { channels: 2, payments: 2_000, store }).expect("measured");
    assert_eq!(rate.payments, 2 * u64::from(STEPS_MAX));
}
