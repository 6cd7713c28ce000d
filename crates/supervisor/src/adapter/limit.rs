//! What an error of a service means: something that passes, or something that a person has to settle.

use jiff::Timestamp;
use serde_json::Value;

use super::shorten;

/// Something that a worker cannot get on against, and that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whom it concerns.
    pub scope: LimitScope,
    /// When it ends, in seconds since 1970; nothing when that was not said.
    pub resets_at: Option<i64>,
    /// The words in which it was reported, shortened.
    pub message: String,
}

/// Whom a limit concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitScope {
    /// The account: all workers of this kind run into it.
    Account,
    /// The service, for now: too many requests, overloaded, or not reachable.
    Service,
    /// This worker alone.
    Worker,
}

/// What keeps a worker waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitCause {
    /// The account's allowance is used up.
    Usage,
    /// Too many requests within a short time.
    Rate,
    /// The service answers that it cannot serve now.
    Overloaded,
    /// The service was not reached.
    Unreachable,
    /// The worker said so itself.
    Worker,
}

impl LimitCause {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            LimitCause::Usage => "a usage limit is reached",
            LimitCause::Rate => "its API limits the rate of requests",
            LimitCause::Overloaded => "its API is overloaded",
            LimitCause::Unreachable => "its API cannot be reached",
            LimitCause::Worker => "its worker reports a limit",
        }
    }
}

/// What an error means for the worker that met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It passes: wait.
    Passing(Limit),
    /// The client is not logged in.
    LoggedOut,
    /// The account has no credit, or its plan does not include the client.
    NotPaid,
}

impl Limit {
    pub(super) fn new(scope: LimitScope, resets_at: Option<i64>, message: &str) -> Limit {
        Limit { scope, resets_at, message: shorten(message) }
    }

    /// What it is, by its scope and the words in which it was reported.
    pub fn cause(&self) -> LimitCause {
        let lower = self.message.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        match self.scope {
            LimitScope::Account => LimitCause::Usage,
            LimitScope::Worker => LimitCause::Worker,
            LimitScope::Service if has(&RATE) => LimitCause::Rate,
            LimitScope::Service if has(&UNREACHABLE) => LimitCause::Unreachable,
            LimitScope::Service => LimitCause::Overloaded,
        }
    }
}

impl Trouble {
    /// From the HTTP status and the words of an error; nothing when neither waiting nor a person's account helps. Where
    /// no status is given, the words may hold it: `unexpected status 401`, `last status: 429`.
    pub(super) fn of(status: Option<i64>, message: &str) -> Option<Trouble> {
        let lower = message.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
        let scope = match status.or_else(|| status_in(&lower)) {
            // Before all else: such a message may also advise to upgrade.
            _ if is_usage_limit(&lower) => LimitScope::Account,
            _ if has(&NOT_PAID) => return Some(Trouble::NotPaid),
            Some(401) => return Some(Trouble::LoggedOut),
            _ if has(&LOGGED_OUT) => return Some(Trouble::LoggedOut),
            Some(429 | 500..=599) => LimitScope::Service,
            _ if has(&BUSY) => LimitScope::Service,
            _ => return None,
        };
        Some(Trouble::Passing(Limit::new(scope, time_in(message), message)))
    }

    /// The limit, where it passes.
    pub(super) fn limit(self) -> Option<Limit> {
        match self {
            Trouble::Passing(limit) => Some(limit),
            Trouble::LoggedOut | Trouble::NotPaid => None,
        }
    }
}

/// A person has to pay, or to choose another plan.
const NOT_PAID: [&str; 6] = [
    "insufficient_quota",
    "quota exceeded",
    "plan and billing",
    "credit balance is too low",
    "billing_error",
    "with your chatgpt plan, upgrade",
];

const LOGGED_OUT: [&str; 6] = [
    "not logged in",
    "please run /login",
    "invalid api key",
    "authentication_error",
    "authentication_failed",
    "failed to authenticate",
];

/// The service is busy or was not reached, in the words of clients that give no status.
const BUSY: [&str; 9] = [
    "too many requests",
    "rate limit",
    "rate_limit_exceeded",
    "overloaded",
    "high demand",
    "at capacity",
    "stream disconnected",
    "error sending request",
    "connection refused",
];

/// Too many requests, in the words of clients and services.
const RATE: [&str; 6] = ["429", "too many requests", "rate limit", "rate_limit", "ratelimit", "throttl"];

/// The service was not reached, in the words of clients and of the system.
const UNREACHABLE: [&str; 16] = [
    "stream disconnected",
    "error sending request",
    "connection refused",
    "connection error",
    "connection reset",
    "unable to connect",
    "could not connect",
    "econnrefused",
    "econnreset",
    "enotfound",
    "etimedout",
    "eai_again",
    "network",
    "fetch failed",
    "timed out",
    // A client that retries, and got no status.
    "status ?",
];

