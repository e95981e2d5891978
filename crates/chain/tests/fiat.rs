//! Messages of a payment provider, in the form in which it sends them, against the operator's desk.
use alloy_primitives::Address;
use gleaner_chain::fiat::{Desk, Error, Held, Instruction, Limits, Outcome, Secret, SignatureError, sign};
use gleaner_wire::Amount;
use serde_json::json;

const NOW: u64 = 1_800_000_000;
const DAY: u64 = 86_400;
const BUYER: Address = Address::repeat_byte(0xB1);

struct Office {
    folder: tempfile::TempDir,
    desk: Desk,
}

fn secret() -> Secret {
    Secret::new("whsec_ours")
}

impl Office {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let desk = open(&folder);
        Self { folder, desk }
    }

    fn reopen(self) -> Self {
        let Self { folder, desk } = self;
        drop(desk);
        let desk = open(&folder);
        Self { folder, desk }
    }

    fn tell(&mut self, message: &serde_json::Value, now: u64) -> Result<Outcome, Error> {
        let body = serde_json::to_vec_pretty(message).expect("JSON");
        self.desk.receive(&sign(&secret(), now, &body), &body, now)
    }
}

fn open(folder: &tempfile::TempDir) -> Desk {
    let limits = Limits {
        currency: "usd".to_owned(),
        per_cent: Amount(50_000_000),
        payment_max: Amount::gln(500),
        day_max: Amount::gln(800),
        live: false,
    };
    Desk::open(&folder.path().join("fiat.db"), vec![Secret::new("whsec_old"), secret()], limits).expect("opened")
}

fn paid(event: &str, payment: &str, cents: u64) -> serde_json::Value {
    json!({
        "id": event, "object": "event", "api_version": "2024-06-20", "created": NOW, "livemode": false,
        "pending_webhooks": 1, "request": { "id": null, "idempotency_key": null },
        "type": "checkout.session.completed",
        "data": { "object": {
            "id": format!("cs_test_{payment}"), "object": "checkout.session", "amount_subtotal": cents,
            "amount_total": cents, "client_reference_id": BUYER.to_string(), "currency": "usd", "customer": null,
            "customer_details": { "email": null }, "livemode": false, "metadata": {}, "mode": "payment",
            "payment_intent": payment, "payment_method_types": ["card"], "payment_status": "paid",
            "status": "complete", "url": null
        } }
    })
}

fn refunded(event: &str, payment: &str, cents: u64) -> serde_json::Value {
    json!({
        "id": event, "object": "event", "api_version": "2024-06-20", "created": NOW, "livemode": false,
        "pending_webhooks": 1, "type": "charge.refunded",
        "data": {
            "object": {
                "id": format!("ch_{payment}"), "object": "charge", "amount": 2_000, "amount_captured": 2_000,
                "amount_refunded": cents, "captured": true, "currency": "usd", "livemode": false, "paid": true,
                "payment_intent": payment, "refunded": cents == 2_000, "status": "succeeded"
            },
            "previous_attributes": { "amount_refunded": 0 }
        }
    })
}

fn deposit(payment: &str, gln: u64) -> Outcome {
    Outcome::Deposit(Instruction { key: format!("fiat/{payment}"), account: BUYER, amount: Amount::gln(gln) })
}

#[test]
fn a_payment_becomes_one_deposit_however_often_it_is_told() {
    let mut office = Office::new();
    assert_eq!(office.tell(&paid("evt_1", "pi_1", 2_000), NOW).expect("taken"), deposit("pi_1", 100));
    assert_eq!(office.tell(&paid("evt_1", "pi_1", 2_000), NOW + 5).expect("taken"), Outcome::Repeated);
    assert_eq!(office.tell(&paid("evt_2", "pi_1", 2_000), NOW + 5).expect("another message"), Outcome::Repeated);
    let mut office = office.reopen();
    assert_eq!(office.tell(&paid("evt_1", "pi_1", 2_000), NOW + 9).expect("taken"), Outcome::Repeated);
    assert_eq!(office.desk.pending().expect("read").len(), 1);
}

#[test]
fn an_instruction_is_listed_until_the_outbox_has_it() {
    let mut office = Office::new();
    office.tell(&paid("evt_1", "pi_1", 2_000), NOW).expect("taken");
    office.tell(&paid("evt_2", "pi_2", 40), NOW).expect("taken");
    let pending = office.desk.pending().expect("read");
    assert_eq!(pending.iter().map(|each| each.amount).collect::<Vec<_>>(), [Amount::gln(100), Amount::gln(2)]);
    let mut office = office.reopen();
    assert_eq!(office.desk.pending().expect("read"), pending, "a crash before the outbox had it");
    office.desk.queued("fiat/pi_1").expect("noted");
    assert_eq!(office.reopen().desk.pending().expect("read"), pending[1..]);
}

