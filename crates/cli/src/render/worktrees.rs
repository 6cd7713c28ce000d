//! Worktrees: a line for each, and what is to be known of it below.

use std::fmt::Write as _;

use piton_engine::{Cleaned, Restored, Snapshot, WorktreeRow, Worktrees};
use piton_model::Time;
use piton_model::hint::verbs;
use serde_json::{Value, json};

use super::clean;

/// Every worktree: where it is, its branch, its unit; whether it may go, and its snapshots.
pub fn list(found: &Worktrees) -> String {
    let mut out = String::new();
    for row in &found.rows {
        let branch = row.branch.as_deref().unwrap_or("no branch");
        let unit = row.unit.as_deref().map_or_else(String::new, |unit| format!("  {unit}"));
        let _ = writeln!(out, "{}  {}{}", clean(&row.path), clean(branch), clean(&unit));
        let _ = match (row.is_ours, row.reasons.is_empty()) {
            (true, true) => writeln!(out, "  clean and merged into {}", clean(&found.base)),
            (true, false) => writeln!(out, "  stays: {}", clean(&row.reasons.join("; "))),
            (false, _) => writeln!(out, "  not made by Piton, never removed"),
        };
        if let Some(newest) = row.snapshots.first() {
            let _ = writeln!(out, "  {}", snapshots(row.snapshots.len(), newest, &row.name));
        }
    }
    let mut gone = found.gone.as_slice();
    while let Some(newest) = gone.first() {
        let count = gone.iter().take_while(|snapshot| snapshot.name == newest.name).count();
        let _ = writeln!(out, "{}  gone", clean(&newest.name));
        let _ = writeln!(out, "  {}", snapshots(count, newest, &newest.name));
        gone = &gone[count..];
    }
    if out.is_empty() {
        out.push_str("there are no worktrees and no snapshots\n");
    }
    out
}

fn snapshots(count: usize, newest: &Snapshot, name: &str) -> String {
    let count = if count == 1 { "1 snapshot".to_owned() } else { format!("{count} snapshots") };
    let at = Time::from_unix_seconds(newest.at);
    verbs::WORKTREES_RESTORE.call().name(&clean(name), "NAME").to(format!("{count}, the newest of {at}")).to_string()
}

/// The same for programs.
pub fn list_json(found: &Worktrees, now: Time) -> Value {
    let row = |row: &WorktreeRow| {
        json!({
            "name": row.name,
            "path": row.path,
            "branch": row.branch,
            "unit": row.unit,
            "ours": row.is_ours,
            "removable": row.is_ours && row.reasons.is_empty(),
            "reasons": row.reasons,
            "snapshots": row.snapshots.iter().map(snapshot_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "as_of": now.to_string(),
        "base": found.base,
        "worktrees": found.rows.iter().map(row).collect::<Vec<_>>(),
        "gone": found.gone.iter().map(snapshot_json).collect::<Vec<_>>(),
    })
}

fn snapshot_json(snapshot: &Snapshot) -> Value {
    json!({
        "name": snapshot.name,
        "at": Time::from_unix_seconds(snapshot.at).to_string(),
        "ref": snapshot.reference,
        "commit": snapshot.commit,
    })
}

/// What a clean-up did, or would do.
pub fn cleaned(all: &[Cleaned], is_rehearsal: bool) -> String {
    let mut out = String::new();
    for each in all {
        let path = clean(&each.path);
        let _ = match (&each.kept, is_rehearsal) {
            (Some(kept), _) => writeln!(out, "{path}  stays: {}", clean(&kept.reasons.join("; "))),
            (None, true) => writeln!(out, "{path}  would be removed"),
            (None, false) => writeln!(out, "{path}  removed"),
        };
        if let Some(snapshot) = &each.snapshot {
            let restore = verbs::WORKTREES_RESTORE.call().name(&clean(&snapshot.name), "NAME");
            let _ = writeln!(out, "  {}", restore.to("kept as a snapshot"));
        }
    }
    if out.is_empty() {
        out.push_str("there are no worktrees of workers\n");
    }
    out
}

/// The same for programs.
pub fn cleaned_json(all: &[Cleaned], is_rehearsal: bool) -> Value {
    let each = |each: &Cleaned| {
        json!({
            "name": each.name,
            "path": each.path,
            "removed": each.kept.is_none() && !is_rehearsal,
            "removable": each.kept.is_none(),
            "reasons": each.kept.as_ref().map_or(&[][..], |kept| kept.reasons.as_slice()),
            "snapshot": each.snapshot.as_ref().map(snapshot_json),
        })
    };
    json!({ "dry_run": is_rehearsal, "worktrees": all.iter().map(each).collect::<Vec<_>>() })
}

/// What was restored, and where.
pub fn restored(restored: &Restored) -> String {
    let at = Time::from_unix_seconds(restored.snapshot.at);
    format!("{} of {at} restored into {}\n", clean(&restored.snapshot.name), clean(&restored.path.to_string_lossy()))
}

/// The same for programs.
pub fn restored_json(restored: &Restored) -> Value {
    json!({ "snapshot": snapshot_json(&restored.snapshot), "path": restored.path.to_string_lossy() })
}