/// An HTTP status in words: `status 503`, `last status: 429`.
fn status_in(lower: &str) -> Option<i64> {
    let (_, rest) = lower.split_once("status")?;
    let rest = rest.trim_start_matches([':', ' ', '(']);
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

/// A moment in seconds since 1970, as a number or as text; nothing when it is neither.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds.ceil() as i64)),
        Value::String(text) => {
            let parsed = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
            parsed.or_else(|| text.parse().ok())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    // Seconds, and not milliseconds. How far away it may be is bounded where it is waited for.
    .filter(|seconds| (0..=9_999_999_999).contains(seconds))
}

/// Whether these are the words for a used-up allowance, and not for a busy moment.
fn is_usage_limit(lower: &str) -> bool {
    let phrases = ["usage limit", "hit your", "limit reached", "extra usage", "spend limit", "account's rate limit"];
    let is_limit = lower.contains("limit") && phrases.iter().any(|phrase| lower.contains(phrase));
    // The rate of requests and tokens has a limit of its own, which is over within minutes.
    let is_rate = lower.contains("rate limit reached") || lower.contains("rate limit exceeded");
    (is_limit && !is_rate) || lower.contains("out of usage credits")
}

/// The moment that older clients write after a bar: `usage limit reached|1788879437`.
fn time_in(message: &str) -> Option<i64> {
    let (_, rest) = message.split_once('|')?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    moment(&Value::from(digits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn waits_are_called_what_they_are() {
        for (scope, message, want) in [
            (LimitScope::Account, "You've hit your session limit", LimitCause::Usage),
            (LimitScope::Service, "API Error: Unable to connect to API (ECONNREFUSED)", LimitCause::Unreachable),
            (LimitScope::Service, "unknown (status ?), attempt 3 of 10", LimitCause::Unreachable),
            (LimitScope::Service, "Connection error.", LimitCause::Unreachable),
            (
                LimitScope::Service,
                "stream disconnected before completion: error sending request",
                LimitCause::Unreachable,
            ),
            (LimitScope::Service, "overloaded_error (status 529), attempt 1 of 10", LimitCause::Overloaded),
            (LimitScope::Service, "unexpected status 503 Service Unavailable", LimitCause::Overloaded),
            (LimitScope::Service, "exceeded retry limit, last status: 429 Too Many Requests", LimitCause::Rate),
            (LimitScope::Service, "This request would exceed your account's rate limit", LimitCause::Rate),
            (LimitScope::Worker, "exit code 75", LimitCause::Worker),
        ] {
            assert_eq!(Limit::new(scope, None, message).cause(), want, "{message}");
        }
    }

    #[test]
    fn errors_pass_or_need_a_person_or_neither() {
        let passing = |scope, resets_at| Some((Some((scope, resets_at)), false));
        let account = passing(LimitScope::Account, None);
        let service = passing(LimitScope::Service, None);
        let logged_out = Some((None, false));
        let not_paid = Some((None, true));
        for (status, message, want) in [
            (Some(429), "You've hit your limit · resets 2pm (Asia/Shanghai)", account),
            (None, "Claude AI usage limit reached|1788879437", passing(LimitScope::Account, Some(1_788_879_437))),
            (None, "You’ve hit your usage limit. Upgrade to Pro, or try again at 3:05 PM.", account),
            (Some(429), "You're out of usage credits", account),
            (Some(429), "API Error: too many requests", service),
            (Some(529), "API Error: overloaded", service),
            (Some(500), "API Error: internal", service),
            (None, "exceeded retry limit, last status: 429 Too Many Requests, request id: 7", service),
            (None, "We’re currently experiencing high demand, which may cause temporary errors.", service),
            (None, "Selected model is at capacity. Please try a different model.", service),
            (None, "rate limit exceeded: Rate limit reached for the model. Please try again in 1.5s.", service),
            (None, "stream disconnected before completion: closed", service),
            (None, "unexpected status 503 Service Unavailable", service),
            (None, "Quota exceeded. Check your plan and billing details.", not_paid),
            (None, "To use Codex with your ChatGPT plan, upgrade to Plus: the page", not_paid),
            (Some(400), "Credit balance is too low", not_paid),
            (None, "unexpected status 401 Unauthorized: no key", logged_out),
            (None, "Not logged in · Please run /login", logged_out),
            (Some(401), "Invalid API key · Fix external API key", logged_out),
            (Some(400), "API Error: bad request", None),
            (None, "unexpected status 400 Bad Request", None),
            (None, "Codex ran out of room in the model's context window.", None),
            (None, "Reached maximum number of turns (2)", None),
            (None, "you hit your head", None),
            (None, "the status 42", None),
            (None, "status", None),
        ] {
            let found = Trouble::of(status, message).map(|trouble| {
                let is_unpaid = trouble == Trouble::NotPaid;
                (trouble.limit().map(|limit| (limit.scope, limit.resets_at)), is_unpaid)
            });
            assert_eq!(found, want, "{message}");
        }
    }

    #[test]
    fn moments_are_read_in_every_form_that_is_used() {
        for (value, want) in [
            (json!(1_788_879_437), Some(1_788_879_437)),
            (json!(1_788_879_437.5), Some(1_788_879_438)),
            (json!("2026-11-16T03:15:00Z"), Some(1_794_798_900)),
            (json!("2026-11-16T04:15:00+01:00"), Some(1_794_798_900)),
            (json!("1788879437"), Some(1_788_879_437)),
            (json!(1_788_879_437_000_i64), None),
            (json!(-1), None),
            (json!("soon"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(moment(&value), want, "{value}");
        }
    }
}
