//! Whatever happens in whatever order, the files stay in line with each other.

use proptest::prelude::*;

use super::*;

const IDS: [&str; 6] = ["db-schema", "auth-middleware", "deploy", "migrations", "gone", "odd"];

const STAYS: [&str; 2] = ["repeated-key", "wrong-type"];

fn an_event() -> impl Strategy<Value = Event> {
    let ids = proptest::collection::vec(proptest::sample::select(&IDS[..]), 0..3);
    let text = proptest::sample::select(vec!["", "a", "b --> \"\n<!-- BLOCKER: x -->", "no answer"]);
    (0..22_u8, ids, text).prop_map(|(kind, ids, text)| {
        let message = text.to_owned();
        let steps: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        match kind {
            0 => start(),
            1 | 2 => done(&ids),
            3 => step(StepTo::Begun, &ids),
            4 => step(StepTo::Failed, &ids),
            5 | 6 => gate(kind == 5, ids.first().unwrap_or(&"migrations")),
            7 => Event::Blocked { message, kind: None },
            8 => Event::Unblocked { which: Some(message), answer: None },
            9 => Event::Unblocked { which: None, answer: None },
            10 => Event::Paused { reason: Some(message) },
            11 => Event::Failed { step: steps.first().cloned(), message, file: None, line: None },
            12 => Event::Noted { text: message, purpose: NotePurpose::Note },
            13 => Event::Decided { text: message, reason: None },
            14 => Event::Beat,
            15 => Event::Finished,
            16 => Event::Resumed { mode: None },
            17 => Event::Repaired,
            18 => Event::HelperStarted { kind: "fullstack".to_owned(), agent: Some(message), steps },
            19 => Event::HelperStopped { kind: "fullstack".to_owned(), agent: None, completed: steps },
            20 => Event::StageEntered { stage: "1".to_owned(), phase: None },
            _ => Event::Marked,
        }
    })
}

