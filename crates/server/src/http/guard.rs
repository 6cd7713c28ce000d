//! Who may ask. A pure function of the head of a request.

use std::net::SocketAddr;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Uri};

use super::token::Token;

/// The one path that is served.
pub const PATH: &str = "/mcp";

/// The revision from which on there are no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// What a request has to say to be let in.
#[derive(Debug)]
pub struct Guard {
    /// How this server may be called.
    hosts: Vec<String>,
    token: Token,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// It means somebody else, or does not say whom: a name of a stranger may lead here.
    ForeignHost,
    /// A page of somebody else made a browser send it.
    ForeignOrigin,
    /// It shows no token, or another one.
    NoToken,
    /// There is nothing at that path.
    NoSuchPath,
    /// Nothing is done in that way.
    NoSuchMethod,
    /// Its body is not JSON. A form can be sent by any page.
    NotJson,
    /// There are too many sessions.
    Full,
    /// Its body is too large.
    TooLarge,
    /// Its body does not come.
    TooSlow,
    /// Its body breaks off.
    Broken,
}

/// What a request that is let in asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// Whether it may begin a session.
    pub may_begin_session: bool,
}

impl Denied {
    /// The status of the answer.
    pub fn status(self) -> u16 {
        match self {
            Denied::ForeignHost | Denied::ForeignOrigin => 403,
            Denied::NoToken => 401,
            Denied::NoSuchPath => 404,
            Denied::NoSuchMethod => 405,
            Denied::NotJson => 415,
            Denied::Full => 503,
            Denied::TooLarge => 413,
            Denied::TooSlow => 408,
            Denied::Broken => 400,
        }
    }

    /// The answer. It tells nothing that the asker does not know.
    pub fn words(self) -> &'static str {
        match self {
            Denied::ForeignHost => "this server answers only to its own address",
            Denied::ForeignOrigin => "requests of other pages are not served",
            Denied::NoToken => "send the token: `Authorization: Bearer TOKEN`",
            Denied::NoSuchPath => "the server is at /mcp",
            Denied::NoSuchMethod => "use GET, POST or DELETE",
            Denied::NotJson => "send application/json",
            Denied::Full => "too many sessions; end one, or come back in a few minutes",
            Denied::TooLarge => "too much at once: write what is large into a file, and record where that is",
            Denied::TooSlow => "the body of the request did not come",
            Denied::Broken => "the body of the request broke off",
        }
    }
}

impl Guard {
    /// The guard of a server at that address.
    pub fn new(address: SocketAddr, token: Token) -> Guard {
        let port = address.port();
        Guard { hosts: vec![address.to_string(), format!("localhost:{port}")], token }
    }

    /// How the server may be called.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }

    /// The pages whose requests are served: those of the server itself, which has none.
    pub fn origins(&self) -> Vec<String> {
        self.hosts.iter().map(|host| format!("http://{host}")).collect()
    }

    /// Judges a request by its head. Where it comes from is asked first, so that a stranger learns nothing else.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Asks, Denied> {
        let host = only(headers, &HOST).ok().flatten();
        let is_host = |name: &str| self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
        let is_same = uri.authority().is_none_or(|named| is_host(named.as_str()));
        if !(host.is_some_and(is_host) && is_same) {
            return Err(Denied::ForeignHost);
        }
        match only(headers, &ORIGIN) {
            Ok(None) => {}
            Ok(Some(origin)) if self.origins().iter().any(|own| own.eq_ignore_ascii_case(origin)) => {}
            Ok(Some(_)) | Err(()) => return Err(Denied::ForeignOrigin),
        }
        let shown = only(headers, &AUTHORIZATION).ok().flatten().and_then(|value| value.split_once(' '));
        if !shown.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && self.token.is(token)) {
            return Err(Denied::NoToken);
        }
        if uri.path() != PATH {
            return Err(Denied::NoSuchPath);
        }
        match *method {
            Method::GET | Method::DELETE => Ok(Asks { may_begin_session: false }),
            Method::POST if !is_json(headers) => Err(Denied::NotJson),
            Method::POST => Ok(Asks { may_begin_session: is_before_sessions(headers) }),
            _ => Err(Denied::NoSuchMethod),
        }
    }
}

/// The value of a header; an error when there are several, or it is not plain text.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| ())).transpose()?;
    if values.next().is_some() { Err(()) } else { Ok(first) }
}

