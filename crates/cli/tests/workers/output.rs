use std::fs;
use std::time::{Duration, Instant};

use piton_supervisor::{Condition, Exit, Line, LineReader, Spool, Stream, tail};

use crate::lab::{Lab, end_of, until};

const GIGABYTE: u64 = 1 << 30;

#[test]
fn a_gigabyte_of_output_fills_neither_disk_nor_memory() {
    let lab = Lab::new();
    let worker = lab.start("head -c 1073741824 /dev/zero; echo; echo the end; echo oops >&2; exec sleep 1000");
    let mut largest = 0;
    until("all of it came", || {
        largest = largest.max(disk_use(worker.home()));
        worker.signs().expect("they can be read").out == GIGABYTE + 9
    });
    let keeper = fs::read_to_string(worker.home().join("keeper")).expect("it is there");
    let pid = keeper.split(' ').next().expect("a pid");
    let memory = peak_memory_kib(pid);
    assert!(memory < 30 << 10, "the keeper used {memory} KiB");
    assert!(largest < 8 << 20, "{largest} bytes were on disk");
    worker.stop_now().expect("it can be stopped");
    let end = end_of(&worker);
    assert_eq!((end.signs.out, end.signs.err), (GIGABYTE + 9, 5));
    let out = tail(worker.home(), Stream::Out, worker.spool(), 10).expect("it is kept");
    assert_eq!(out, b"\0\nthe end\n");
    let mut lines = Vec::new();
    let mut reader = LineReader::new(worker.home(), Stream::Out, worker.spool());
    while reader.read(&mut |line: Line<'_>| lines.push((line.bytes.len(), line.is_cut))).expect("it can be read") {}
    assert_eq!(lines, [(7, false)], "what was lost of the long line is not taken for a line");
}

#[test]
fn beginning_and_end_are_kept() {
    let lab = Lab::new();
    let mut launch = lab.launch("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done");
    launch.spool = Spool { segment: 1000 };
    let worker = lab.start_launch(&launch);
    assert_eq!(end_of(&worker).exit, Exit::Code(0));
    let mut lines = Vec::new();
    let mut reader = LineReader::new(worker.home(), Stream::Out, launch.spool);
    let mut keep = |line: Line<'_>| lines.push(String::from_utf8(line.bytes.to_vec()).expect("it is text"));
    while reader.read(&mut keep).expect("it can be read") {}
    reader.finish(&mut keep);
    assert_eq!(lines[0], "line 0");
    assert_eq!(lines.last().map(String::as_str), Some("line 1999"));
    let numbers: Vec<u32> = lines.iter().map(|line| line[5..].parse().expect("a whole line")).collect();
    let gaps = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    assert_eq!(gaps, 1, "{numbers:?}");
    assert!(numbers.len() > 200 && numbers.len() < 350, "{}", numbers.len());
}

#[test]
fn a_pipe_that_a_grandchild_holds_open_is_not_waited_for() {
    let lab = Lab::new();
    let begun = Instant::now();
    // What it holds open it also fills, for ever.
    let worker = lab.start("setsid sh -c 'while :; do echo more; done' & sleep 0.05; echo done >&2; exit 0");
    let end = end_of(&worker);
    assert_eq!(end.exit, Exit::Code(0));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    lab.assert_empty("");
}

#[test]
fn a_worker_that_fills_its_pipe_is_never_stuck() {
    let lab = Lab::new();
    let worker = lab.start("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; exit 5");
    let end = end_of(&worker);
    assert_eq!((end.exit, end.signs.out, end.signs.err), (Exit::Code(5), 3_000_000, 3_000_000));
}

#[test]
fn signs_of_life_are_seen_while_it_runs() {
    let lab = Lab::new();
    let go = lab.path("go");
    let script = format!("echo one; while [ ! -e {} ]; do sleep 0.01; done; echo two; sleep 1000", go.display());
    let worker = lab.start(&script);
    until("the first line is counted", || worker.signs().expect("they can be read").out == 4);
    let first = worker.signs().expect("they can be read").last.expect("there was output");
    fs::write(go, "").expect("it can be written");
    until("the second line is counted", || worker.signs().expect("they can be read").out == 8);
    assert!(worker.signs().expect("they can be read").last.expect("there was output") >= first);
    assert!(matches!(worker.condition(), Ok(Condition::Running { worker: Some(_) })));
    worker.stop_now().expect("it can be stopped");
    end_of(&worker);
}

#[test]
fn work_that_prints_nothing_is_seen_by_its_processor_time() {
    let lab = Lab::new();
    let idle = lab.start("sleep 1000");
    let busy = lab.start("setsid sh -c 'while :; do :; done' & wait");
    until("it has used some", || busy.processor_time() > Duration::from_millis(100));
    assert!(idle.processor_time() < Duration::from_millis(100));
    for worker in [idle, busy] {
        worker.stop_now().expect("it can be stopped");
        end_of(&worker);
    }
}

fn disk_use(directory: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}

fn peak_memory_kib(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("there is a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
