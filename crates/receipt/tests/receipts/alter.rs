//! Every way to alter one thing in a receipt.
use gleaner_wire::receipt::TaskReceipt;
use serde::Deserialize;
use serde_json::{Number, Value, json};

/// An altered receipt, and where it was altered: the names on the way, without the places in lists.
pub struct Altered {
    pub path: String,
    pub receipt: TaskReceipt,
}

/// All receipts that differ from this one in one leaf of its JSON.
pub fn leaves(receipt: &TaskReceipt) -> Vec<Altered> {
    let whole = serde_json::to_value(receipt).expect("plain data");
    let (mut changed, mut found) = (whole.clone(), Vec::new());
    walk(&whole, &mut Vec::new(), &mut |way, others| {
        for other in others {
            let place = way.iter().fold(&mut changed, |value, step| step.of(value));
            let before = std::mem::replace(place, other);
            let read = TaskReceipt::deserialize(&changed);
            *way.iter().fold(&mut changed, |value, step| step.of(value)) = before;
            let Ok(altered) = read else { continue };
            if altered != *receipt {
                let names = way.iter().filter_map(|step| step.name());
                found.push(Altered { path: names.collect::<Vec<_>>().join("."), receipt: altered });
            }
        }
    });
    found
}

#[derive(Clone)]
enum Step {
    Name(String),
    Place(usize),
}

impl Step {
    fn of<'a>(&self, value: &'a mut Value) -> &'a mut Value {
        match self {
            Self::Name(name) => &mut value[name.as_str()],
            Self::Place(place) => &mut value[*place],
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Place(_) => None,
        }
    }
}

fn walk(value: &Value, way: &mut Vec<Step>, found: &mut impl FnMut(&[Step], Vec<Value>)) {
    match value {
        Value::Object(fields) => {
            found(way, vec![Value::Null]);
            for (name, inside) in fields {
                way.push(Step::Name(name.clone()));
                walk(inside, way, found);
                way.pop();
            }
        }
        Value::Array(items) => {
            found(way, shuffled(items));
            for (place, inside) in items.iter().enumerate() {
                way.push(Step::Place(place));
                walk(inside, way, found);
                way.pop();
            }
        }
        Value::Null => found(
            way,
            vec![
                json!(true),
                json!(false),
                json!(0),
                json!("00".repeat(32)),
                json!("0x".to_owned() + &"11".repeat(20)),
            ],
        ),
        Value::Bool(is) => found(way, vec![json!(!is), Value::Null]),
        Value::Number(number) => found(way, numbers(number)),
        Value::String(text) => found(way, texts(text)),
    }
}

/// One left out, one twice, two swapped.
fn shuffled(items: &[Value]) -> Vec<Value> {
    let mut lists = Vec::new();
    for place in 0..items.len() {
        let mut without = items.to_vec();
        let one = without.remove(place);
        lists.push(without);
        lists.push([items, &[one]].concat());
        if place > 0 {
            let mut swapped = items.to_vec();
            swapped.swap(0, place);
            lists.push(swapped);
        }
    }
    lists.into_iter().map(Value::Array).collect()
}

fn numbers(number: &Number) -> Vec<Value> {
    let Some(number) = number.as_u64() else { return Vec::new() };
    let others = [number.wrapping_add(1), number.wrapping_sub(1), 0, 1, number / 2, u64::MAX, number ^ 1 << 31];
    others.into_iter().map(|other| json!(other)).collect()
}

/// Other digits, amounts and words.
fn texts(text: &str) -> Vec<Value> {
    let mut others: Vec<String> = Vec::new();
    for place in [0, text.len() / 3, text.len() / 2, text.len().saturating_sub(1)] {
        let Some(old) = text.as_bytes().get(place) else { continue };
        for new in [b'0', b'1', b'a', b'x', old ^ 1] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[place] = new;
            others.extend(String::from_utf8(bytes));
        }
    }
    others.extend(["0", "1", "100", "0.000000001", "18446744073.709551615", "", "exact", "none"].map(String::from));
    others.extend(["posted", "auction", "race", "reserved", "interruptible", "cpu", "hub"].map(String::from));
    others
        .extend(["not_drawn", "agreed", "upheld", "refuted", "not_asked", "undecided", "job_ended"].map(String::from));
    others.extend(["not_repeatable", "nobody_to_check", "Exact", "None"].map(String::from));
    others.extend(["wasm", "wgsl", "container", "blender"].map(String::from));
    others.into_iter().map(Value::String).collect()
}
