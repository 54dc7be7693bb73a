//! The API: HTTP on loopback and a Unix socket.
//!
//! [`access`] authenticates callers, [`submit`] accepts commands, [`report`] accepts their results, [`answers`] accepts
//! answers, [`lists`] returns requests, [`events`] streams events. Out of scope: what happens with an answer
//! ([`crate::backend`]).

pub mod access;
pub mod answers;
pub mod body_timeout;
pub mod channels;
pub mod credentials;
pub mod document;
pub mod events;
pub mod lists;
pub mod pages;
pub mod passkeys;
pub mod problem;
pub mod push;
pub mod record;
pub mod rejection;
pub mod reload;
pub mod report;
pub mod submit;
mod support;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::routing::get;
use tokio::sync::mpsc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::{Modify as _, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::document::{Document, Logins};
use crate::account::Account;
use crate::backend::remote::ELSEWHERE;
use crate::backend::{BackendError, BackendThread};
use crate::channel::Health;
use crate::clock::{Limits, Rate};
use crate::config::Config;
use crate::connected_channels::ConnectedChannels;
use crate::request_feed::RequestFeed;
use crate::request_names::RequestNames;
use crate::secrets::GatewayKey;
use crate::test_cards::TestCards;

/// The maximum size of a request body.
pub const MAX_BODY: usize = 1 << 20;

/// The state that all handlers share.
pub struct App {
    pub backend: BackendThread,
    pub feed: RequestFeed,
    /// The names under which requests were submitted.
    pub names: RequestNames,
    pub key: GatewayKey,
    pub config: RwLock<Arc<Config>>,
    /// The path of the guard program.
    pub guard: PathBuf,
    pub account: Account,
    pub limits: Mutex<AllLimits>,
    /// The valid tokens.
    pub valid_tokens: credentials::ValidTokens,
    /// The sessions of the page, by the hash of their cookie.
    pub pages: Mutex<HashMap<[u8; 32], pages::PageSession>>,
    /// One-time logins for the page, by their hash.
    pub logins: Mutex<HashMap<[u8; 32], Instant>>,
    /// One-time tokens that were issued and can still be fetched, by the name of their request.
    pub once: Mutex<HashMap<String, (String, Instant)>>,
    /// Senders that cancel the running judges, by the name of their request.
    pub judges: Mutex<HashMap<String, tokio::sync::oneshot::Sender<()>>>,
    /// Open pairings of passkeys, by the hash of their secret.
    pub pairings: Mutex<HashMap<[u8; 32], passkeys::OpenPairing>>,
    /// The status of the channels.
    pub channels: Mutex<HashMap<String, Health>>,
    /// The connected channels.
    pub connections: RwLock<Arc<ConnectedChannels>>,
    /// Test cards that wait for a button to be pressed.
    pub test_cards: TestCards,
    /// The requests to reload the configuration, each with a channel for its result.
    pub reloads: mpsc::Sender<reload::ReloadReply>,
    /// The ports that the gateway listens on.
    pub ports: RwLock<Vec<u16>>,
}

/// The rate limits.
pub struct AllLimits {
    pub submit: Limits<String>,
    pub decide: Limits<String>,
    pub wrong: Limits<String>,
    /// The limit of test messages, by the name of their channel.
    pub test: Limits<String>,
}

impl Default for AllLimits {
    fn default() -> Self {
        Self {
            submit: Limits::new(Rate::per_minute(60, 10)),
            decide: Limits::new(Rate::per_minute(30, 30)),
            wrong: Limits::new(Rate::per_minute(5, 5)),
            test: Limits::new(Rate::per_minute(3, 3)),
        }
    }
}

/// Locks a mutex and ignores poisoning: the data behind it is consistent after every statement, so a panic in another
/// thread cannot have damaged it.
pub fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl App {
    /// Returns the current configuration.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks that this gateway can read the record of its account and can judge commands for it, which it cannot if a
    /// service keeps the record of the machine.
    ///
    /// # Errors
    /// A service keeps the record.
    pub fn is_of_an_account(&self) -> Result<(), problem::Problem> {
        match self.account.service {
            Some(_) => Err(problem::Problem::new("not-here", ELSEWHERE)),
            None => Ok(()),
        }
    }

    /// Reads the queue and the tokens, and publishes the changes.
    pub async fn refresh(&self) -> Result<(), BackendError> {
        let now = jiff::Timestamp::now();
        let (all, tokens) = self.backend.run(move |backend| (backend.list(now), backend.memory().tokens())).await?;
        self.valid_tokens.update(&tokens?);
        let mut all = all?;
        all.retain(|pending| self.feed.contains(pending) || !self.names.comes(pending));
        self.feed.update(all, |pending| self.names.of(pending), now);
        Ok(())
    }
}

/// Returns the handlers and the OpenAPI description that is generated from them.
pub fn described() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(submit::submit, lists::list))
        .routes(routes!(submit::batch))
        .routes(routes!(lists::one, submit::cancel))
        .routes(routes!(answers::approve))
        .routes(routes!(answers::deny))
        .routes(routes!(answers::several))
        .routes(routes!(report::report))
        .routes(routes!(events::stream))
        .routes(routes!(events::socket))
        .routes(routes!(lists::healthy))
        .routes(routes!(lists::ready))
        .routes(routes!(lists::status))
        .routes(routes!(channels::test))
        .routes(routes!(channels::press))
        .routes(routes!(reload::reload))
        .routes(routes!(pages::login))
        .routes(routes!(pages::logout))
        .routes(routes!(lists::replies))
        .routes(routes!(record::stats))
        .routes(routes!(record::sessions))
        .routes(routes!(record::resume))
        .routes(routes!(record::trust))
        .routes(routes!(record::search))
        .routes(routes!(record::story))
        .routes(routes!(push::key, push::subscribe))
        .routes(routes!(push::unsubscribe))
        .routes(routes!(passkeys::challenge))
        .routes(routes!(passkeys::begin))
        .routes(routes!(passkeys::wait))
        .routes(routes!(passkeys::enrol))
        .routes(routes!(passkeys::done))
        .split_for_parts();
    Logins.modify(&mut document);
    (router, document)
}