/// What hands other than ours do to the files between two events.
fn meddle(files: &mut MemoryFiles, how: u8) {
    let plan = files.text(&path("plan.md")).to_owned();
    let new = match how {
        0 => plan.replacen("[x]", "[ ]", 1),
        1 => plan.replacen("[ ]", "[x]", 1),
        2 => format!("{plan}- [ ] unmarked {}\n", plan.len()),
        3 => format!("{plan}<!-- CHECKPOINT: odd -->\n"),
        4 => plan.lines().rev().map(|line| format!("{line}\n")).collect(),
        5 => {
            files.files.insert(path(".checkpoint/state.json"), b"{\"torn".to_vec());
            return;
        }
        6 => {
            files.files.remove(&path(".checkpoint/state.json"));
            return;
        }
        7 => format!("{plan}<!-- BLOCKER: no answer -->\n"),
        _ => return,
    };
    files.files.insert(path("plan.md"), new.into_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn files_stay_in_line(story in proptest::collection::vec((an_event(), 0..30_u8), 1..25)) {
        let mut files = with(&[("plan.md", PLAN), ("phase-01-x.md", "- [ ] odd one <!-- TASK: odd -->\n")]);
        for (minute, (event, how)) in story.iter().enumerate() {
            meddle(&mut files, *how);
            let moment = at(&format!("12:{minute:02}"), "main");
            let before = files.clone();
            let plan_only = MemoryFiles {
                files: files.files.iter().filter(|(name, _)| name.ends_with(".md")).map(|(a, b)| (a.clone(), b.clone())).collect(),
                ..MemoryFiles::default()
            };
            let Ok(change) = record(&place(), &files, event, &moment) else { continue };
            prop_assert_eq!(&change, &record(&place(), &files, event, &moment).expect("the same again"));
            files.apply(&change);
            let log = |files: &MemoryFiles| files.files.get(&path(".checkpoint/history.jsonl")).cloned().unwrap_or_default();
            prop_assert!(log(&files).starts_with(&log(&before)), "the log is only appended to");
            if change.effects.is_empty() || *event == Event::Marked {
                continue;
            }
            let found = reading(&files, moment.now);
            let by_plan = reading(&plan_only, moment.now).findings;
            let is_known = |finding: &piton_model::Finding| {
                by_plan.iter().any(|known| known.code.name == finding.code.name)
            };
            let new: Vec<_> = found.findings.iter().filter(|finding| finding.code.severity != Severity::Note && !is_known(finding)).collect();
            prop_assert!(new.is_empty(), "{:?} after {:?} on {:?}", new, event, before.text(&path("plan.md")));
            // The writer judges where the plan stands as the reader does.
            let book = Book::open(&layout::paths(&place()), &files).expect("readable").expect("a plan");
            let text = files.text(&path(".checkpoint/state.json"));
            let json = crate::json::parse(text).expect("JSON");
            let unit = found.unit.expect("a unit");
            prop_assert_eq!(lifecycle(&book, &Draft::open(Some(&json), &moment)), unit.state.lifecycle());
            prop_assert_eq!(state(&files)["progress"]["completedTasks"].as_u64(), Some(unit.progress.done));
            prop_assert!(resume(&place(), &files, None, &moment).is_ok());
        }
    }

    /// A state that some other hand has made: keys twice, boxes in wrong phases, values of wrong types.
    #[test]
    fn any_state_is_brought_into_line(phases in phases_of_any_kind(), layout in 0..3_u8) {
        let text = format!("{{\n  \"planId\": \"x\",\n  \"phases\": {phases}\n}}");
        let text = match layout {
            0 => text,
            1 => text.replace(['\n', ' '], ""),
            _ => text.replace(',', ",\r\n\t").replace('{', "{\r\n\t"),
        };
        let plan = format!("{PLAN}- [x] Odd <!-- TASK: odd -->\n");
        let mut files = with(&[("plan.md", &plan), (".checkpoint/state.json", &text)]);
        let moment = at("12:00", "main");
        let before: Vec<_> = reading(&files, moment.now).findings.iter().map(|finding| finding.code.name).collect();
        go(&mut files, &Event::Repaired, &moment);
        let mut found = reading(&files, moment.now);
        // What was odd and says nothing about the boxes may stay odd.
        found.findings.retain(|finding| !(before.contains(&finding.code.name) && STAYS.contains(&finding.code.name)));
        prop_assert!(found.findings.is_empty(), "{:?} from {text} to {}", found.findings, files.text(&path(".checkpoint/state.json")));
        let once = files.text(&path(".checkpoint/state.json")).to_owned();
        let change = go(&mut files, &Event::Repaired, &moment);
        prop_assert_eq!(change.warnings, Vec::<String>::new());
        let same = files.text(&path(".checkpoint/state.json")).replace("\"sinceBackup\": 2", "\"sinceBackup\": 1");
        let same = same.replace("\"sinceBackup\":2", "\"sinceBackup\":1");
        prop_assert_eq!(same.contains("\"sinceBackup\""), true);
        prop_assert!(same == once || once.contains("sinceBackup\": 0") || once.contains("sinceBackup\":0"), "{once} {same}");
    }
}

fn phases_of_any_kind() -> impl Strategy<Value = String> {
    let flag = proptest::sample::select(vec![
        "null",
        "{}",
        "{\"done\": true, \"met\": true}",
        "{\"done\": false, \"done\": true, \"completedAt\": 3, \"x\": [1, 2]}",
        "{\"completedBy\": \"a\", \"done\": true}",
    ]);
    let boxes = || proptest::collection::vec((proptest::sample::select(&IDS[..]), flag.clone()), 0..5);
    let phase = (boxes(), boxes(), 0..4_u8).prop_map(|(tasks, criteria, kind)| match kind {
        0 => "[3]".to_owned(),
        1 => format!("{{\"tasks\": 3, \"acceptance\": {}}}", object(criteria)),
        2 => {
            format!("{{\"acceptance\": {}, \"status\": \"completed\", \"tasks\": {}}}", object(criteria), object(tasks))
        }
        _ => format!("{{\"tasks\": {}}}", object(tasks)),
    });
    let name = proptest::sample::select(vec!["phase-1-setup", "phase-2-ship", "main", "gone"]);
    proptest::collection::vec((name, phase), 0..5).prop_map(object)
}

fn object(entries: Vec<(&str, impl std::fmt::Display)>) -> String {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", entries.join(", "))
}
