//! The desk beside a hub: it serves people in a browser and programs at the hub's own address.
use gleaner_client::Token;
use gleaner_client::registry::Reach;
use gleaner_desk::{Config, Desk, Limits, document, router, routes};
use gleaner_hub::{Description, Extra, Need, Routes, is_public};

/// Opens the desk in the hub's folder, once it is known where the hub is. Unless it may ask private registries, jobs lead it to
/// public addresses only.
pub fn beside(private_registries: bool) -> Extra {
    Extra::new(move |place| {
        let config = Config {
            dir: place.dir.join("desk"),
            hub: place.url.clone(),
            token: Token::read(&place.token_file)?,
            limits: Limits::default(),
            registries: if private_registries { Reach::Anywhere } else { Reach::Only(is_public) },
        };
        Ok(Routes { router: router(Desk::open(config)?), description: description() })
    })
}

/// What the desk's routes are, and what the hub's guard is to ask of their callers.
pub fn description() -> Description {
    let need = |need| match need {
        gleaner_desk::Need::Nothing => Need::Nothing,
        gleaner_desk::Need::Read => Need::Read,
        gleaner_desk::Need::Submit => Need::Submit,
        gleaner_desk::Need::Spend => Need::Spend,
        gleaner_desk::Need::Order => Need::Order,
    };
    let needs = routes().into_iter().map(|route| (route.method, route.path, need(route.need))).collect();
    Description { needs, document: document() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    const CHECKED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

    fn served() -> Value {
        serde_json::from_str(&gleaner_hub::openapi(Some(&description()))).expect("JSON")
    }

    #[test]
    fn the_checked_in_document_is_the_served_one() {
        let found = std::fs::read_to_string(CHECKED_IN).unwrap_or_default();
        let found: Value = serde_json::from_str(&found).unwrap_or_default();
        assert!(
            found == served(),
            "docs/openapi.json is not what the hub serves: write it anew with `gleaner hub openapi > docs/openapi.json`"
        );
    }

    #[test]
    fn the_desk_is_in_the_document_with_what_holds_for_all_routes() {
        let document = served();
        for route in routes() {
            let path = route.path.replace("{*", "{");
            let operation = &document["paths"][&path][route.method.to_lowercase()];
            assert!(operation["operationId"].is_string(), "{} {path} is missing", route.method);
            assert!(operation["responses"]["429"].is_object(), "{} {path}", route.method);
            let schemes = operation["security"].as_array().unwrap_or_else(|| panic!("{} {path}", route.method));
            let is_open = schemes.iter().any(|scheme| *scheme == serde_json::json!({}));
            assert_eq!(is_open, route.need == gleaner_desk::Need::Nothing, "{} {path}", route.method);
            let inside = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let known = operation["parameters"].as_array().into_iter().flatten();
            let known: BTreeSet<_> = known.filter_map(|parameter| parameter["name"].as_str()).collect();
            assert!(inside.clone().all(|name| known.contains(name)), "{} {path} describes {known:?}", route.method);
        }
    }

    #[test]
    fn every_operation_and_every_schema_has_a_name_of_its_own() {
        let document = served();
        let mut names = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let name = operation["operationId"].as_str().expect("a name").to_owned();
                assert!(names.insert(name), "{method} {path} is named like another");
            }
        }
        let hub: Value = serde_json::from_str(&gleaner_hub::openapi(None)).expect("JSON");
        let own = serde_json::to_value(description().document).expect("plain data");
        for (name, schema) in own["components"]["schemas"].as_object().expect("schemas") {
            if let Some(other) = hub["components"]["schemas"].get(name) {
                assert_eq!(schema["properties"], other["properties"], "two things are called {name}");
            }
        }
    }
}
