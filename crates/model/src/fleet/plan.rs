//! What can be said before anything starts: cycles, and the waves in which lanes would begin.

use super::{Fleet, LaneAt};

/// Lanes that wait for each other, each for the next, the last one for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<LaneAt>);

/// Finds lanes that wait for each other; `edges[a]` are those that `a` waits for.
pub fn find_cycle(edges: &[Vec<LaneAt>]) -> Option<Cycle> {
    // 0: not seen, 1: on the way, 2: free of cycles.
    let mut marks = vec![0_u8; edges.len()];
    for start in 0..edges.len() {
        let mut way: Vec<(LaneAt, usize)> = Vec::new();
        if marks[start] == 0 {
            marks[start] = 1;
            way.push((start, 0));
        }
        while let Some((at, next)) = way.last_mut() {
            let Some(to) = edges[*at].get(*next).copied() else {
                marks[*at] = 2;
                way.pop();
                continue;
            };
            *next += 1;
            match marks[to] {
                0 => {
                    marks[to] = 1;
                    way.push((to, 0));
                }
                1 => {
                    let from = way.iter().position(|(at, _)| *at == to).unwrap_or(0);
                    return Some(Cycle(way[from..].iter().map(|(at, _)| *at).collect()));
                }
                _ => {}
            }
        }
    }
    None
}

/// The lanes by the wave in which each could begin at the earliest, if every lane took the same time and there were
/// room for all. The fleet must be free of cycles.
pub fn waves(fleet: &Fleet) -> Vec<Vec<LaneAt>> {
    let mut left: Vec<LaneAt> = (0..fleet.lanes.len()).collect();
    let mut waves: Vec<Vec<LaneAt>> = Vec::new();
    while !left.is_empty() {
        let is_waiting_for = |at: &LaneAt, other: &LaneAt| {
            let (lane, other_lane) = (&fleet.lanes[*at], &fleet.lanes[*other]);
            lane.depends_on.contains(other) || (lane.group == other_lane.group && other_lane.phase < lane.phase)
        };
        let (mut wave, rest): (Vec<_>, Vec<_>) =
            left.iter().partition(|at| !left.iter().any(|other| is_waiting_for(at, other)));
        if wave.is_empty() {
            // A cycle; whoever asked has been told already.
            waves.push(rest);
            break;
        }
        wave.sort_by_key(|at| (fleet.lanes[*at].priority, *at));
        waves.push(wave);
        left = rest;
    }
    waves
}
