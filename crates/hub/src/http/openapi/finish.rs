//! What holds for every route alike, written once: parameters of paths, the form of problems, and those that any route
//! may answer with. And every field of an answer is there, also where a reader would do without it.
use crate::http::access::{By, Owned, Rule};
use axum::http::Method;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What stands between braces in paths: its name, its type and what it is.
const IN_PATHS: [(&str, &str, &str); 16] = [
    ("job", "JobId", "The job's number"),
    ("worker", "WorkerId", "The worker's number"),
    ("root", "Hash", "The root of the dataset"),
    ("hash", "Hash", "The document's BLAKE3 hash"),
    ("group", "integer", "The number of the `[[task]]`, from 0"),
    ("round", "integer", "The round's number"),
    ("dispute", "integer", "The dispute's number on the chain"),
    ("submission", "string", "The client's own number of the submission: 32 hexadecimal digits"),
    ("payment", "string", "The payment's name"),
    ("user", "string", "Whose folder"),
    ("path", "string", "The file's path in it, with slashes"),
    ("id", "integer", "Its number"),
    ("account", "integer", "The account's number"),
    ("address", "string", "The wallet's address"),
    ("token", "integer", "The token's number"),
    ("purpose", "string", "What it is reserved for"),
];

/// What is sent, but not as the body of a request.
const SENT_OTHERWISE: [&str; 1] = ["WatchRequest"];

/// Completes the document. Each route has its rule.
pub(super) fn finish(document: &mut Value, rules: &[(Method, &str, Rule)]) {
    let paths = document["paths"].as_object_mut().expect("a document has paths");
    for (path, methods) in paths {
        for (method, operation) in methods.as_object_mut().expect("a path has methods") {
            add_parameters(path, operation);
            let rule = rule_of(path, method, rules);
            add_security(operation, rule);
            add_problems(path, operation, rule);
            if method != "head" {
                give_problems_their_form(operation);
            }
        }
    }
    let sent = sent(document);
    let schemas = document["components"]["schemas"].as_object_mut().expect("a document has schemas");
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| !sent.contains(*name)) {
        require_all(schema);
    }
}

/// Describes what stands between braces in a path, where the handler does not.
fn add_parameters(path: &str, operation: &mut Value) {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    for name in names {
        let known = operation["parameters"].as_array().into_iter().flatten();
        if known.into_iter().any(|parameter| parameter["in"] == "path" && parameter["name"] == name) {
            continue;
        }
        let (_, of, what) = IN_PATHS.iter().find(|(known, ..)| *known == name).expect("a name of the list above");
        let schema = match *of {
            "integer" => json!({ "type": "integer", "format": "int64", "minimum": 0 }),
            "string" => json!({ "type": "string" }),
            named => json!({ "$ref": format!("#/components/schemas/{named}") }),
        };
        let parameter = json!({ "name": name, "in": "path", "required": true, "description": what, "schema": schema });
        match operation["parameters"].as_array_mut() {
            Some(parameters) => parameters.insert(0, parameter),
            None => operation["parameters"] = json!([parameter]),
        }
    }
}

/// The rule of a route.
fn rule_of<'a>(path: &str, method: &str, rules: &'a [(Method, &str, Rule)]) -> Option<&'a Rule> {
    let is_this = |of: &Method, at: &str| at.replace("{*", "{") == path && of.as_str().eq_ignore_ascii_case(method);
    rules.iter().find(|(of, at, _)| is_this(of, at)).map(|(.., rule)| rule)
}

/// Says who may, as the table of all routes has it.
fn add_security(operation: &mut Value, rule: Option<&Rule>) {
    let Some(rule) = rule else { return };
    let mut schemes = Vec::new();
    if rule.anyone {
        schemes.push(json!({}));
    }
    schemes.push(json!({ "operator": [] }));
    if rule.worker {
        schemes.push(json!({ "worker": [] }));
    }
    if let Some(grant) = rule.account {
        schemes.push(json!({ "session": [] }));
        if let By::Scope(scope) = grant.by {
            let scopes = [Some(scope), grant.also].into_iter().flatten().map(|scope| scope.name());
            schemes.push(json!({ "token": scopes.collect::<Vec<_>>() }));
        }
    }
    operation["security"] = Value::Array(schemes);
}

