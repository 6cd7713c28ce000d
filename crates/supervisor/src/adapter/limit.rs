//! Usage limits and overload, as workers report them.

use jiff::Timestamp;
use serde_json::Value;

use super::shorten;

/// Something that a worker cannot get on against, and that passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Whom it concerns.
    pub scope: LimitScope,
    /// When it is over, in seconds since 1970; nothing when that was not said.
    pub resets_at: Option<i64>,
    /// The words in which it was reported, shortened.
    pub message: String,
}

/// Whom a limit concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitScope {
    /// The account: all workers of this kind run into it.
    Account,
    /// The service, for now: too many requests, or overloaded.
    Service,
    /// This worker alone.
    Worker,
}

impl Limit {
    pub(super) fn new(scope: LimitScope, resets_at: Option<i64>, message: &str) -> Limit {
        Limit { scope, resets_at, message: shorten(message) }
    }

    /// What an error of a service means, from its HTTP status and its words; nothing when waiting does not help.
    pub(super) fn of_error(status: Option<i64>, message: &str) -> Option<Limit> {
        let scope = match status {
            _ if is_usage_limit(message) => LimitScope::Account,
            Some(429 | 500..=599) => LimitScope::Service,
            _ => return None,
        };
        Some(Limit::new(scope, time_in(message), message))
    }
}

/// A moment in seconds since 1970, as a number or as text; nothing when it is neither.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64)),
        Value::String(text) => {
            let parsed = text.parse::<Timestamp>().ok().map(Timestamp::as_second);
            parsed.or_else(|| text.parse().ok())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    // Seconds, and not milliseconds: a moment that a person may live to see.
    .filter(|seconds| (0..=9_999_999_999).contains(seconds))
}

/// Whether these are the words for a used-up allowance, and not for a busy moment.
fn is_usage_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    let phrases = ["usage limit", "hit your", "limit reached", "extra usage", "spend limit", "account's rate limit"];
    let is_limit = message.contains("limit") && phrases.iter().any(|phrase| message.contains(phrase));
    is_limit || message.contains("out of usage credits")
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
    fn a_used_up_allowance_is_told_from_a_busy_service() {
        for (status, message, want) in [
            (Some(429), "You've hit your limit · resets 2pm (Asia/Shanghai)", Some((LimitScope::Account, None))),
            (None, "Claude AI usage limit reached|1788879437", Some((LimitScope::Account, Some(1_788_879_437)))),
            (None, "You’ve hit your usage limit. Try again at 3:05 PM.", Some((LimitScope::Account, None))),
            (Some(429), "You're out of usage credits", Some((LimitScope::Account, None))),
            (Some(429), "API Error: too many requests", Some((LimitScope::Service, None))),
            (Some(529), "API Error: overloaded", Some((LimitScope::Service, None))),
            (Some(500), "API Error: internal", Some((LimitScope::Service, None))),
            (Some(400), "API Error: bad request", None),
            (None, "Reached maximum number of turns (2)", None),
            (None, "you hit your head", None),
        ] {
            let found = Limit::of_error(status, message).map(|limit| (limit.scope, limit.resets_at));
            assert_eq!(found, want, "{message}");
        }
    }

    #[test]
    fn moments_are_read_in_every_form_that_is_used() {
        for (value, want) in [
            (json!(1_788_879_437), Some(1_788_879_437)),
            (json!(1_788_879_437.5), Some(1_788_879_437)),
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
