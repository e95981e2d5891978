//! People who ask: accounts with sessions and tokens, as browsers and programs use them.
use crate::place::Api;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};

pub const PASSPHRASE: &str = "wind over the old mill";

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
}

/// What somebody shows when they ask.
#[derive(Clone, Debug)]
pub enum Shows {
    Nothing,
    /// A token.
    Bearer(String),
    /// A session's cookie, and the page's token.
    Session {
        cookie: String,
        csrf: String,
    },
    /// A session's cookie alone, as a page of somebody else would send it.
    CookieAlone(String),
}

#[derive(Clone)]
pub struct Somebody {
    pub api: Api,
    pub shows: Shows,
}

impl Somebody {
    pub fn nobody(api: &Api) -> Self {
        Self { api: api.clone(), shows: Shows::Nothing }
    }

    pub fn with_token(api: &Api, token: &str) -> Self {
        Self { api: api.clone(), shows: Shows::Bearer(token.to_owned()) }
    }

    /// Makes an account, and is signed in to it.
    pub async fn sign_up(api: &Api, name: &str, roles: &[&str]) -> Self {
        let said = json!({ "name": name, "passphrase": PASSPHRASE, "roles": roles });
        let operator = roles.contains(&"operator");
        let asker = if operator { Self::with_token(api, &api.token) } else { Self::nobody(api) };
        let response = asker.ask(Method::POST, "/api/v1/accounts").json(&said).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED, "{name}");
        Self::let_in(api, response).await
    }

    pub async fn sign_in(api: &Api, name: &str) -> Self {
        let said = json!({ "name": name, "passphrase": PASSPHRASE });
        let response = Self::nobody(api).ask(Method::POST, "/api/v1/session").json(&said).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{name}");
        Self::let_in(api, response).await
    }

    pub async fn let_in(api: &Api, response: Response) -> Self {
        let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let csrf = response.json::<Value>().await.unwrap()["csrf"].as_str().unwrap().to_owned();
        Self { api: api.clone(), shows: Shows::Session { cookie, csrf } }
    }

    /// The same session, from somebody else's page.
    pub fn forged(&self) -> Self {
        let Shows::Session { cookie, .. } = &self.shows else { panic!("no session") };
        Self { api: self.api.clone(), shows: Shows::CookieAlone(cookie.clone()) }
    }

    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.api.client.request(method, format!("{}{path}", self.api.url));
        match &self.shows {
            Shows::Nothing => request,
            Shows::Bearer(token) => request.bearer_auth(token),
            Shows::Session { cookie, csrf } => request.header(header::COOKIE, cookie).header("x-gleaner-csrf", csrf),
            Shows::CookieAlone(cookie) => request.header(header::COOKIE, cookie),
        }
    }

    pub async fn json(&self, path: &str) -> Value {
        let response = self.ask(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    pub async fn post(&self, path: &str, said: &Value) -> (StatusCode, Value) {
        let response = self.ask(Method::POST, path).json(said).send().await.unwrap();
        (response.status(), response.json().await.unwrap_or_default())
    }

    pub async fn delete(&self, path: &str) -> StatusCode {
        self.ask(Method::DELETE, path).send().await.unwrap().status()
    }

    /// A token of this account for a day.
    pub async fn token(&self, scopes: &Value) -> Self {
        Self::with_token(&self.api, self.make_token(scopes).await["text"].as_str().unwrap())
    }

    pub async fn make_token(&self, scopes: &Value) -> Value {
        let wanted = json!({ "label": "a script", "scopes": scopes, "ends_at": now_ms() + 24 * 3600 * 1000 });
        let (status, made) = self.post("/api/v1/account/tokens", &wanted).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        made
    }

    /// The hub as this one sees it, for requests that the other tests make by token.
    pub fn as_api(&self) -> Api {
        let Shows::Bearer(token) = &self.shows else { panic!("no token") };
        Api { token: token.clone(), ..self.api.clone() }
    }
}
