use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// How far two clocks may differ.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// A moment, in whole seconds or finer, always in UTC.
///
/// It prints as RFC 3339 with seconds and `Z`, the one form that Piton writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Timestamp);

impl Time {
    /// The moment that many seconds after 1970 began; out-of-range values are clamped.
    pub fn from_unix_seconds(seconds: i64) -> Time {
        let clamped = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        Time(Timestamp::from_second(clamped).expect("a clamped second is in range"))
    }

    /// Seconds since 1970 began.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// The moment that much later, or the last there is.
    pub fn after(self, span: Duration) -> Time {
        self.0.checked_add(span).map_or(Time(Timestamp::MAX), Time)
    }

    /// How long before `now` this was. A moment in the future has the age zero: an age is never negative.
    pub fn age(self, now: Time) -> Age {
        let nanoseconds = now.0.as_nanosecond() - self.0.as_nanosecond();
        Age(u64::try_from(nanoseconds.max(0)).map_or(Duration::MAX, Duration::from_nanos))
    }

    /// Whether this lies so far in the future of `now` that no clock can have shown it.
    ///
    /// Clocks of two machines differ by seconds; a language model that invents a time is off by hours.
    pub fn is_impossible(self, now: Time) -> bool {
        self.0.as_nanosecond() - now.0.as_nanosecond() > SKEW.as_nanos() as i128
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Time {
        Time(timestamp)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = self.0.to_zoned(jiff::tz::TimeZone::UTC).datetime();
        let (date, time) = (civil.date(), civil.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            date.year(),
            date.month(),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        )
    }
}

/// How long ago something was. It prints short: `45s`, `12m`, `3h`, `3h20m`, `9d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(pub Duration);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        let text = match seconds {
            0..60 => format!("{seconds}s"),
            60..3600 => format!("{minutes}m"),
            3600..36_000 if minutes % 60 != 0 => format!("{hours}h{:02}m", minutes % 60),
            3600..172_800 => format!("{hours}h"),
            _ => format!("{days}d"),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_print_short() {
        for (seconds, want) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (3660, "1h01m"),
            (35_999, "9h59m"),
            (36_060, "10h"),
            (172_799, "47h"),
            (172_800, "2d"),
        ] {
            assert_eq!(Age(Duration::from_secs(seconds)).to_string(), want);
        }
    }

    #[test]
    fn an_age_is_never_negative() {
        let now = Time::from_unix_seconds(1_000);
        assert_eq!(Time::from_unix_seconds(400).age(now).0, Duration::from_secs(600));
        assert_eq!(Time::from_unix_seconds(1_600).age(now).0, Duration::ZERO);
        assert!(Time::from_unix_seconds(1_301).is_impossible(now));
        assert!(!Time::from_unix_seconds(1_300).is_impossible(now));
    }

    #[test]
    fn the_written_form_has_seconds_and_z() {
        assert_eq!(Time::from_unix_seconds(1_771_588_140).to_string(), "2026-02-20T11:49:00Z");
        assert_eq!(Time::from_unix_seconds(i64::MAX).to_string(), "9999-12-30T22:00:00Z");
    }
}
