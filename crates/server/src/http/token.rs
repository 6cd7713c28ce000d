//! The secret that every request shows.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

/// How many characters a token has at least.
pub const SHORTEST: usize = 24;

/// A token, as far as it has to be known to recognise it.
#[derive(Debug)]
pub struct Token {
    digest: [u8; 32],
}

impl Token {
    /// Remembers a token.
    pub fn of(token: &str) -> Token {
        Token { digest: Sha256::digest(token).into() }
    }

    /// Whether this is the token. How long it takes tells nothing: digests are compared, and whoever guesses cannot
    /// choose how the digest of a guess begins.
    pub fn is(&self, shown: &str) -> bool {
        let shown: [u8; 32] = Sha256::digest(shown).into();
        self.digest.iter().zip(shown).fold(0, |different, (a, b)| different | (a ^ b)) == 0
    }
}

/// A new token, from the system's random numbers.
pub fn fresh() -> io::Result<String> {
    let mut bytes = [0; 32];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled != bytes.len() {
        return Err(io::Error::other("the system gave too few random numbers"));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a token of the user's own is long enough, and fits into a header.
pub fn is_strong(token: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    token.len() >= SHORTEST && token.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_recognised_and_no_other() {
        let token = fresh().expect("random numbers");
        assert!(is_strong(&token));
        let known = Token::of(&token);
        assert!(known.is(&token));
        for other in ["", &token[1..], &format!("{token}0"), &fresh().expect("random numbers")] {
            assert!(!known.is(other));
        }
    }
}
