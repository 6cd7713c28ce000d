//! When a limit is over, where that is only said in words.

use std::time::SystemTime;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// What stands before such words.
const BEFORE: [&str; 5] = ["resets at ", "resets in ", "resets ", "try again at ", "try again in "];

/// No limit lasts longer; a time beyond that was misunderstood.
const LONGEST: i64 = 40 * 24 * 3600;

/// A time of day that is cut to the minute is over at the end of that minute.
const MINUTE: i64 = 60;

/// A time of day that is past by less was named just before it came; it is not the one of tomorrow.
const JUST_PAST: i64 = 10 * MINUTE;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The moment that a message names, in seconds since 1970: a time of day, with a date or as the next one after it was
/// said, in the zone that stands in parentheses or the machine's own; or a time from then. It may be past by a few
/// minutes. Nothing when there is none.
pub(super) fn in_words(message: &str, said_at: SystemTime) -> Option<i64> {
    moment(message, Timestamp::try_from(said_at).ok()?, TimeZone::system())
}

fn moment(message: &str, said_at: Timestamp, local: TimeZone) -> Option<i64> {
    let lower = message.to_lowercase();
    let (before, at) = BEFORE.into_iter().find_map(|before| Some((before, lower.find(before)?)))?;
    let rest = &lower[at + before.len()..];
    let resets_at = match before.ends_with(" in ") {
        true => said_at.as_second().checked_add(duration(rest)?)?,
        false => clock(rest, message, said_at, local)?,
    };
    (-JUST_PAST..=LONGEST).contains(&resets_at.saturating_sub(said_at.as_second())).then_some(resets_at)
}

/// `3 days 2 hours 5 minutes`, `1.5s`, `250ms`, `1h2m3.5s`; in whole seconds, rounded up.
fn duration(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut milliseconds: Option<f64> = None;
    loop {
        let start = rest.trim_start_matches([' ', ',']);
        let digits = start.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(start.len());
        let Ok(number) = start[..digits].trim_end_matches('.').parse::<f64>() else { break };
        let unit = start[digits..].trim_start();
        let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let factor = match &unit[..letters] {
            "ms" => 1.0,
            word if word == "s" || word.starts_with("sec") => 1e3,
            word if word == "m" || word.starts_with("min") => 60e3,
            word if word == "h" || word.starts_with("hour") => 3600e3,
            word if word == "d" || word.starts_with("day") => 86_400e3,
            _ => break,
        };
        milliseconds = Some(milliseconds.unwrap_or(0.0) + number * factor);
        rest = &unit[letters..];
    }
    let seconds = (milliseconds? / 1e3).ceil();
    (seconds <= LONGEST as f64).then_some(seconds as i64)
}

/// `2pm (Asia/Shanghai)`, `3:05 PM`, `Nov 20th, 2026 3:05 PM`, `Nov 20 at 4am`.
fn clock(text: &str, message: &str, said_at: Timestamp, local: TimeZone) -> Option<i64> {
    let zone = message.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(name, _)| name);
    let zone = zone.and_then(|name| TimeZone::get(name).ok()).unwrap_or(local);
    let now = said_at.to_zoned(zone);
    let mut words = words(text).filter(|word| *word != "at").peekable();
    let month = words.peek().and_then(|word| month(word));
    let date = match month {
        Some(month) => {
            words.next();
            let day = words.next()?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
            let year = words.next_if(|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()));
            let year = year.and_then(|year| year.parse().ok()).unwrap_or(now.year());
            Some(Date::new(year, month, day).ok()?)
        }
        None => None,
    };
    let time = time_of_day(words.next()?, words.next())?;
    next(&now, date, time)
}

/// The end of the minute of a date and a time, or of the next such time.
fn next(now: &Zoned, date: Option<Date>, time: Time) -> Option<i64> {
    let at = |date: Date| {
        let begun = date.to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
        Some(begun.timestamp().as_second().saturating_add(MINUTE))
    };
    let first = at(date.unwrap_or(now.date()))?;
    let is_over = first.saturating_add(JUST_PAST) < now.timestamp().as_second();
    match (is_over, date) {
        (false, _) => Some(first),
        (true, None) => at(now.date().tomorrow().ok()?),
        // A year that was not said: in January about December, never the other way round.
        (true, Some(date)) => at(date.checked_add(Span::new().years(1)).ok()?),
    }
}

