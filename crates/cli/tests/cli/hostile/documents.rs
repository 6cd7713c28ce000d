//! Bytes that a document should not hold.

use super::{Expected, FINE, check_every_verb, healthy, lost, odd, places, wrong};

/// Puts something behind the brace that begins the document.
fn begin(good: &str, with: &str) -> Vec<u8> {
    format!("{{{with}{}", good.strip_prefix('{').expect("a document is an object")).into_bytes()
}

fn utf16(good: &str, encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    [0xfeff].into_iter().chain(good.encode_utf16()).flat_map(encode).collect()
}

/// A row of the matrix: what it is called, how a good document is spoilt, what that leads to.
type Row = (&'static str, fn(&str) -> Vec<u8>, Expected);

const ROWS: [Row; 26] = [
    ("nothing", |good| good.as_bytes().to_vec(), FINE),
    ("an empty file", |_| Vec::new(), lost("not-json")),
    ("only spaces", |_| b" \n\t ".to_vec(), lost("not-json")),
    ("only NUL bytes", |_| vec![0; 4096], lost("not-json")),
    ("a NUL byte inside", |good| begin(good, "\"x\": \"a\0b\","), lost("not-json")),
    ("an escaped NUL", |good| begin(good, r#""x": "a\u0000b","#), FINE),
    ("NaN", |good| begin(good, r#""x": NaN,"#), lost("not-json")),
    ("Infinity", |good| begin(good, r#""x": -Infinity,"#), lost("not-json")),
    ("1e999", |good| begin(good, r#""x": 1e999,"#), wrong("huge-number")),
    ("a number of 5,000 digits", |good| begin(good, &format!("\"x\": {},", "9".repeat(5_000))), wrong("huge-number")),
    ("a key twice", |good| begin(good, r#""x": 1, "x": 2,"#), wrong("repeated-key")),
    ("a key twice by escape", |good| begin(good, r#""x": 1, "\u0078": 2,"#), wrong("repeated-key")),
    ("a byte order mark", |good| [b"\xef\xbb\xbf", good.as_bytes()].concat(), odd("byte-order-mark")),
    ("UTF-16, little end first", |good| utf16(good, u16::to_le_bytes), lost("not-utf8")),
    ("UTF-16, big end first", |good| utf16(good, u16::to_be_bytes), lost("not-utf8")),
    ("CRLF", |good| good.replace('\n', "\r\n").into_bytes(), FINE),
    ("invalid UTF-8", |good| [b"{\"x\": \"\xff\xfe\xc0\",", &good.as_bytes()[1..]].concat(), lost("not-utf8")),
    ("UTF-8 of a surrogate", |good| [b"{\"x\": \"\xed\xa0\x80\",", &good.as_bytes()[1..]].concat(), lost("not-utf8")),
    ("a lone surrogate", |good| begin(good, r#""x": "\ud83d.","#), odd("lone-surrogate")),
    ("data behind it", |good| format!("{good}{{}}").into_bytes(), lost("not-json")),
    ("a torn end", |good| good.as_bytes()[..good.len() / 2].to_vec(), lost("not-json")),
    ("a comma too many", |good| good.trim_end().replace("\n}", ",\n}").into_bytes(), lost("not-json")),
    ("an array", |good| format!("[{good}]").into_bytes(), lost("not-an-object")),
    ("depth 100", |good| begin(good, &nested(100)), FINE),
    ("depth 200", |good| begin(good, &nested(200)), lost("not-json")),
    ("depth 100,000", |good| begin(good, &nested(100_000)), lost("not-json")),
];

fn nested(depth: usize) -> String {
    format!("\"x\": {}{},", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn spoilt_bytes_are_named_in_every_dialect() {
    for (row, spoil, expected) in &ROWS {
        for place in places() {
            let workspace = healthy();
            workspace.write(&place.path, spoil(&format!("{:#}\n", place.good)));
            check_every_verb(row, &workspace, &place, expected);
        }
    }
}

#[test]
fn seventeen_megabytes_are_not_read() {
    for place in places() {
        let workspace = healthy();
        let mut text = place.good.to_string();
        text.push_str(&" ".repeat(17 * 1024 * 1024));
        workspace.write(&place.path, text);
        check_every_verb("17 MB", &workspace, &place, &lost("too-large"));
    }
}

#[test]
fn a_sparse_gigabyte_is_not_read() {
    for place in places() {
        let workspace = healthy();
        let file = std::fs::File::create(workspace.path(&place.path)).expect("a file");
        file.set_len(1 << 30).expect("a sparse file");
        check_every_verb("1 GB", &workspace, &place, &lost("too-large"));
    }
}

#[test]
fn a_million_keys_are_read() {
    use std::fmt::Write as _;
    let mut keys = String::new();
    for number in 0..1_000_000 {
        let _ = write!(keys, "\"k{number}\":0,");
    }
    // One dialect is enough for the time it takes: all are read by the same parser.
    let place = places().remove(4);
    let workspace = healthy();
    workspace.write(&place.path, begin(&place.good.to_string(), &keys));
    check_every_verb("10^6 keys", &workspace, &place, &FINE);
}

#[test]
fn numbers_that_no_program_can_hold_are_named() {
    for (place, key) in places().iter().zip(["stage", "active_workers", "current_phase", "progress_percent"]) {
        for number in ["1e999", "-1e999", "99999999999999999999999999"] {
            let workspace = healthy();
            let good = place.good[key].to_string();
            let text = place.good.to_string().replace(&format!("\"{key}\":{good}"), &format!("\"{key}\":{number}"));
            workspace.write(&place.path, text);
            let run = workspace.run(&["check"]);
            assert_eq!(run.code, Some(3), "{key}: {number} leads to {}", run.transcript());
            assert!(run.stdout.contains(&format!("{}:1: error[", place.path)), "{}", run.transcript());
            for arguments in [&["status"][..], &["status", place.unit], &["why", place.unit], &["status", "--json"]] {
                workspace.run(arguments).exits(0);
            }
        }
    }
}
