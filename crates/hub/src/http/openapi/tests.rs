use super::*;
use std::collections::BTreeSet;

const CHECKED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

#[test]
fn the_checked_in_document_is_this_one() {
    let found = std::fs::read_to_string(CHECKED_IN).unwrap_or_default();
    let found: Value = serde_json::from_str(&found).unwrap_or_default();
    assert!(
        found == document(),
        "docs/openapi.json is not what the hub serves: write it anew with `gleaner hub openapi > docs/openapi.json`"
    );
}

/// Methods and paths, as `GET /api/v1/jobs`, of everything between `.route(` and its end.
fn routes(source: &str, prefix: &str) -> BTreeSet<String> {
    let mut routes = BTreeSet::new();
    for rest in source.split(".route(\"").skip(1) {
        let (path, rest) = rest.split_once('"').expect("a path ends");
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let handlers = &rest[..end.expect("a route ends")];
        for method in ["get", "head", "post", "put", "delete", "patch"] {
            let is_there = [" ", ".", "\n"].iter().any(|before| handlers.contains(&format!("{before}{method}(")));
            if is_there {
                routes.insert(format!("{} {prefix}{}", method.to_uppercase(), path.replace("{*", "{")));
            }
        }
    }
    routes
}

#[test]
fn every_route_is_in_the_document_and_no_other() {
    let mut served = routes(include_str!("../mod.rs"), "");
    let elsewhere = [
        include_str!("../../../../data/src/net/http/router.rs"),
        include_str!("../../../../data/src/net/http/swarm.rs"),
    ];
    served.extend(elsewhere.into_iter().flat_map(|source| routes(source, "/api/v1")));
    let document = document();
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
    let document = document();
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
