//! The parts of the API's OpenAPI description that apply to all handlers.
//!
//! Out of scope: the description of a single handler.

use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};

/// The OpenAPI description before the handlers are added.
#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "guard-gateway",
    description = "Submit commands that need a person's approval, watch requests and answer them.",
    license(name = "MIT OR Apache-2.0")
))]
pub struct Document;

/// The paths without authentication: health checks, login and enrolment.
const OPEN: [&str; 5] = ["/healthz", "/readyz", "/v1/login", "/v1/enrol", "/v1/enrol/done"];

/// Adds the authentication schemes to the description.
pub struct Logins;

impl Modify for Logins {
    fn modify(&self, document: &mut OpenApi) {
        let token = "a token from guard token add";
        let token = Http::builder().scheme(HttpAuthScheme::Bearer).description(Some(token)).build();
        let page = "a session of the page; requests that change something also need the header X-Guard";
        let page = ApiKey::Cookie(ApiKeyValue::with_description(super::pages::COOKIE, page));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        components.add_security_scheme("page", SecurityScheme::ApiKey(page));
        let none: [&str; 0] = [];
        document.security = Some(vec![SecurityRequirement::new("token", none), SecurityRequirement::new("page", none)]);
        for (path, item) in &mut document.paths.paths {
            if OPEN.contains(&path.as_str()) {
                let all = [&mut item.get, &mut item.post].into_iter().flatten();
                all.for_each(|operation| operation.security = Some(Vec::new()));
            }
        }
    }
}
