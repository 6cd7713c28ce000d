//! No bytes make the reader of pipelines panic.

use piton_dialect::Source;
use piton_dialect::pipeline::layout::File;
use piton_dialect::pipeline::{read, read_checkpoint};
use piton_model::{RetryLimits, Time};

#[test]
fn no_bytes_panic() {
    let now = Time::from_unix_seconds(1_771_081_200);
    bolero::check!().for_each(|bytes: &[u8]| {
        let split = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let (state, checkpoint) = bytes.split_at(split);
        let state = Source { path: ".pipeline/state.json".into(), bytes: state, modified: None };
        let path = ".pipeline/checkpoint-KITE-7.json".into();
        let checkpoint = Source { path, bytes: checkpoint.get(1..).unwrap_or_default(), modified: Some(now) };
        let checkpoints = read_checkpoint(&checkpoint, File::Checkpoint, now).into_iter().collect();
        read(Some(&state), checkpoints, RetryLimits::default(), now, &mut |_| {});
    });
}