#[test]
fn forged_late_and_oversized_messages_are_refused_and_leave_no_trace() {
    let mut office = Office::new();
    let body = paid("evt_1", "pi_1", 2_000).to_string().into_bytes();
    let forged = sign(&Secret::new("whsec_guessed"), NOW, &body);
    let refuse = |office: &mut Office, header: &str, body: &[u8], now| office.desk.receive(header, body, now);
    let wrong = refuse(&mut office, &forged, &body, NOW);
    assert!(matches!(wrong, Err(Error::Signature(SignatureError::Wrong))));
    let ours = sign(&secret(), NOW, &body);
    let late = refuse(&mut office, &ours, &body, NOW + 301);
    assert!(matches!(late, Err(Error::Signature(SignatureError::Time { .. }))));
    let richer = String::from_utf8(body.clone()).expect("text").replace("2000", "9000");
    assert!(matches!(refuse(&mut office, &ours, richer.as_bytes(), NOW), Err(Error::Signature(_))));
    assert!(matches!(refuse(&mut office, "", &body, NOW), Err(Error::Signature(SignatureError::Header))));
    let huge = vec![b' '; 300 * 1024];
    assert!(matches!(refuse(&mut office, &sign(&secret(), NOW, &huge), &huge, NOW), Err(Error::TooLarge)));
    assert!(office.desk.pending().expect("read").is_empty());
    assert_eq!(office.desk.receive(&ours, &body, NOW).expect("the true one counts"), deposit("pi_1", 100));
}

#[test]
fn rehearsals_and_real_payments_are_never_mixed() {
    let mut office = Office::new();
    let mut message = paid("evt_1", "pi_1", 2_000);
    message["livemode"] = json!(true);
    assert!(matches!(office.tell(&message, NOW), Err(Error::WrongMode { live: true })));
}

#[test]
fn signed_messages_that_make_no_sense_are_refused() {
    let mut office = Office::new();
    let mut nobody = paid("evt_1", "pi_1", 2_000);
    nobody["data"]["object"]["client_reference_id"] = json!(null);
    let mut zero = paid("evt_2", "pi_2", 2_000);
    zero["data"]["object"]["client_reference_id"] = json!(Address::ZERO.to_string());
    let mut negative = paid("evt_3", "pi_3", 2_000);
    negative["data"]["object"]["amount_total"] = json!(-2_000);
    let mut fraction = paid("evt_4", "pi_4", 2_000);
    fraction["data"]["object"]["amount_total"] = json!(0.5);
    let odd = paid("evt 5; --", "pi_5", 2_000);
    for message in [nobody, zero, negative, fraction, odd, json!([]), json!({ "id": "evt_6" })] {
        assert!(matches!(office.tell(&message, NOW), Err(Error::Malformed(_))), "{message}");
    }
}

#[test]
fn money_that_has_not_come_yet_is_not_booked() {
    let mut office = Office::new();
    let mut waiting = paid("evt_1", "pi_1", 2_000);
    waiting["data"]["object"]["payment_status"] = json!("unpaid");
    assert_eq!(office.tell(&waiting, NOW).expect("taken"), Outcome::Ignored);
    let mut come = paid("evt_2", "pi_1", 2_000);
    come["type"] = json!("checkout.session.async_payment_succeeded");
    assert_eq!(office.tell(&come, NOW).expect("taken"), deposit("pi_1", 100));
    let mut other = paid("evt_3", "pi_3", 2_000);
    other["type"] = json!("customer.created");
    assert_eq!(office.tell(&other, NOW).expect("taken"), Outcome::Ignored);
}

