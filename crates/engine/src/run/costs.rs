//! What the workers of a lane cost, each counted once, whoever judged its end.

use piton_supervisor::{Spent, Tokens};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// What is known of the costs of a lane.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Costs(Vec<Cost>);

/// What one worker cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cost {
    /// Its home, by which it is known.
    pub home: String,
    /// The run in which it ended.
    pub run: u64,
    /// The attempt of its unit.
    pub attempt: u64,
    pub session: Option<String>,
    /// What it cost itself.
    pub own: Spent,
    /// What its session had cost at its end, as the client counts.
    total: Spent,
}

impl Costs {
    /// Adds what a worker's session has cost at its end. A worker that was counted before, by a lead that died after
    /// that, is not counted again.
    pub fn add(&mut self, home: &str, (run, attempt): (u64, u64), session: Option<&str>, total: Spent) {
        if self.0.iter().any(|cost| cost.home == home) {
            return;
        }
        let own = self.beyond(session, total);
        let (home, session) = (home.to_owned(), session.map(str::to_owned));
        self.0.push(Cost { home, run, attempt, session, own, total });
    }

    /// What a session cost beyond what its earlier workers did.
    pub fn beyond(&self, session: Option<&str>, total: Spent) -> Spent {
        let is_before = |cost: &&Cost| cost.session.is_some() && cost.session.as_deref() == session;
        let known = self.0.iter().rev().filter(is_before).find(|cost| !cost.total.is_unknown());
        total.beyond(&known.map(|cost| cost.total).unwrap_or_default())
    }

    /// Those of one run.
    fn of_run(&self, run: u64) -> impl Iterator<Item = &Cost> {
        self.0.iter().filter(move |cost| cost.run == run)
    }

    /// All of a run together.
    pub fn sum(&self, run: u64) -> Spent {
        self.of_run(run).fold(Spent::default(), |sum, cost| sum.and(&cost.own))
    }

    /// How many workers of a run did not say what they cost: those that were killed.
    pub fn unknown(&self, run: u64) -> usize {
        self.of_run(run).filter(|cost| cost.own.is_unknown()).count()
    }

    /// Each worker's of a run, for reports.
    pub fn report(&self, run: u64) -> Vec<Value> {
        let each = |cost: &Cost| {
            json!({
                "worker": cost.home.rsplit('/').next(),
                "attempt": cost.attempt,
                "cost_usd": cost.own.usd,
                "input_tokens": cost.own.tokens.map(|tokens| tokens.input),
                "output_tokens": cost.own.tokens.map(|tokens| tokens.output),
            })
        };
        self.of_run(run).map(each).collect()
    }

    fn to_json(&self) -> Value {
        let each = |cost: &Cost| {
            json!({
                "home": cost.home,
                "run": cost.run,
                "attempt": cost.attempt,
                "session": cost.session,
                "own": spent_json(&cost.own),
                "total": spent_json(&cost.total),
            })
        };
        self.0.iter().map(each).collect()
    }

    fn from_json(value: &Value) -> Costs {
        let each = |cost: &Value| {
            Some(Cost {
                home: cost["home"].as_str()?.to_owned(),
                run: cost["run"].as_u64().unwrap_or(0),
                attempt: cost["attempt"].as_u64().unwrap_or(0),
                session: cost["session"].as_str().map(str::to_owned),
                own: spent(&cost["own"]),
                total: spent(&cost["total"]),
            })
        };
        Costs(value.as_array().into_iter().flatten().filter_map(each).collect())
    }
}

impl Serialize for Costs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Costs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Costs, D::Error> {
        Value::deserialize(deserializer).map(|value| Costs::from_json(&value))
    }
}

fn spent_json(spent: &Spent) -> Value {
    json!({ "usd": spent.usd, "tokens": spent.tokens.map(|tokens| [tokens.input, tokens.output]) })
}

fn spent(value: &Value) -> Spent {
    let tokens = |value: &Value| Some(Tokens { input: value.get(0)?.as_u64()?, output: value.get(1)?.as_u64()? });
    Spent { usd: value["usd"].as_f64(), tokens: tokens(&value["tokens"]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(usd: f64) -> Spent {
        Spent { usd: Some(usd), tokens: None }
    }

    #[test]
    fn a_resumed_session_is_counted_once_and_so_is_a_worker() {
        let mut costs = Costs::default();
        costs.add("w/1", (1, 1), Some("a"), usd(0.25));
        // Killed: it says nothing, and its successor goes on from what the one before said.
        costs.add("w/2", (1, 2), Some("a"), Spent::default());
        costs.add("w/3", (1, 3), Some("a"), usd(0.75));
        costs.add("w/3", (1, 3), Some("a"), usd(0.75));
        costs.add("w/4", (1, 4), Some("b"), usd(0.5));
        costs.add("w/5", (1, 5), None, usd(0.5));
        assert_eq!(costs.sum(1), usd(1.75));
        assert_eq!(costs.unknown(1), 1);
        assert_eq!(costs.beyond(Some("b"), usd(0.75)), usd(0.25), "of one that still runs");
        assert_eq!(Costs::from_json(&costs.to_json()), costs);
    }

    #[test]
    fn tokens_are_kept_where_there_is_no_price() {
        let tokens = |input, output| Spent { usd: None, tokens: Some(Tokens { input, output }) };
        let mut costs = Costs::default();
        costs.add("w/1", (1, 1), Some("a"), tokens(100, 10));
        costs.add("w/2", (1, 2), Some("a"), tokens(300, 15));
        assert_eq!(costs.sum(1), tokens(300, 15));
        assert_eq!(costs.report(1)[1]["input_tokens"], 200);
        assert_eq!(costs.report(1)[1]["cost_usd"], Value::Null);
        assert_eq!(Costs::from_json(&costs.to_json()), costs);
    }

    #[test]
    fn each_run_counts_its_own_workers_and_a_session_goes_on_in_the_next() {
        let mut costs = Costs::default();
        costs.add("w/1", (1, 1), Some("a"), usd(0.25));
        costs.add("w/2", (2, 2), Some("a"), usd(0.75));
        costs.add("w/3", (2, 3), None, Spent::default());
        assert_eq!((costs.sum(1), costs.sum(2), costs.sum(3)), (usd(0.25), usd(0.5), Spent::default()));
        assert_eq!((costs.unknown(1), costs.unknown(2), costs.report(2).len()), (0, 1, 2));
        assert_eq!(Costs::from_json(&costs.to_json()), costs);
    }
}