/// `2pm`, `3:05` and then `pm`, `15:05`.
fn time_of_day(word: &str, next: Option<&str>) -> Option<Time> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let half = [&word[digits.len()..], next.unwrap_or_default()].into_iter().find(|half| ["am", "pm"].contains(half));
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some("am") if (1..=12).contains(&hour) => hour % 12,
        Some("pm") if (1..=12).contains(&hour) => hour % 12 + 12,
        None if digits.contains(':') => hour,
        _ => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn month(word: &str) -> Option<i8> {
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    i8::try_from(at + 1).ok()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ",.()".contains(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a message says at 2026-11-16T03:15:10Z, on a machine that is an hour ahead.
    fn said(message: &str) -> Option<String> {
        let said_at = "2026-11-16T03:15:10Z".parse().expect("it is a time");
        let local = TimeZone::fixed(jiff::tz::offset(1));
        let seconds = moment(message, said_at, local)?;
        Some(Timestamp::from_second(seconds).expect("it is a time").to_string())
    }

    #[test]
    fn the_words_of_all_clients_are_understood() {
        for (message, want) in [
            ("You've hit your limit · resets 4am (UTC)", "2026-11-16T04:01:00Z"),
            ("You've hit your limit · resets 3am (UTC)", "2026-11-17T03:01:00Z"),
            ("You've hit your limit · resets 12am (UTC)", "2026-11-17T00:01:00Z"),
            ("You've hit your limit · resets 12:30pm (UTC)", "2026-11-16T12:31:00Z"),
            ("You've hit your weekly limit · resets Nov 20, 4am (UTC)", "2026-11-20T04:01:00Z"),
            ("5-hour limit reached · resets at 14:30 (UTC)", "2026-11-16T14:31:00Z"),
            ("limit · resets Nov 20 at 4pm (UTC)", "2026-11-20T16:01:00Z"),
            ("You’ve hit your usage limit. Try again at 3:05 PM.", "2026-11-16T14:06:00Z"),
            ("You’ve hit your usage limit. Try again at Nov 20th, 2026 3:05 PM.", "2026-11-20T14:06:00Z"),
            ("usage limit. Try again in 3 days 2 hours 5 minutes.", "2026-11-19T05:20:10Z"),
            ("usage limit. Try again in 45 minutes", "2026-11-16T04:00:10Z"),
            ("rate limit reached. Please try again in 1.5s. Visit the page.", "2026-11-16T03:15:12Z"),
            ("rate limit reached. Please try again in 250ms.", "2026-11-16T03:15:11Z"),
            ("rate limit reached. Please try again in 6m0s.", "2026-11-16T03:21:10Z"),
            ("rate limit reached. Please try again in 1h2m3.5s.", "2026-11-16T04:17:14Z"),
        ] {
            assert_eq!(said(message).as_deref(), Some(want), "{message}");
        }
    }

    #[test]
    fn a_time_that_is_cut_to_the_minute_and_just_past_is_not_tomorrow() {
        for (message, want) in [
            // The local time is 4:15:10.
            ("try again at 4:15 AM.", "2026-11-16T03:16:00Z"),
            ("try again at 4:14 AM.", "2026-11-16T03:15:00Z"),
            ("try again at 4:06 AM.", "2026-11-16T03:07:00Z"),
            ("try again at 4:04 AM.", "2026-11-17T03:05:00Z"),
            ("try again at 4:16 AM.", "2026-11-16T03:17:00Z"),
        ] {
            assert_eq!(said(message).as_deref(), Some(want), "{message}");
        }
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        for message in [
            "",
            "usage limit reached",
            "try again later",
            "try again at noon",
            "resets 13pm (UTC)",
            "resets 25:00",
            "resets Feb 30, 4am",
            "resets Mar 1, 4am",
            "try again in 99999999999999999999 days",
            "try again in 9223372036854775807 days",
            "try again in 9223372036854775807 seconds 1 second",
            "try again in 9223372036854775807 seconds",
            "try again in 400 days",
            "try again in .",
            "try again in 5 parsecs",
            "resets 7",
            "resets Nov",
        ] {
            assert_eq!(said(message), None, "{message}");
        }
    }

    #[test]
    fn a_year_that_was_not_said_is_the_next_one() {
        let said_at = "2026-12-30T12:00:00Z".parse().expect("it is a time");
        let found = moment("resets Jan 2, 4am (UTC)", said_at, TimeZone::UTC);
        assert_eq!(found, Some("2027-01-02T04:01:00Z".parse::<Timestamp>().expect("it is a time").as_second()));
    }
}