/// Returns the router for everything that is served.
pub fn router(app: Arc<App>) -> Router {
    let (router, document) = described();
    let document = serde_json::to_string(&document).unwrap_or_default();
    let json = [(header::CONTENT_TYPE, "application/json")];
    let set = |name, value| SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value));
    router
        .route("/openapi.json", get(async move || (json, document)))
        .merge(pages::files())
        .fallback(async || problem::Problem::new("not-found", "not found; see /openapi.json"))
        .layer(axum::middleware::from_fn_with_state(app.clone(), access::host))
        .layer(RequestBodyLimitLayer::new(MAX_BODY))
        .layer(axum::middleware::from_fn_with_state(app.clone(), body_timeout::limit_body))
        .layer(CatchPanicLayer::custom(rejection::broken))
        .layer(axum::middleware::map_response(rejection::tell))
        .layer(crate::logging::requests())
        .layer(set(header::CONTENT_SECURITY_POLICY, pages::POLICY))
        .layer(set(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(set(header::X_FRAME_OPTIONS, "DENY"))
        .layer(set(header::REFERRER_POLICY, "no-referrer"))
        .layer(set(header::CACHE_CONTROL, "no-store"))
        .layer(set(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .layer(set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_handler_is_in_the_document_and_every_entry_has_a_handler() {
        let (_, document) = super::described();
        let mut paths: Vec<String> = Vec::new();
        for (path, item) in &document.paths.paths {
            let methods = [("get", &item.get), ("post", &item.post), ("delete", &item.delete), ("put", &item.put)];
            paths.extend(methods.iter().filter(|(_, one)| one.is_some()).map(|(method, _)| format!("{method} {path}")));
        }
        paths.sort();
        assert_eq!(
            paths,
            [
                "delete /v1/requests/{id}",
                "get /healthz",
                "get /readyz",
                "get /v1/events",
                "get /v1/push",
                "get /v1/record",
                "get /v1/replies",
                "get /v1/requests",
                "get /v1/requests/{id}",
                "get /v1/requests/{id}/challenge",
                "get /v1/requests/{id}/story",
                "get /v1/sessions",
                "get /v1/stats",
                "get /v1/status",
                "get /v1/ws",
                "post /v1/channels/press",
                "post /v1/channels/test",
                "post /v1/enrol",
                "post /v1/enrol/done",
                "post /v1/login",
                "post /v1/logout",
                "post /v1/pairings",
                "post /v1/pairings/wait",
                "post /v1/push",
                "post /v1/push/remove",
                "post /v1/reload",
                "post /v1/requests",
                "post /v1/requests/batch",
                "post /v1/requests/decide",
                "post /v1/requests/{id}/approve",
                "post /v1/requests/{id}/deny",
                "post /v1/requests/{id}/result",
                "post /v1/sessions/resume",
                "post /v1/sessions/trust",
            ]
        );
        assert_eq!(document.info.title, "guard-gateway");
        let told = serde_json::to_value(&document).unwrap();
        assert_eq!(told["components"]["securitySchemes"]["token"]["scheme"], "bearer", "{told}");
        assert_eq!(told["components"]["securitySchemes"]["page"]["in"], "cookie");
        assert_eq!(told["security"], serde_json::json!([{ "token": [] }, { "page": [] }]));
        assert!(told["paths"]["/v1/requests"]["post"]["security"].is_null());
        assert_eq!(told["paths"]["/v1/login"]["post"]["security"], serde_json::json!([]));
    }
}
