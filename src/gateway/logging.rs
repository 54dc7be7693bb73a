//! What the gateway says of its own running, on standard error: what it warns of, and a line for each request that it
//! answered.
//!
//! Out of scope: a query, a header or a body, which may hold secrets.

use std::str::FromStr as _;
use std::time::Duration;

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{Request, Response};
use tower_http::classify::{ServerErrorsAsFailures, SharedClassifier};
use tower_http::trace::TraceLayer;
use tracing::Span;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

/// Why messages cannot be chosen.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("log: invalid value {0:?}: expected off, error, warn, info, debug or trace")]
    Levels(String),
    /// Others cannot be chosen any more.
    #[error(transparent)]
    Fixed(#[from] reload::Error),
}

/// Which messages are said, by the words of the configuration: a level, or levels by module.
///
/// # Errors
/// They are none.
pub fn filter(levels: &str) -> Result<Targets, LogError> {
    let wrong = || LogError::Levels(levels.to_owned());
    // A word that is no level would be taken for a module's name, and everything else would not be said.
    let is_level = |part: &str| !part.is_empty() && LevelFilter::from_str(part).is_ok();
    if !levels.split(',').all(|part| part.contains('=') || is_level(part)) {
        return Err(wrong());
    }
    Targets::from_str(levels).map_err(|_| wrong())
}

/// What is said, which can be changed while it is.
#[derive(Clone, Debug)]
pub struct Log {
    filter: Option<reload::Handle<Targets, Registry>>,
    /// The levels of the environment, which hold whatever the configuration says.
    fixed: bool,
}

impl Log {
    /// Begins to say what these levels let through. `environment` goes before the configuration.
    ///
    /// # Errors
    /// The levels are none.
    pub fn begin(environment: Option<&str>, levels: &str) -> Result<Self, LogError> {
        let fixed = environment.is_some_and(|levels| !levels.is_empty());
        let levels = environment.filter(|_| fixed).unwrap_or(levels);
        let (filter, handle) = reload::Layer::new(filter(levels)?);
        let out = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(false);
        // Where something else is told already, this says nothing.
        let begun = tracing_subscriber::registry().with(filter).with(out).try_init();
        Ok(Self { filter: begun.is_ok().then_some(handle), fixed })
    }

    /// Goes on with other levels, where the environment has not set them.
    ///
    /// # Errors
    /// The levels are none.
    pub fn change(&self, levels: &str) -> Result<(), LogError> {
        let filter = filter(levels)?;
        if let Some(handle) = self.filter.as_ref().filter(|_| !self.fixed) {
            handle.reload(filter)?;
        }
        Ok(())
    }
}

type OfRequest = fn(&Request<Body>) -> Span;
type OfResponse = fn(&Response<Body>, Duration, &Span);
type Layer = TraceLayer<SharedClassifier<ServerErrorsAsFailures>, OfRequest, (), OfResponse, (), (), ()>;

/// Says of each request how it was answered.
#[must_use]
pub fn requests() -> Layer {
    TraceLayer::new_for_http()
        .make_span_with(span as OfRequest)
        .on_request(())
        .on_response(answered as OfResponse)
        .on_body_chunk(())
        .on_eos(())
        .on_failure(())
}

/// The request by its method and the pattern of its path: names in the path are not said, and nothing else of it.
fn span(request: &Request<Body>) -> Span {
    let path = request.extensions().get::<MatchedPath>().map_or("(unknown)", MatchedPath::as_str);
    tracing::info_span!("request", method = %request.method(), path)
}

fn answered(response: &Response<Body>, took: Duration, _: &Span) {
    let (status, ms) = (response.status().as_u16(), u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    if response.status().is_server_error() {
        tracing::error!(status, ms, "answered");
    } else {
        tracing::info!(status, ms, "answered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_they_are_written() {
        for fine in ["off", "warn", "info", "guard_gateway=debug", "warn,guard_gateway::channel=trace"] {
            assert!(filter(fine).is_ok(), "{fine}");
        }
        for odd in ["", "loud", "guard_gateway=loud", "warn,=x=y", "warn,"] {
            assert!(filter(odd).is_err_and(|why| why.to_string().contains(odd)), "{odd}");
        }
    }
}
