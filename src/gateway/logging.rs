//! The gateway's log on standard error: warnings, and a line for each answered request.
//!
//! Out of scope: queries, headers and bodies, which may contain secrets.

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

/// The reason why log levels cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("log: invalid value {0:?}: expected off, error, warn, info, debug or trace")]
    Levels(String),
    /// The levels can no longer be changed.
    #[error(transparent)]
    Fixed(#[from] reload::Error),
}

/// Parses the log levels of the configuration: a level, or levels by module.
///
/// # Errors
/// Returns an error if the levels are invalid.
pub fn filter(levels: &str) -> Result<Targets, LogError> {
    let wrong = || LogError::Levels(levels.to_owned());
    // A misspelt level would be parsed as the name of a module, and all other modules would be silent.
    let is_level = |part: &str| !part.is_empty() && LevelFilter::from_str(part).is_ok();
    if !levels.split(',').all(|part| part.contains('=') || is_level(part)) {
        return Err(wrong());
    }
    Targets::from_str(levels).map_err(|_| wrong())
}

/// The log, whose levels can be changed at run time.
#[derive(Clone, Debug)]
pub struct Log {
    filter: Option<reload::Handle<Targets, Registry>>,
    /// Whether the environment sets the levels, which override the configuration.
    fixed: bool,
}

impl Log {
    /// Starts logging with these levels. `environment` overrides the configuration.
    ///
    /// # Errors
    /// Returns an error if the levels are invalid.
    pub fn begin(environment: Option<&str>, levels: &str) -> Result<Self, LogError> {
        let fixed = environment.is_some_and(|levels| !levels.is_empty());
        let levels = environment.filter(|_| fixed).unwrap_or(levels);
        let (filter, handle) = reload::Layer::new(filter(levels)?);
        let out = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(false);
        // If another subscriber is already installed, this one is not used.
        let begun = tracing_subscriber::registry().with(filter).with(out).try_init();
        Ok(Self { filter: begun.is_ok().then_some(handle), fixed })
    }

    /// Changes the levels, unless the environment sets them.
    ///
    /// # Errors
    /// Returns an error if the levels are invalid.
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

/// Returns the layer that logs how each request was answered.
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

/// Describes a request by its method and the pattern of its path, without the names in the path.
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
