//! Times as real files hold them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::tz::{Offset, TimeZone};
use piton_model::Time;

/// What stands where a time should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeText {
    /// A moment, written as RFC 3339 says: with a zone, fractions or not.
    At(Time),
    /// A moment in an unusual form, and what is unusual about it.
    Odd(Time, &'static str),
    /// A day, as the moment at which it began. It cannot tell how many minutes ago something was.
    Day(Time),
    /// No time at all.
    Words,
}

impl TimeText {
    /// The moment, when there is one.
    pub fn time(self) -> Option<Time> {
        match self {
            TimeText::At(time) | TimeText::Odd(time, _) | TimeText::Day(time) => Some(time),
            TimeText::Words => None,
        }
    }
}

/// Reads a time. What has no zone is read as UTC.
pub fn read(text: &str) -> TimeText {
    canonical(text.as_bytes()).map(TimeText::At).or_else(|| read_moment(text.trim())).unwrap_or(TimeText::Words)
}

/// Reads `2026-02-20T11:49:00Z`, the form that nearly every time has, without a calendar library: a scan over many
/// documents reads half a dozen of them in each.
fn canonical(text: &[u8]) -> Option<Time> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', h0, h1, b':', n0, n1, b':', s0, s1, b'Z'] = *text else {
        return None;
    };
    let two = |tens: u8, ones: u8| {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
    };
    let (year, month, day) = (two(y0, y1)? * 100 + two(y2, y3)?, two(m0, m1)?, two(d0, d1)?);
    let (hour, minute, second) = (two(h0, h1)?, two(n0, n1)?, two(s0, s1)?);
    // Days up to 28 exist in every month; the rest is left to the library.
    if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Years are counted from March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (month * 153 + 2) / 5 + day - 1;
    const DAYS_TO_1970: i64 = 719_468;
    Some(Time::from_unix_seconds((days - DAYS_TO_1970) * 86_400 + hour * 3600 + minute * 60 + second))
}

fn read_moment(text: &str) -> Option<TimeText> {
    let mut rest = Cursor(text);
    let date = Date::new(rest.number(4)? as i16, rest.dash()?.number(2)? as i8, rest.dash()?.number(2)? as i8).ok()?;
    if rest.0.is_empty() {
        return instant(date.to_datetime(Clock::midnight()), Offset::UTC).map(TimeText::Day);
    }
    let spaced = rest.take(' ');
    if !spaced && !rest.take('T') && !rest.take('t') {
        return None;
    }
    let (hour, minute) = (rest.number(2)?, rest.colon()?.number(2)?);
    let has_seconds = rest.take(':');
    let (second, nanosecond) = if has_seconds { (rest.number(2)?, rest.fraction()?) } else { (0, 0) };
    // A leap second is the last moment of its minute: no clock that agents read shows it.
    let clock = Clock::new(hour as i8, minute as i8, second.min(59) as i8, nanosecond).ok()?;
    let moment = date.to_datetime(clock);
    match (rest.zone()?, spaced, has_seconds) {
        (None, ..) => odd(moment, Offset::UTC, "it has no zone; it is read as UTC"),
        (Some(zone), _, false) => odd(moment, zone, "it has no seconds"),
        (Some(zone), true, _) => odd(moment, zone, "it has a space instead of `T`"),
        (Some(zone), false, true) => Some(TimeText::At(instant(moment, zone)?)),
    }
}

fn odd(moment: DateTime, zone: Offset, why: &'static str) -> Option<TimeText> {
    Some(TimeText::Odd(instant(moment, zone)?, why))
}

fn instant(moment: DateTime, zone: Offset) -> Option<Time> {
    let timestamp: Timestamp = moment.to_zoned(TimeZone::fixed(zone)).ok()?.timestamp();
    Some(Time::from(timestamp))
}

struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn number(&mut self, digits: usize) -> Option<i32> {
        let number = self.0.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.0 = &self.0[digits..];
        number.parse().ok()
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn dash(&mut self) -> Option<&mut Self> {
        self.take('-').then_some(self)
    }

    fn colon(&mut self) -> Option<&mut Self> {
        self.take(':').then_some(self)
    }

    /// Nanoseconds after a dot; digits beyond the ninth are dropped.
    fn fraction(&mut self) -> Option<i32> {
        if !self.take('.') && !self.take(',') {
            return Some(0);
        }
        let length = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let digits = self.0.get(..length.min(9)).filter(|digits| !digits.is_empty())?;
        self.0 = &self.0[length..];
        Some(digits.parse::<i32>().ok()? * 10_i32.pow(9 - digits.len() as u32))
    }

    /// The zone that ends the text, or `Some(None)` when the text ends without one.
    fn zone(&mut self) -> Option<Option<Offset>> {
        let rest = self.0.trim_start();
        if rest.is_empty() {
            return Some(None);
        }
        if ["Z", "z", "UTC", "GMT"].contains(&rest) {
            return Some(Some(Offset::UTC));
        }
        let sign = if rest.starts_with('-') { -1 } else { 1 };
        let mut rest = Cursor(rest.strip_prefix(['+', '-'])?);
        let hours = rest.number(2)?;
        rest.take(':');
        let minutes = if rest.0.is_empty() { 0 } else { rest.number(2)? };
        let in_range = rest.0.is_empty() && hours < 24 && minutes < 60;
        let offset = Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?;
        in_range.then_some(Some(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_real_files_are_read() {
        for (text, want, is_odd) in [
            ("2026-02-20T11:49:00Z", "2026-02-20T11:49:00Z", false),
            ("2026-02-20T11:49:00.123Z", "2026-02-20T11:49:00Z", false),
            ("2026-02-20T11:49:00.1234567+02:00", "2026-02-20T09:49:00Z", false),
            ("2026-02-20T11:49:00.1234567890123Z", "2026-02-20T11:49:00Z", false),
            ("2026-02-20T11:49:00-0530", "2026-02-20T17:19:00Z", false),
            ("2026-02-20t11:49:00z", "2026-02-20T11:49:00Z", false),
            ("2026-02-20T11:49:00", "2026-02-20T11:49:00Z", true),
            ("2026-02-20 11:49:00Z", "2026-02-20T11:49:00Z", true),
            ("2026-02-20 11:49", "2026-02-20T11:49:00Z", true),
            ("2026-02-06 22:10 UTC", "2026-02-06T22:10:00Z", true),
            ("2026-02-20", "2026-02-20T00:00:00Z", true),
            (" 2026-02-20T11:49:00Z ", "2026-02-20T11:49:00Z", false),
            ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59Z", false),
        ] {
            let read = read(text);
            assert_eq!(read.time().map(|time| time.to_string()).as_deref(), Some(want), "{text}");
            assert_eq!(matches!(read, TimeText::Odd(..) | TimeText::Day(_)), is_odd, "{text}");
        }
    }

    #[test]
    fn the_short_way_and_the_calendar_agree() {
        for year in ["0000", "0001", "1600", "1900", "1969", "1970", "1999", "2000", "2024", "2026", "2100", "9999"] {
            for month in 1..=12 {
                for day in [1, 2, 27, 28] {
                    let text = format!("{year}-{month:02}-{day:02}T23:59:58Z");
                    assert_eq!(canonical(text.as_bytes()).map(TimeText::At), read_moment(&text), "{text}");
                }
            }
        }
        for text in [
            "2026-02-29T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2O26-01-01T00:00:00Z",
        ] {
            assert_eq!(read(text), TimeText::Words, "{text}");
        }
    }

    #[test]
    fn words_are_not_times() {
        for text in [
            "",
            "N/A",
            "N/A (paused)",
            "PAUSED",
            "pending",
            "never",
            "2026-02-30",
            "2026-13-01T00:00:00Z",
            "2026-02-20T25:00:00Z",
            "2026-02-20T11:49:00+99:00",
            "2026-02-20T11:49:00Zulu",
            "20260220T114900Z",
            "2026-02-20T11:49:00.Z",
            "١٢٣٤-02-20",
        ] {
            assert_eq!(read(text), TimeText::Words, "{text:?}");
        }
    }
}
