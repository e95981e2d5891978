use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> Query {
    text.parse().unwrap_or_else(|error: QueryError| panic!("{error}"))
}

fn refused(text: &str) -> String {
    text.parse::<Query>().expect_err("it is no query").to_string()
}

#[test]
fn terms_are_read_with_their_types() {
    let query = parsed("memory>=24GiB device=nvidia region=eu price<0.4 score>=80");
    let term = |operator, value| Term { operator, value };
    let wanted = [
        term(Operator::AtLeast, Value::Memory(ByteSize::mib(24 * 1024))),
        term(Operator::Is, Value::Device(Kinds::that(|kind| kind == DeviceKind::Nvidia))),
        term(Operator::Is, Value::Region("eu".into())),
        term(Operator::Below, Value::Price(Amount(400_000_000))),
        term(Operator::AtLeast, Value::Score(80)),
    ];
    assert_eq!(query.terms, wanted);
}

#[test]
fn spaces_quotes_and_escapes_are_read() {
    let query = parsed("  name != \"Ada's \\\"big\\\" one\"   slots> 4 managed=no ");
    assert_eq!(query.terms[0].value, Value::Name("Ada's \"big\" one".into()));
    assert_eq!(query.terms.len(), 3);
    assert_eq!(parsed("").terms, []);
    assert_eq!(parsed("price<=\"0.4 GLN/h\"").terms, parsed("price<=0.4").terms);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let shown: Vec<_> = [
        "memry>=24GiB device=nvidia",
        "memory>=24GB",
        "device=voodoo price<0.4",
        "price<cheap",
        "region>eu",
        "score=>80",
        "score",
        "price<",
        "name=\"open",
        "memory>=8GiB, price<1",
        "owner=ada",
        "état=available",
        "managed=perhaps state=asleep",
        "a b c",
    ]
    .into_iter()
    .map(refused)
    .collect();
    let wanted = include_str!("mistakes.txt");
    let shown = shown.join("\n\n") + "\n";
    assert!(shown == wanted, "--- stored\n{wanted}\n--- now\n{shown}");
}

#[test]
fn what_is_too_long_is_refused() {
    assert!(refused(&"x".repeat(QUERY_BYTES_MAX + 1)).contains("longer"));
    assert!(refused(&"slots>1 ".repeat(TERMS_MAX + 1)).contains("at most 32 terms"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = text.parse::<Query>();
    }

    #[test]
    fn almost_right_text_is_read_or_shown_with_its_place(
        parts in proptest::collection::vec("(memory|device|price|name|é|\"| |=|!|<|>|>=|24GiB|\\\\|eu|\u{1b})", 0..12),
    ) {
        let text = parts.concat();
        match text.parse::<Query>() {
            Ok(query) => prop_assert_eq!(query.to_string().parse::<Query>(), Ok(query)),
            Err(error) => {
                prop_assert!(error.columns().end <= text.chars().count());
                let is_plain = error.to_string().lines().all(|line| !line.contains(char::is_control));
                prop_assert!(is_plain);
            }
        }
    }

    #[test]
    fn a_query_reads_back_what_it_prints(memory: u64, price: u64, score: u32, name in "[^\u{0}-\u{1f}]{1,20}") {
        let terms = alloc::vec![
            Term { operator: Operator::AtLeast, value: Value::Memory(ByteSize(memory)) },
            Term { operator: Operator::Below, value: Value::Price(Amount(price)) },
            Term { operator: Operator::IsNot, value: Value::Score(score) },
            Term { operator: Operator::Is, value: Value::Name(name) },
        ];
        let query = Query { terms };
        prop_assert_eq!(query.to_string().parse::<Query>(), Ok(query));
    }
}
