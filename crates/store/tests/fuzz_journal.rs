//! No bytes make the reader of journals panic, or keep a unit from being opened.

use std::time::Duration;

use piton_model::Time;
use piton_store::journal::Hash;
use piton_store::{History, Key, LockedUnit};
use piton_testkit::CrashDisk;

fn read(bytes: &[u8]) {
    let key = Key {
        dialect: "plan".to_owned(),
        base: String::new(),
        id: "docs".to_owned(),
        folded_id: "docs".to_owned(),
        document: String::new(),
    };
    let disk = CrashDisk::default();
    disk.write_outside(&key.journal(), bytes);
    disk.write_outside("plan.md", b"a document\n");
    let history = History::open(&disk, &key).expect("it opens").expect("it is there");
    let log = history.log().expect("it can be read");
    for event in log.events.iter().take(3) {
        history.version("plan.md", event.seq).expect("it can be read");
    }
    let mut unit = LockedUnit::lock(&disk, key, Duration::ZERO, "test").expect("it can be locked");
    // What a line with the right checksum asks for may be impossible; it is an error then.
    let _ = unit.contact(&["plan.md".to_owned()], Time::from_unix_seconds(1_771_588_140));
}

#[test]
fn no_bytes_panic() {
    bolero::check!().for_each(|bytes: &[u8]| read(bytes));
}

/// Any values in the places of an event, under a checksum that is right.
#[test]
fn no_event_panics() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let mut journal = Vec::new();
        for (number, values) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let mut values = values.split(|byte| *byte == b'|').map(String::from_utf8_lossy);
            let mut next = |otherwise: &str| match values.next() {
                Some(value) if !value.is_empty() => value.into_owned(),
                _ => otherwise.to_owned(),
            };
            let line = format!(
                "{{\"seq\":{},\"at\":\"\",\"attempt\":1,\"by\":\"a\",\"event\":\"b\",\"summary\":\"\",\"files\":[{}],\
                 \"documents\":[[\"plan.md\",null,null,{},0,0]],\"previous\":null",
                next(&(number + 1).to_string()),
                next("{\"write\":\"plan.md\",\"aside\":\".plan.md.x\",\"before\":null,\"after\":null,\"splice\":[0,0,\"\"]}"),
                next("0"),
            );
            let sum = Hash::of(line.as_bytes());
            journal.extend_from_slice(format!("{line},\"sum\":\"{sum}\"}}\n").as_bytes());
        }
        read(&journal);
    });
}
