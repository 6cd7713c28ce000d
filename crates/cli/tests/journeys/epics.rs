//! Two crews with agents of the same names, in two epics. Each agent has its own checkpoint, and each crew its own sync
//! point.

use crate::facts::has_arrived;
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
