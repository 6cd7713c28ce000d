//! What workers cost.

/// What a session cost up to now, as its client says: all processes of the session together that ended in order. What is
/// not known is nothing, and not zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// US dollars, where the client knows prices.
    pub usd: Option<f64>,
    /// Tokens, where the client counts them.
    pub tokens: Option<Tokens>,
}

/// Tokens of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Sent, those from a cache included.
    pub input: u64,
    /// Received.
    pub output: u64,
}

impl Spent {
    /// What one process of a session cost: what the session has cost now, less what it had cost before. Clients count
    /// over the whole session, so a resumed one begins where the last process ended.
    ///
    /// A sum that is smaller than before was begun anew; then it is all of this process's.
    pub fn beyond(&self, before: &Spent) -> Spent {
        let usd = self.usd.map(|now| match before.usd {
            Some(before) if before <= now => now - before,
            Some(_) | None => now,
        });
        let tokens = self.tokens.map(|now| match before.tokens {
            Some(before) if before.input <= now.input && before.output <= now.output => {
                Tokens { input: now.input - before.input, output: now.output - before.output }
            }
            Some(_) | None => now,
        });
        Spent { usd, tokens }
    }

    /// Both together. Where one of them is not known, the sum is what is known of it.
    pub fn and(&self, other: &Spent) -> Spent {
        let usd = match (self.usd, other.usd) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        let tokens = match (self.tokens, other.tokens) {
            (Some(one), Some(other)) => {
                Some(Tokens { input: one.input + other.input, output: one.output + other.output })
            }
            (one, other) => one.or(other),
        };
        Spent { usd, tokens }
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Spent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(usd: f64) -> Spent {
        Spent { usd: Some(usd), tokens: None }
    }

    #[test]
    fn a_process_costs_what_its_session_costs_beyond_before() {
        let nothing = Spent::default();
        for (now, before, want) in [
            (usd(0.4), nothing, usd(0.4)),
            (usd(0.75), usd(0.25), usd(0.5)),
            // Begun anew, as after a reset of the conversation.
            (usd(0.25), usd(0.75), usd(0.25)),
            (nothing, usd(0.5), nothing),
        ] {
            assert_eq!(now.beyond(&before), want, "{now:?} after {before:?}");
        }
        let tokens = |input, output| Spent { usd: None, tokens: Some(Tokens { input, output }) };
        assert_eq!(tokens(30, 5).beyond(&tokens(10, 4)), tokens(20, 1));
        assert_eq!(tokens(30, 5).beyond(&tokens(10, 9)), tokens(30, 5));
    }

    #[test]
    fn unknown_is_not_nothing() {
        let known = usd(0.5).and(&Spent::default());
        assert_eq!(known, usd(0.5));
        assert!(Spent::default().and(&Spent::default()).is_unknown());
        assert!(!usd(0.0).is_unknown(), "it cost nothing, and that is known");
    }
}
