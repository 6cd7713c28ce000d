use std::fs;
use std::time::{Duration, Instant};

use piton_supervisor::{Condition, Launch, Wake, Watch, Worker};

use crate::lab::{Lab, PATIENCE, program};

/// As many as the whole suite can bear; three hundred were measured with the same code.
fn how_many() -> u64 {
    std::env::var("PITON_TEST_WORKERS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn many_workers_cost_their_lead_next_to_nothing() {
    let lab = Lab::new();
    let launch = Launch { argv: vec!["/bin/sleep".into(), "1000".into()], ..lab.launch("") };
    let homes: Vec<_> = (0..how_many()).map(|_| lab.start_launch(&launch).home().to_owned()).collect();
    // Whoever adopts them pays from here.
    let (time, begun) = (processor_time(), Instant::now());
    let workers: Vec<_> = homes.iter().map(|home| Worker::adopt(&program(), home).expect("it is there")).collect();
    let mut watch = Watch::new().expect("there is epoll");
    for (number, worker) in (0..).zip(&workers) {
        assert!(matches!(worker.condition(), Ok(Condition::Running { worker: Some(_) })));
        watch.add(number, worker).expect("it can be watched");
    }
    let adopted = processor_time() - time;
    let (time, steady) = (processor_time(), Instant::now());
    while steady.elapsed() < Duration::from_secs(2) {
        assert_eq!(watch.wait(Some(Duration::from_millis(500))).expect("it can be waited for"), []);
        for worker in &workers {
            worker.signs().expect("they can be read");
        }
    }
    let share = (processor_time() - time).as_secs_f64() / steady.elapsed().as_secs_f64();
    let count = workers.len();
    println!("{count} adopted for {adopted:?} of processor time, then {:.2} % of a core", share * 100.0);
    assert!(adopted > Duration::ZERO, "the kernel does not count");
    assert!(share < 0.05, "{share}");
    for worker in &workers {
        worker.stop_now().expect("it can be stopped");
    }
    let mut ended = 0;
    while ended < workers.len() {
        assert!(begun.elapsed() < PATIENCE * 2, "{ended} of {}", workers.len());
        for wake in watch.wait(Some(PATIENCE)).expect("it can be waited for") {
            let Wake::Worker(number) = wake else { panic!("{wake:?}") };
            let condition = workers[number as usize].condition().expect("it can be read");
            assert!(matches!(condition, Condition::Ended(_)), "{condition:?}");
            ended += 1;
        }
    }
    lab.assert_empty("");
}

/// What this thread has used: others of these tests run beside it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    Duration::from_nanos(nanoseconds)
}
