use proptest::prelude::*;

use super::*;

const GOOD: &str = "# a comment
prd: &x PRD-101
title: \"Boats: a list\"
workstreams:
  WS1: { name: Hull, depends_on: [], outputs: [a.rs, b.rs] }
  WS2:
    name: >
      Sails
      and ropes
    depends_on: [WS1]
empty:
nothing: ~
quoted: \"~\"
again: *x
";

#[test]
fn values_know_what_and_where_they_are() {
    let yaml = parse(GOOD).expect("good");
    let root = yaml.root();
    assert_eq!((root.kind(), root.line()), (Kind::Map, 2));
    assert_eq!(root.text_at("title"), Some("Boats: a list"));
    assert_eq!(root.get("empty").map(Value::kind), Some(Kind::Null));
    assert_eq!(root.get("nothing").map(Value::kind), Some(Kind::Null));
    assert_eq!(root.text_at("quoted"), Some("~"));
    let streams = root.get("workstreams").expect("there");
    let names: Vec<_> = streams.entries().map(|(key, value)| (key.text(), key.line(), value.text_at("name"))).collect();
    assert_eq!(names, [(Some("WS1"), 5, Some("Hull")), (Some("WS2"), 6, Some("Sails and ropes"))]);
    let outputs = streams.get("WS1").and_then(|stream| stream.get("outputs")).expect("there");
    assert_eq!(outputs.texts(), [("a.rs", 5), ("b.rs", 5)]);
    assert_eq!(root.get("prd").expect("there").texts(), [("PRD-101", 2)]);
}

#[test]
fn what_is_wrong_has_a_line() {
    let bomb = format!("a: &a [x, x]\n{}", "b: [*a, *a]\n".repeat(3));
    let deep = format!("a:\n  {}", "[".repeat(5_000));
    let wide = format!("a: [{}]", "x,".repeat(MOST_VALUES));
    let long = " ".repeat(LONGEST + 1);
    for (text, want) in [
        ("a: b: c", Some(1)),
        ("a: 1\nb: [1, 2", Some(2)),
        (deep.as_str(), Some(2)),
        (wide.as_str(), Some(1)),
        (long.as_str(), Some(1)),
        (bomb.as_str(), None),
        ("", None),
    ] {
        let line = parse(text).err().map(|error| error.line);
        assert_eq!(line, want, "{:?}", text.get(..40).unwrap_or(text));
    }
}

#[test]
fn an_alias_is_not_followed() {
    let yaml = parse("a: &a [x]\nb: *a\n").expect("good");
    assert_eq!(yaml.root().get("b").map(Value::kind), Some(Kind::Alias));
}

#[test]
fn repeated_keys_are_found() {
    let yaml = parse("a: 1\nb: {c: 1, c: 2}\na: 3\n").expect("good");
    let repeated: Vec<_> = yaml.repeated_keys().iter().map(|key| (key.text(), key.line())).collect();
    assert_eq!(repeated, [(Some("c"), 2), (Some("a"), 3)]);
    assert_eq!(yaml.root().text_at("a"), Some("3"));
}

fn walk(value: Value<'_>) -> usize {
    let inner = value.items().map(walk).sum::<usize>();
    1 + inner + value.entries().map(|(key, value)| walk(key) + walk(value)).sum::<usize>()
}

proptest! {
    #[test]
    fn no_mutation_panics(at in any::<prop::sample::Index>(), length in 0usize..40, with in "[-\\[\\]{}:,*&!|>?#%@`'\" \\n\\ta-c0~]{0,12}") {
        let text: Vec<char> = GOOD.chars().collect();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let mutated: String = text[..at].iter().copied().chain(with.chars()).chain(text[end..].iter().copied()).collect();
        if let Ok(yaml) = parse(&mutated) {
            prop_assert_eq!(walk(yaml.root()), yaml.nodes.len());
            yaml.repeated_keys();
        }
    }

    #[test]
    fn no_text_panics(text in "(\\PC|[-\\[\\]{}:,*&!|>?#%@`'\" \\n\\r\\t~])*") {
        let _ = parse(&text);
    }
}
