use std::fmt;

/// A share in per cent, kept exactly as two counts.
///
/// The dialects round differently, so the rounding is chosen where it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent {
    done: u64,
    total: u64,
}

impl Percent {
    /// The share of `done` in `total`; nothing of nothing is 0, and never more than everything.
    pub fn of(done: u64, total: u64) -> Percent {
        Percent { done: done.min(total), total }
    }

    /// Rounded down, and 100 only when everything is done (`task`: 10 of 29 is 34).
    pub fn floor(self) -> u64 {
        if self.total == 0 { 0 } else { (u128::from(self.done) * 100 / u128::from(self.total)) as u64 }
    }

    /// In tenths, half up (`plan`: 1 of 16 is 6.3), exactly as `(done / total * 100).toFixed(1)` in JavaScript:
    /// the quotient is a double there, so 0.05 short of a tenth is decided on the double's own value.
    pub fn tenths(self) -> u64 {
        if self.done == 0 {
            return 0;
        }
        let bits = (self.done as f64 / self.total as f64 * 100.0).to_bits();
        let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
        // A share is at most 100, so the binary point is always inside or left of the mantissa.
        let fraction_bits = 1075 - (bits >> 52) as u32;
        if fraction_bits > 100 {
            return 0;
        }
        ((mantissa * 20 + (1 << fraction_bits)) >> (fraction_bits + 1)) as u64
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.tenths();
        if tenths.is_multiple_of(10) {
            write!(f, "{}", tenths / 10)
        } else {
            write!(f, "{}.{}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_each_dialects_own() {
        for (done, total, floor, shown) in [
            (0, 0, 0, "0"),
            (1, 16, 6, "6.3"),
            (5, 19, 26, "26.3"),
            (4, 7, 57, "57.1"),
            (10, 29, 34, "34.5"),
            (1, 3, 33, "33.3"),
            (2, 3, 66, "66.7"),
            (999, 1000, 99, "99.9"),
            (9999, 10_000, 99, "100"),
            (29, 29, 100, "100"),
            (31, 29, 100, "100"),
        ] {
            let percent = Percent::of(done, total);
            assert_eq!((percent.floor(), percent.to_string().as_str()), (floor, shown), "{done} of {total}");
        }
    }
}
