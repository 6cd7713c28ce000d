//! Two crews with agents of the same names, in two epics. Each agent has its own checkpoint, and each crew its own sync
//! point.

use crate::facts::has_arrived;
use crate::workers::Who;
use crate::works::Work;

const EPICS: Work = Work::new(
    "crews.toml",
    &["crew:epics/one/Secondary-A", "crew:epics/two/Secondary-A", "crew:epics/two/Agent-Primary"],
    &[],
    |ground| {
        ground.write(
            "crews.toml",
            "[[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_01_form\"\ntype = \"secondary\"\nepic = \"epics/one\"\n\
             [[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02_search\"\ntype = \"secondary\"\nepic = \"epics/two\"\n\
             [[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_03_photos\"\ntype = \"primary\"\nepic = \"epics/two\"\n",
        );
    },
);

/// Two agents of one epic, each with what it is to make.
const TOLD: Work = Work {
    named: "crew.toml",
    units: &["crew:epics/tickets/Agent-Primary", "crew:epics/tickets/Secondary-A"],
    files: &["form.txt", "search.txt"],
    gates: &["test -f README.md"],
    lay: |ground| {
        ground.sets_up("[gates]\ntests = \"test -f README.md\"\n");
        ground.write(
            "crew.toml",
            "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_form\"\ntype = \"primary\"\n\
             text = \"Write form.txt, the form of a ticket.\"\nepic = \"epics/tickets\"\n\
             [[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02_search\"\ntype = \"secondary\"\n\
             text = \"Write search.txt, the search of tickets.\"\nepic = \"epics/tickets\"\n",
        );
    },
};

/// A worker that types each command of its prompt once, also where it is refused, arrives with its first prompt.
#[test]
fn with_agents_that_type_every_command_once() {
    let ground = TOLD.ground(Who::Obedient);
    ground.policy(Who::Obedient, "once");
    let ended = ground.run("crew.toml --yes").end();
    let workers = ended.events.iter().filter(|event| event["event"] == "started").count();
    assert_eq!(workers, 2, "{ended}");
    has_arrived(&ground, &TOLD, ended);
}

crate::with_both! {
    fn with_agents_of_the_same_name(who) {
        let ground = EPICS.ground(who);
        has_arrived(&ground, &EPICS, ground.run("crews.toml --yes").end());
        let features = ["one", "two"].map(|epic| {
            ground.json(&format!("epics/{epic}/agent_checkpoints/secondary_a.json"))["feature"].clone()
        });
        assert_eq!(features, ["feature_01_form", "feature_02_search"]);
    }
}
