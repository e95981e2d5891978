use super::*;
use std::collections::BTreeSet;

#[test]
fn every_route_is_in_the_document_and_no_other() {
    let rows = table();
    let served: BTreeSet<String> =
        rows.iter().map(|row| format!("{} {}", row.method, row.path.replace("{*", "{"))).collect();
    assert_eq!(served.len(), rows.len(), "each route has one row");
    let document = document(None);
    let paths = document["paths"].as_object().expect("paths").iter();
    let described: BTreeSet<String> = paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    assert_eq!(served, described);
    assert!(served.len() > 50, "the routes were found: {served:?}");
}

#[test]
fn every_operation_has_a_name_of_its_own_and_every_reference_leads_somewhere() {
    let document = document(None);
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name), "{method} {path} is named {name} like another");
            assert!(operation["summary"].is_string(), "{method} {path} says what it does");
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.keys().any(|status| status < &"400".to_owned()), "{method} {path} may succeed");
        }
    }
    let mut seen = Vec::new();
    references(&document, &mut seen);
    for reference in seen {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn references(value: &Value, seen: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            seen.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| references(field, seen));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, seen)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
