//! No bytes make the reader of builds panic.

use piton_dialect::Source;
use piton_dialect::build::{FoundSpec, prd_of, read_checkpoint, read_spec};
use piton_model::Time;

#[test]
fn no_bytes_panic() {
    let now = Time::from_unix_seconds(1_771_081_200);
    bolero::check!().for_each(|bytes: &[u8]| {
        let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let (checkpoint, spec) = bytes.split_at(split);
        let spec = spec.get(1..).unwrap_or_default();
        let framed = [b"---\n", spec, b"\n---\n"].concat();
        prd_of(&framed);
        let path = ".claude/skills/build-pipeline/checkpoints/PRD-101.json".into();
        let checkpoint = Source { path, bytes: checkpoint, modified: Some(now) };
        read_checkpoint(&checkpoint, now, &mut |_| {
            let spec = Source { path: "EXEC-101.md".into(), bytes: &framed, modified: None };
            FoundSpec::Read(Box::new(read_spec(&spec)))
        });
        read_spec(&Source { path: "EXEC-101.md".into(), bytes: &framed, modified: None });
    });
}