/// Adds what any route of its kind may refuse with.
fn add_problems(path: &str, operation: &mut Value, rule: Option<&Rule>) {
    let takes_something = operation.get("parameters").is_some() || operation.get("requestBody").is_some();
    let takes_body = operation.get("requestBody").is_some();
    let takes_json =
        operation.pointer("/requestBody/content").is_some_and(|body| body.get("application/json").is_some());
    let named = |scheme: &Value| scheme.as_object().is_some_and(|names| !names.is_empty());
    let is_closed = operation["security"].as_array().is_some_and(|schemes| schemes.iter().all(named));
    let responses = operation["responses"].as_object_mut().expect("an operation has responses");
    let mut add = |status: &str, what: &str| {
        responses.entry(status).or_insert_with(|| json!({ "description": what }));
    };
    if takes_something {
        add("400", "`bad-request`: the request makes no sense");
    }
    if takes_body {
        add("408", "`silence`: the body does not arrive");
    }
    if takes_json {
        add("413", "`too-large`: the body is too long");
        add("415", "`media-type`: the body is no JSON by its content type");
        add("422", "`bad-request`: the body is JSON of another form");
    }
    if rule.and_then(|rule| rule.account).is_some_and(|grant| grant.owned != Owned::Nothing) {
        add("404", "`not-found`: there is none, or it is somebody else's");
    }
    if is_closed {
        add("401", "`unauthorized`: there is no valid token");
        add("403", "`forbidden`, `scope`, `role`, `session`, `csrf`: not for whoever asks");
    }
    add("429", "`too-often`: wait as long as `Retry-After` says");
    if path.starts_with("/api/") {
        add("500", "`archive`, `catalog`, `desk`: the hub or its desk could not read what it keeps");
        add(
            "503",
            "`unavailable`, and at the desk `hub`, `chain`, `busy`, `registry`: not now; the reason says why, and it goes on by itself",
        );
    }
}

/// A refusal without another form is a problem.
fn give_problems_their_form(operation: &mut Value) {
    let responses = operation["responses"].as_object_mut().expect("an operation has responses");
    for (_, response) in responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5'])) {
        let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        match response.get_mut("content") {
            None => response["content"] = json!({ "application/problem+json": problem }),
            // What machines refuse each other in plain text, the guard before them refuses as everywhere.
            Some(content) => content["application/problem+json"] = problem,
        }
    }
}

/// The names of schemas that bodies of requests are made of.
fn sent(document: &Value) -> BTreeSet<String> {
    let methods = document["paths"].as_object().into_iter().flatten().flat_map(|(_, methods)| methods.as_object());
    let bodies = methods.flatten().filter_map(|(_, operation)| operation.get("requestBody"));
    let mut names = BTreeSet::from(SENT_OTHERWISE.map(str::to_owned));
    bodies.for_each(|body| gather(document, body, &mut names));
    names
}

fn gather(document: &Value, schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
                && names.insert(name.to_owned())
            {
                gather(document, &document["components"]["schemas"][name], names);
            }
            fields.values().for_each(|field| gather(document, field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(document, item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every field is in every answer: a missing one would be null or its default.
fn require_all(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(names) = fields.get("properties").and_then(Value::as_object).map(names) {
                fields.insert("required".to_owned(), names);
            }
            fields.values_mut().for_each(require_all);
        }
        Value::Array(items) => items.iter_mut().for_each(require_all),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn names(properties: &Map<String, Value>) -> Value {
    properties.keys().cloned().map(Value::String).collect()
}
