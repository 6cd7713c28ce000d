//! Cycles in what depends on what, found without recursion and in linear time.

/// Finds cycles. `edges[n]` are the nodes that node `n` depends on; a cycle is given in the order in which each
/// node depends on the next.
///
/// Every node that cannot be ordered belongs to one of the cycles or depends on one; cycles that share a node are
/// reported once.
pub fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let stuck = unordered(edges);
    let next = |node: usize| {
        let found = edges[node].iter().copied().find(|dependency| stuck[*dependency]);
        found.expect("a node that cannot be ordered depends on another such node")
    };
    let mut walk_of = vec![0usize; edges.len()];
    let mut cycles = Vec::new();
    for start in (0..edges.len()).filter(|node| stuck[*node]) {
        let walk = start + 1;
        let mut node = start;
        while walk_of[node] == 0 {
            walk_of[node] = walk;
            node = next(node);
        }
        if walk_of[node] != walk {
            continue;
        }
        let mut cycle = vec![node];
        let mut member = next(node);
        while member != node {
            cycle.push(member);
            member = next(member);
        }
        cycles.push(cycle);
    }
    cycles
}

/// Names a cycle: `a → b → a`, with the middle of a long one left out.
pub fn describe<'a>(cycle: &[usize], name: impl Fn(usize) -> &'a str) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<_> = cycle.iter().take(SHOWN).map(|node| name(*node)).collect();
    let left_out = format!("({} more)", cycle.len().saturating_sub(SHOWN));
    if cycle.len() > SHOWN {
        names.push(&left_out);
    }
    names.extend(cycle.first().map(|node| name(*node)));
    names.join(" → ")
}

/// Which nodes are left when nodes without open dependencies are taken away again and again.
fn unordered(edges: &[Vec<usize>]) -> Vec<bool> {
    let mut open: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); edges.len()];
    for (node, dependencies) in edges.iter().enumerate() {
        for dependency in dependencies {
            dependents[*dependency].push(node);
        }
    }
    let mut ready: Vec<usize> = (0..edges.len()).filter(|node| open[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for dependent in &dependents[node] {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    open.into_iter().map(|count| count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cycle_is_named_once() {
        for (edges, want) in [
            (vec![], vec![]),
            (vec![vec![], vec![0], vec![0, 1]], vec![]),
            (vec![vec![0]], vec![vec![0]]),
            (vec![vec![1], vec![2], vec![0]], vec![vec![0, 1, 2]]),
            (vec![vec![1], vec![0], vec![1], vec![2]], vec![vec![0, 1]]),
            (vec![vec![1], vec![0], vec![3], vec![2]], vec![vec![0, 1], vec![2, 3]]),
            (vec![vec![1, 1], vec![]], vec![]),
        ] {
            assert_eq!(cycles(&edges), want, "{edges:?}");
        }
    }

    #[test]
    fn a_cycle_of_a_hundred_thousand_is_found_and_named_in_short() {
        let size = 100_000;
        let edges: Vec<_> = (0..size).map(|node| vec![(node + 1) % size]).collect();
        let found = cycles(&edges);
        assert_eq!((found.len(), found[0].len()), (1, size));
        let names = ["a", "b"];
        assert_eq!(describe(&found[0], |node| names[node % 2]), "a → b → a → b → a → b → a → b → (99992 more) → a");
        assert_eq!(describe(&[0, 1], |node| names[node]), "a → b → a");
    }
}