#[test]
fn what_is_above_a_limit_waits_for_the_operator() {
    let mut office = Office::new();
    let held = |payment: &str, reason| Outcome::Held { payment: payment.to_owned(), reason };
    let dear = office.tell(&paid("evt_1", "pi_1", 10_001), NOW).expect("taken");
    assert_eq!(dear, held("pi_1", Held::PaymentLimit));
    let endless = office.tell(&paid("evt_2", "pi_2", i64::MAX.unsigned_abs()), NOW).expect("taken");
    assert_eq!(endless, held("pi_2", Held::PaymentLimit));
    assert_eq!(office.tell(&paid("evt_3", "pi_3", 10_000), NOW).expect("taken"), deposit("pi_3", 500));
    assert_eq!(office.tell(&paid("evt_4", "pi_4", 6_001), NOW).expect("taken"), held("pi_4", Held::DayLimit));
    assert_eq!(office.tell(&paid("evt_5", "pi_5", 6_000), NOW).expect("taken"), deposit("pi_5", 300));
    assert_eq!(office.tell(&paid("evt_6", "pi_6", 6_000), NOW + DAY).expect("next day"), deposit("pi_6", 300));
    let mut euros = paid("evt_7", "pi_7", 100);
    euros["data"]["object"]["currency"] = json!("eur");
    assert_eq!(office.tell(&euros, NOW).expect("taken"), held("pi_7", Held::Currency));
    assert!(matches!(office.desk.release("pi_7", NOW), Err(Error::NotHeld(_))));
    assert!(matches!(office.desk.release("pi_2", NOW), Err(Error::Amount)));
    assert!(matches!(office.desk.release("pi_3", NOW), Err(Error::NotHeld(_))));
    assert!(matches!(office.desk.release("pi_9", NOW), Err(Error::NotHeld(_))));
    let released = office.desk.release("pi_4", NOW).expect("released");
    let amount = Amount(6_001 * 50_000_000);
    assert_eq!(released, Outcome::Deposit(Instruction { key: "fiat/pi_4".into(), account: BUYER, amount }));
    assert!(matches!(office.desk.release("pi_4", NOW), Err(Error::NotHeld(_))));
}

#[test]
fn a_refund_takes_back_a_deposit_that_is_not_on_its_way() {
    let mut office = Office::new();
    office.tell(&paid("evt_1", "pi_1", 2_000), NOW).expect("taken");
    let refund = |gln, debt| Outcome::Refund { account: BUYER, amount: Amount::gln(gln), debt: Amount::gln(debt) };
    assert_eq!(office.tell(&refunded("evt_2", "pi_1", 500), NOW).expect("taken"), refund(25, 0));
    assert_eq!(office.desk.pending().expect("read")[0].amount, Amount::gln(75));
    assert_eq!(office.tell(&refunded("evt_3", "pi_1", 2_000), NOW).expect("taken"), refund(75, 75), "it was offered");
}

#[test]
fn a_refunded_deposit_becomes_a_debt_that_the_next_purchase_pays() {
    let mut office = Office::new();
    office.tell(&paid("evt_1", "pi_1", 2_000), NOW).expect("taken");
    office.desk.pending().expect("read");
    office.tell(&refunded("evt_2", "pi_1", 1_000), NOW).expect("taken");
    assert_eq!(office.tell(&refunded("evt_2", "pi_1", 1_000), NOW).expect("taken"), Outcome::Repeated);
    office.tell(&refunded("evt_3", "pi_1", 2_000), NOW).expect("sums, not differences");
    assert_eq!(office.tell(&refunded("evt_4", "pi_1", 1_500), NOW).expect("out of order"), Outcome::Repeated);
    assert_eq!(office.desk.debt(BUYER).expect("read"), Amount::gln(100));
    assert_eq!(office.desk.returned(BUYER, Amount::gln(30)).expect("noted"), Amount::gln(70));
    let off = office.tell(&paid("evt_5", "pi_2", 1_000), NOW).expect("taken");
    assert_eq!(off, Outcome::DebtPaid { account: BUYER, amount: Amount::gln(50) });
    assert_eq!(office.tell(&paid("evt_6", "pi_3", 1_000), NOW).expect("taken"), deposit("pi_3", 30));
    assert_eq!(office.desk.debt(BUYER).expect("read"), Amount::ZERO);
}

#[test]
fn a_refund_that_comes_first_or_is_too_large_counts_only_for_its_payment() {
    let mut office = Office::new();
    assert_eq!(office.tell(&refunded("evt_1", "pi_1", 500), NOW).expect("taken"), Outcome::Ignored);
    assert_eq!(office.tell(&paid("evt_2", "pi_1", 2_000), NOW).expect("taken"), deposit("pi_1", 75));
    office.desk.pending().expect("read");
    office.tell(&refunded("evt_3", "pi_1", 1_000_000), NOW).expect("taken");
    assert_eq!(office.desk.debt(BUYER).expect("read"), Amount::gln(75));
}
