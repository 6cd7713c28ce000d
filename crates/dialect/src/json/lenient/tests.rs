use proptest::prelude::*;
use serde_json::json;

use super::*;

fn open(text: &str) -> Lenient {
    Lenient::open(text).unwrap_or_else(|error| panic!("{}: {text}", error.problem))
}

#[test]
fn comments_and_loose_commas_are_read_over() {
    let text = "{\n  // the model\n  \"model\": \"x\", /* why */ \"list\": [1, 2,], // \"not\": \"this\"\n}\n";
    let lenient = open(text);
    assert!(!lenient.is_strict());
    assert_eq!(lenient.get(&["list"]), Some(json!([1, 2])));
    assert_eq!(lenient.get(&["not"]), None);
    assert_eq!(lenient.text(), text);
    assert!(open("{\"url\": \"https://x/*y*/\"}").is_strict());
    assert!(Lenient::open("[1]").is_err());
    assert!(Lenient::open("{\"a\": 1 \"b\": 2}").is_err());
    assert!(Lenient::open("{ /* open").is_err());
    assert_eq!(open(" \n").text(), "{}\n");
}

#[test]
fn an_entry_is_added_without_moving_a_comment() {
    for (text, want) in [
        ("{}", "{\n  \"new\": 1\n}"),
        ("{}\n", "{\n  \"new\": 1\n}\n"),
        ("{\"a\": 1}", "{\"a\": 1, \"new\": 1}"),
        ("{\n    \"a\": 1\n}\n", "{\n    \"a\": 1,\n    \"new\": 1\n}\n"),
        ("{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"new\": 1\r\n}"),
        ("{\n  \"a\": 1 // one\n}\n", "{\n  \"a\": 1, // one\n  \"new\": 1\n}\n"),
        ("{\n  \"a\": 1, // one\n}\n", "{\n  \"a\": 1, // one\n  \"new\": 1,\n}\n"),
        ("{\n  \"a\": 1 /* one\n  two */\n}\n", "{\n  \"a\": 1, /* one\n  two */\n  \"new\": 1\n}\n"),
        ("{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  \"new\": 1\n}\n"),
        ("\u{feff}{\n  \"a\": 1\n}", "\u{feff}{\n  \"a\": 1,\n  \"new\": 1\n}"),
    ] {
        let mut lenient = open(text);
        assert!(lenient.add(&[], Some("new"), &json!(1)));
        assert_eq!(lenient.text(), want, "{text:?}");
    }
    assert!(!open("{\"a\": 1}").add(&["a"], Some("x"), &json!(1)), "a number takes no key");
}

#[test]
fn an_entry_goes_with_its_comma_and_no_comment() {
    for (text, want) in [
        ("{\"a\": 1, \"x\": 2}", "{\"a\": 1}"),
        ("{\"x\": 2, \"a\": 1}", "{\"a\": 1}"),
        ("{\"x\": 2}", "{}"),
        ("{\n  \"a\": 1, // one\n  \"x\": 2\n}\n", "{\n  \"a\": 1 // one\n}\n"),
        ("{\n  \"a\": 1, // one\n  \"x\": 2,\n}\n", "{\n  \"a\": 1, // one\n}\n"),
        ("{\n  \"x\": 2, // two\n  \"a\": 1\n}\n", "{\n  // two\n  \"a\": 1\n}\n"),
        ("{\n  // why\n  \"x\": 2\n}\n", "{\n  // why\n}\n"),
        ("{\n  \"a\": 1\n  , \"x\": 2\n}\n", "{\n  \"a\": 1\n}\n"),
    ] {
        let mut lenient = open(text);
        lenient.remove(&[], &|key, _| key == Some("x"));
        assert_eq!(lenient.text(), want, "{text:?}");
    }
}

fn document() -> impl Strategy<Value = String> {
    let entry = (
        proptest::sample::select(vec!["1", "\"t // no\"", "[]", "[1, 2]", "{\"k\": 1}", "[\n 1, // x\n 2,\n]", "null"]),
        proptest::sample::select(vec!["", " // c", " /* c */", " /* c\n d */"]),
    );
    (proptest::collection::vec(entry, 0..5), any::<bool>(), any::<bool>()).prop_map(|(entries, is_loose, is_crlf)| {
        let mut text = "{".to_owned();
        let last = entries.len();
        for (place, (value, comment)) in entries.into_iter().enumerate() {
            let comma = if place + 1 < last || is_loose { "," } else { "" };
            text.push_str(&format!("\n  \"k{place}\": {value}{comma}{comment}"));
        }
        text.push_str(if last == 0 { "}\n" } else { "\n}\n" });
        if is_crlf { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    /// What is added is there and nothing else changed; when it goes again, every byte is as before.
    #[test]
    fn what_is_added_goes_without_a_trace(text in document()) {
        let before = open(&text);
        let mut lenient = before.clone();
        let ours = json!({"Stop": [{"hooks": [1]}], "x": {}});
        let is_added = lenient.add(&[], Some("ours"), &ours);
        prop_assert!(is_added);
        let mut with = before.get(&[]).expect("an object");
        with["ours"] = ours;
        prop_assert_eq!(lenient.get(&[]), Some(with), "{}", lenient.text());
        lenient.remove(&[], &|key, _| key == Some("ours"));
        prop_assert_eq!(lenient.text(), text.as_str());
    }

    /// Any text is read or refused.
    #[test]
    fn any_text_is_read_or_refused(text in "[{}\\[\\]\",:/*a1 \\n\\\\ä]{0,60}") {
        if let Ok(mut lenient) = Lenient::open(&text) {
            lenient.add(&[], Some("ours"), &json!([1]));
            lenient.remove(&[], &|key, _| key == Some("ours"));
        }
    }
}
