use proptest::prelude::*;
use serde_json::Value as Oracle;

use super::*;

/// The second implementation: the same document through serde_json.
fn same(value: Value<'_, '_>, oracle: &Oracle) -> bool {
    match oracle {
        Oracle::Null => value.is_null(),
        Oracle::Bool(want) => value.as_bool() == Some(*want),
        Oracle::Number(want) => value.as_f64() == want.as_f64(),
        Oracle::String(want) => value.as_str().is_some_and(|found| found == want.as_str()),
        Oracle::Array(want) => {
            value.kind() == Kind::Array
                && value.items().count() == want.len()
                && value.items().zip(want).all(|(found, want)| same(found, want))
        }
        Oracle::Object(want) => {
            value.kind() == Kind::Object
                && value.entries().count() == want.len()
                // From the last key to the first: the other way round any memory of the last place would be right.
                && want.iter().rev().all(|(key, want)| value.get(key).is_some_and(|found| same(found, want)))
        }
    }
}

fn documents() -> impl Strategy<Value = Oracle> {
    let leaf = prop_oneof![
        Just(Oracle::Null),
        any::<bool>().prop_map(Oracle::Bool),
        any::<i64>().prop_map(Oracle::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Oracle::from),
        ".{0,12}".prop_map(Oracle::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Oracle::from),
            prop::collection::vec((".{0,6}", inner), 0..6)
                .prop_map(|pairs| Oracle::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn documents_read_like_serde_json(document in documents(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        let text = text.expect("a value prints");
        let mut json = parse(&text).expect("serde_json prints JSON");
        prop_assert!(same(json.root(), &document));
        // Once keys are known not to repeat they are found in another way: where the last one was, first.
        prop_assert!(repeated_keys(&mut json).is_empty());
        prop_assert!(same(json.root(), &document));
        prop_assert_eq!(json.root().raw(), text.as_str());
    }

    #[test]
    fn broken_documents_are_refused_like_serde_json(document in documents(), at in any::<prop::sample::Index>(), put in "[\\PC]{0,2}") {
        let text = document.to_string();
        let mut cut = at.index(text.len() + 1);
        while !text.is_char_boundary(cut) { cut -= 1; }
        let mut broken = text[..cut].to_owned();
        broken.push_str(&put);
        broken.push_str(text[cut..].chars().skip(1).collect::<String>().as_str());
        let oracle: Result<Oracle, _> = serde_json::from_str(&broken);
        // serde_json refuses numbers that a double cannot hold and lone surrogates; those are findings here.
        let odd = broken.contains("\\u") || broken.contains(['e', 'E']) || broken.len() > 300;
        if !odd {
            prop_assert_eq!(parse(&broken).is_ok(), oracle.is_ok(), "{}", broken);
        }
    }

    #[test]
    fn a_cut_document_is_torn_not_wrong(document in documents(), at in any::<prop::sample::Index>()) {
        let text = Oracle::from(vec![document]).to_string();
        let mut cut = at.index(text.len());
        while !text.is_char_boundary(cut) { cut -= 1; }
        let error = parse(&text[..cut]).expect_err("a list that does not end");
        prop_assert!(matches!(error.problem, Problem::Ends | Problem::Empty), "{:?} in {}", error, &text[..cut]);
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, problem) in [
        ("", 0, Problem::Empty),
        (" \n", 2, Problem::Empty),
        ("{", 1, Problem::Ends),
        ("{\"a\":1,}", 7, Problem::Expected("a key in double quotes")),
        ("[1 2]", 3, Problem::Expected("`,` or `]`")),
        ("{a:1}", 1, Problem::Expected("a key in double quotes")),
        ("{\"a\" 1}", 5, Problem::Expected("`:` after the key")),
        ("[NaN]", 1, Problem::NotANumber),
        ("[-Infinity]", 2, Problem::NotANumber),
        ("[1.]", 3, Problem::NotANumber),
        ("{} {}", 3, Problem::Trailing),
        ("[\"a\nb\"]", 3, Problem::ControlCharacter),
        ("[\"a\0\"]", 3, Problem::ControlCharacter),
        ("[\"\\x\"]", 2, Problem::Escape),
        ("[\"torn\n", 6, Problem::Ends),
        ("[tru", 1, Problem::Ends),
        ("[trap]", 1, Problem::Expected("a value")),
    ] {
        assert_eq!(parse(text).unwrap_err(), SyntaxError { at, problem }, "{text:?}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(DEEPEST)).is_ok());
    assert_eq!(parse(&nested(DEEPEST + 1)).unwrap_err().problem, Problem::TooDeep);
    assert_eq!(parse(&"[".repeat(100_000)).unwrap_err().problem, Problem::TooDeep);
}

#[test]
fn repeated_keys_are_found_and_the_last_one_counts() {
    let mut json = parse(r#"{"a":1,"b":{"x":1,"x":2,"\u0078":3},"a":2,"c":0}"#).expect("JSON");
    let found: Vec<_> = repeated_keys(&mut json).into_iter().map(|key| (key.start, &json.text()[key])).collect();
    assert_eq!(found, [(18, "\"x\""), (24, "\"\\u0078\""), (36, "\"a\"")]);
    assert_eq!(json.root().get("a").and_then(Value::as_int), Some(2));
    assert_eq!(json.root().get("b").and_then(|b| b.get("x")).and_then(Value::as_int), Some(3));
    // Same length, same letters: only a real comparison tells these apart.
    let mut json = parse(r#"{"ab":1,"ba":1,"aaaa":1,"bbbb":1}"#).expect("JSON");
    assert!(repeated_keys(&mut json).is_empty());
    assert_eq!(json.root().get("ba").and_then(Value::as_int), Some(1));
}

#[test]
fn numbers_keep_their_spelling_and_their_limits() {
    let json = parse("[1e999, 3.0, 12345678901234567890, -0, 1E2]").expect("JSON");
    let numbers: Vec<_> = json.root().items().map(|number| (number.raw(), number.as_int(), number.as_f64())).collect();
    assert_eq!(
        numbers,
        [
            ("1e999", None, None),
            ("3.0", Some(3), Some(3.0)),
            ("12345678901234567890", None, Some(12_345_678_901_234_567_890.0)),
            ("-0", Some(0), Some(-0.0)),
            ("1E2", Some(100), Some(100.0)),
        ]
    );
}

#[test]
fn surrogates_are_paired_or_replaced() {
    let json = parse(r#"["\ud83d\ude00", "\ud83d", "\ude00x", "\ud83d\u0041"]"#).expect("JSON");
    let texts: Vec<_> = json.root().items().map(|text| text.as_str().expect("a string").into_owned()).collect();
    assert_eq!(texts, ["😀", "\u{fffd}", "\u{fffd}x", "\u{fffd}A"]);
    assert_eq!(first_lone_surrogate(&json).map(|string| string.raw()), Some(r#""\ud83d""#));
    assert!(first_lone_surrogate(&parse(r#"["\ud83d\ude00"]"#).expect("JSON")).is_none());
}

#[test]
fn edits_leave_every_other_byte_alone() {
    let text = "{\r\n    \"status\" : \"old\",\r\n    \"x\": 1e2, \"list\": [1,2],\r\n    \"none\": [ ],\r\n    \"wide\": [\r\n        \"a\"\r\n    ]\r\n}\r\n";
    let mut json = parse(text).expect("JSON");
    repeated_keys(&mut json);
    let root = json.root();
    let mut edits = Edits::new(&json);
    edits.set(root, "status", Oracle::from("new"));
    edits.set(root, "added", serde_json::json!({ "k": [1, {}] }));
    edits.set(root, "again", Oracle::from(true));
    edits.push(root.get("list").expect("it is there"), Oracle::from(3));
    edits.push(root.get("none").expect("it is there"), Oracle::from("first"));
    edits.push(root.get("none").expect("it is there"), Oracle::from("second"));
    edits.push(root.get("wide").expect("it is there"), Oracle::from("b"));
    let want = "{\r\n    \"status\" : \"new\",\r\n    \"x\": 1e2, \"list\": [1,2,3],\r\n    \"none\": [\r\n        \"first\",\r\n        \"second\"\r\n    ],\r\n    \"wide\": [\r\n        \"a\",\r\n        \"b\"\r\n    ],\r\n    \"added\" : {\r\n        \"k\": [\r\n            1,\r\n            {}\r\n        ]\r\n    },\r\n    \"again\" : true\r\n}\r\n";
    assert_eq!(edits.apply(), want);
}

#[test]
fn documents_on_one_line_stay_on_one_line() {
    for (text, want) in [
        (r#"{"a":1}"#, r#"{"a":1,"b":[2]}"#),
        (r#"{"a": 1, "c": 2}"#, r#"{"a": 1, "c": 2, "b": [2]}"#),
        ("{}", r#"{"b": [2]}"#),
        (" { } ", r#" {"b": [2]} "#),
    ] {
        let json = parse(text).expect("JSON");
        let mut edits = Edits::new(&json);
        edits.set(json.root(), "b", serde_json::json!([2]));
        assert_eq!(edits.apply(), want);
    }
}

proptest! {
    #[test]
    fn edits_do_what_they_say_and_nothing_else(
        document in documents().prop_map(|inner| serde_json::json!({ "first": inner, "list": [], "object": {} })),
        pretty in any::<bool>(),
        key in "first|list|object|other|\\PC{0,3}",
        value in documents(),
        pushed in documents(),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        let text = text.expect("a value prints");
        let json = parse(&text).expect("JSON");
        prop_assert_eq!(Edits::new(&json).apply(), text.as_str(), "no change changes nothing");
        let mut edits = Edits::new(&json);
        let mut want = document.clone();
        edits.set(json.root(), &key, value.clone());
        want[&key] = value;
        if key != "list" {
            edits.push(json.root().get("list").expect("it is there"), pushed.clone());
            want["list"] = serde_json::json!([pushed]);
        }
        let edited = edits.apply();
        prop_assert!(same(parse(&edited).expect("an edited document is JSON").root(), &want), "{}", edited);
        // What a library would print anew is what was edited: the layout is kept as well.
        let printed = if pretty { serde_json::to_string_pretty(&want) } else { serde_json::to_string(&want) };
        prop_assert_eq!(edited, printed.expect("a value prints"));
    }
}

#[test]
fn strings_end_where_they_end_whatever_stands_around() {
    // Every byte that may stand before and behind the end, at every place of a group of eight.
    for length in 0..20 {
        for filler in ["a", "!", "#", "[", "]", "\u{7f}", "\u{e9}", "\u{1f600}", " "] {
            let inner = filler.repeat(length);
            let text = format!("[\"{inner}\",\"{inner}\"]{}", " ".repeat(9));
            let json = parse(&text).expect("JSON");
            assert!(json.root().items().all(|item| item.as_str().as_deref() == Some(&inner)), "{text}");
            let broken = format!("[\"{inner}\u{1f}{inner}\"]");
            assert_eq!(
                parse(&broken).unwrap_err(),
                SyntaxError { at: 2 + inner.len(), problem: Problem::ControlCharacter }
            );
        }
    }
}

#[test]
fn keys_are_picked_as_they_are_got() {
    let keys = ["a", "b", "c", "é", "missing"];
    for text in [
        "{}",
        "[1, 2]",
        r#"{"a": 1, "b": 2, "c": 3, "é": 4}"#,
        r#"{"c": 1, "x": 2, "a": {"b": 3}, "b": 4}"#,
        r#"{"a": 1, "b": 2, "a": 3, "\u0062": 4, "\u00e9": 5}"#,
    ] {
        let mut json = parse(text).expect("it is JSON");
        repeated_keys(&mut json);
        let spans = |found: Option<Value<'_, '_>>| found.map(Value::span);
        let root = json.root();
        assert_eq!(root.pick(keys).map(spans), keys.map(|key| spans(root.get(key))), "{text}");
    }
}

#[test]
fn only_a_string_is_a_text() {
    let json = parse(r#"["12", 12, "\u0031\u0032", [12], null]"#).expect("it is JSON");
    let are: Vec<_> = json.root().items().map(|item| item.is_text("12")).collect();
    assert_eq!(are, [true, false, true, false, false]);
    assert!(!json.root().items().any(|item| item.is_text("2")));
}
