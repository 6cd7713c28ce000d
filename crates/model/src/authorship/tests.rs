use super::*;

/// A version from words: `a` is open, `a~` begun, `a+` done, `#g` a criterion, `!r` a remark.
fn version(text: &str) -> SharedVersion {
    let mut version = SharedVersion::default();
    for word in text.split_whitespace() {
        match (word.strip_prefix('#'), word.strip_prefix('!')) {
            (Some(gate), _) => drop(version.gates.insert(gate.to_owned())),
            (_, Some(remark)) => drop(version.remarks.insert(remark.to_owned())),
            _ => {
                let mark = match word.chars().last() {
                    Some('+') => StepMark::Done,
                    Some('~') => StepMark::Begun,
                    _ => StepMark::Open,
                };
                version.steps.insert(word.trim_end_matches(['+', '~']).to_owned(), mark);
            }
        }
    }
    version
}

/// Workers from words: `a` works at `a`, `a:b,c` saw `b` and `c` become done, `a!` ended just now.
fn writers(text: &str) -> Vec<Writer> {
    let writer = |word: &str| {
        let (has_just_ended, word) = (word.ends_with('!'), word.trim_end_matches('!'));
        let (step, since) = word.split_once(':').unwrap_or((word, ""));
        let done_since = since.split(',').filter(|step| !step.is_empty()).map(str::to_owned).collect();
        Writer { step: step.to_owned(), done_since, has_just_ended }
    };
    text.split_whitespace().map(writer).collect()
}

/// What does not count, in the words of [`version`]: `b+` is called done, `b-` undone, `b?` moved, `/b` missing, `#g` a
/// criterion that is missing.
fn words(found: &Foreign) -> String {
    let all = [
        found.done.iter().map(|it| format!("{it}+")).collect::<Vec<_>>(),
        found.undone.iter().map(|it| format!("{it}-")).collect(),
        found.moved.iter().map(|it| format!("{it}?")).collect(),
        found.missing.iter().map(|it| format!("/{it}")).collect(),
        found.gates.iter().map(|it| format!("#{it}")).collect(),
    ];
    all.concat().join(" ")
}

#[test]
fn only_the_own_step_of_a_worker_counts_in_what_it_writes() {
    let people = true;
    let check = |before: &str, now: &str, at_work: &str, is_peoples: bool, want: Option<&str>| {
        let writing = Writing { writers: writers(at_work), is_peoples, has_old_words: true, is_cut: true };
        let found = foreign(&version(before), &version(now), &writing);
        assert_eq!(found.as_ref().map(words).as_deref(), want, "{before} -> {now}, at work: {at_work}");
    };
    // A worker's own tick, and nothing else.
    check("a b", "a+ b", "a", people, None);
    check("a b", "a+ b+", "a b", people, None);
    // It ticks others, takes ticks back, or leaves boxes and criteria out.
    check("a b", "a+ b+", "a", people, Some("b+"));
    check("a b+ c", "a+ b c+", "a", people, Some("c+ b-"));
    check("a b c", "a+", "a", people, Some("/b /c"));
    check("a #tests", "a+", "a", people, Some("#tests"));
    // What it adds counts.
    check("a", "a+ b !why", "a", people, None);
    // A decision in an old copy of the text, and one in a text that lost an older tick.
    check("a b+", "a b !why", "a:b", people, Some("b-"));
    check("a b+ c+", "a b c !why", "a:b", people, None);
    // The user's hand: no worker's own step changed.
    check("a b", "a b+", "a", people, None);
    check("a b+", "a b", "a:b", people, None);
    check("a b", "a", "a", people, None);
    check("a b #tests", "a b", "a", people, None);
    // A text that was cut off when a worker ended.
    check("a b c #tests", "a", "a!", people, Some("/b /c #tests"));
    check("a b", "a b+", "a!", people, None);
    // A build's checkpoint: an old copy, also without the worker's own end.
    check("a~ b+", "a~ b~", "a:b", !people, Some("b-"));
    check("a~ b+", "a~ b", "a", !people, None);
    check("a~ b~", "a+ b", "a b", !people, Some("b?"));
    // New words beside a remark are the user's.
    let writing = Writing { writers: writers("a:b"), is_peoples: true, has_old_words: false, is_cut: true };
    assert_eq!(foreign(&version("a b+"), &version("a b !why"), &writing), None);
    // Boxes that are gone from the middle of a text were taken out.
    let writing = Writing { writers: writers("a!"), is_peoples: true, has_old_words: false, is_cut: false };
    assert_eq!(foreign(&version("a b c"), &version("a c"), &writing), None);
    // No worker could have written it.
    check("a b+", "a+ b", "", people, None);
    check("a b c", "a", "", !people, None);
}