fn is_json(headers: &HeaderMap) -> bool {
    let form = only(headers, &CONTENT_TYPE).ok().flatten().unwrap_or_default();
    form.split(';').next().is_some_and(|form| form.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether the client has no session yet and is of a revision that has them.
fn is_before_sessions(headers: &HeaderMap) -> bool {
    let revision = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
    headers.get("mcp-session-id").is_none() && revision.is_none_or(|revision| revision < WITHOUT_SESSIONS)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    /// Changes to a request that is let in: a header's value, or none.
    fn judge(method: &Method, uri: &str, changes: &[(&'static str, &[&str])]) -> Result<Asks, Denied> {
        let guard = Guard::new("127.0.0.1:8931".parse().expect("an address"), Token::of(TOKEN));
        let mut headers = HeaderMap::new();
        let bearer = format!("Bearer {TOKEN}");
        for (name, value) in
            [("host", "127.0.0.1:8931"), ("authorization", &bearer), ("content-type", "application/json")]
        {
            headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        for (name, values) in changes {
            headers.remove(*name);
            for value in *values {
                headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
            }
        }
        guard.judge(method, &uri.parse().expect("a path"), &headers)
    }

    #[test]
    fn a_request_is_let_in_when_all_of_its_head_is_right() {
        let begins = Ok(Asks { may_begin_session: true });
        let goes_on = Ok(Asks { may_begin_session: false });
        let get = judge(&Method::GET, "/mcp", &[]);
        assert_eq!(get, goes_on);
        for (changes, want) in [
            (&[][..], begins),
            (&[("host", &["localhost:8931"][..])], begins),
            (&[("host", &["LOCALHOST:8931"])], begins),
            (&[("origin", &["http://127.0.0.1:8931"])], begins),
            (&[("content-type", &["application/json; charset=utf-8"])], begins),
            (&[("mcp-session-id", &["x"])], goes_on),
            (&[("mcp-protocol-version", &["2026-07-28"])], goes_on),
            (&[("mcp-protocol-version", &["2025-11-25"])], begins),
            (&[("host", &["127.0.0.1"])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1:80"])], Err(Denied::ForeignHost)),
            (&[("host", &["evil.example:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1:8931.evil.example"])], Err(Denied::ForeignHost)),
            (&[("host", &["[::1]:8931"])], Err(Denied::ForeignHost)),
            // Other names of this machine, and of nobody: a page can be made to use them.
            (&[("host", &["0.0.0.0:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["127.1:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["2130706433:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["[::ffff:127.0.0.1]:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1.:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["localhost.:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["localhost.evil.example:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["evil@127.0.0.1:8931"])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1:8931 "])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1:08931"])], Err(Denied::ForeignHost)),
            (&[("host", &[""])], Err(Denied::ForeignHost)),
            (&[("host", &[])], Err(Denied::ForeignHost)),
            (&[("host", &["127.0.0.1:8931", "evil.example"])], Err(Denied::ForeignHost)),
            (&[("origin", &["https://127.0.0.1:8931"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://127.0.0.1:8932"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://evil.example"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["null"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &[""])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["file://"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://127.0.0.1:8931.evil.example"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://evil@127.0.0.1:8931"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://127.0.0.1"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["http://127.0.0.1:8931", "http://evil.example"])], Err(Denied::ForeignOrigin)),
            (&[("origin", &["\u{fc}"])], Err(Denied::ForeignOrigin)),
            (&[("authorization", &[])], Err(Denied::NoToken)),
            (&[("authorization", &["Bearer "])], Err(Denied::NoToken)),
            (&[("authorization", &["Bearer 0123456789abcdef0123456789abcdee"])], Err(Denied::NoToken)),
            (&[("authorization", &["Basic 0123456789abcdef0123456789abcdef"])], Err(Denied::NoToken)),
            (&[("authorization", &[TOKEN])], Err(Denied::NoToken)),
            (&[("authorization", &["Bearer  0123456789abcdef0123456789abcdef"])], Err(Denied::NoToken)),
            (&[("authorization", &["Bearer 0123456789abcdef0123456789abcdef", "Bearer x"])], Err(Denied::NoToken)),
            (&[("content-type", &[])], Err(Denied::NotJson)),
            (&[("content-type", &["text/plain"])], Err(Denied::NotJson)),
            (&[("content-type", &["application/x-www-form-urlencoded"])], Err(Denied::NotJson)),
            (&[("content-type", &["application/jsonp"])], Err(Denied::NotJson)),
        ] {
            assert_eq!(judge(&Method::POST, "/mcp", changes), want, "{changes:?}");
        }
    }

    #[test]
    fn every_route_is_guarded_alike() {
        for uri in ["/", "/mcp/", "/mcp/x", "/status", "/.piton/mcp-8931.token"] {
            assert_eq!(judge(&Method::GET, uri, &[]), Err(Denied::NoSuchPath), "{uri}");
            assert_eq!(judge(&Method::GET, uri, &[("authorization", &[])]), Err(Denied::NoToken), "{uri}");
            assert_eq!(judge(&Method::GET, uri, &[("host", &["evil.example"])]), Err(Denied::ForeignHost), "{uri}");
        }
        assert_eq!(judge(&Method::PUT, "/mcp", &[]), Err(Denied::NoSuchMethod));
        assert_eq!(judge(&Method::OPTIONS, "/mcp", &[]), Err(Denied::NoSuchMethod));
        assert_eq!(judge(&Method::GET, "http://evil.example/mcp", &[]), Err(Denied::ForeignHost));
        assert_eq!(judge(&Method::GET, "http://evil@127.0.0.1:8931/mcp", &[]), Err(Denied::ForeignHost));
        // A token in a name is kept by histories and logs, so it is none.
        for uri in [format!("/mcp?token={TOKEN}"), format!("/mcp?access_token={TOKEN}")] {
            assert_eq!(judge(&Method::POST, &uri, &[("authorization", &[])]), Err(Denied::NoToken), "{uri}");
        }
        assert_eq!(judge(&Method::GET, "http://127.0.0.1:8931/mcp", &[]), Ok(Asks { may_begin_session: false }));
    }
}
