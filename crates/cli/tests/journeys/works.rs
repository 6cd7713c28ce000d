//! The work of the journeys: one small piece in each dialect, with what has to be on `main` when it is done.

use crate::ground::Ground;
use crate::workers::Who;

/// A piece of work, in a repository of its own.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// What is typed behind `piton run`.
    pub named: &'static str,
    /// Its units.
    pub units: &'static [&'static str],
    /// Files that the work makes, whoever does it.
    pub files: &'static [&'static str],
    /// Commands that have to pass on `main`.
    pub gates: &'static [&'static str],
    /// Writes what there is to do.
    pub lay: fn(&Ground),
}

impl Work {
    /// Work whose gates are its own business.
    pub const fn new(
        named: &'static str,
        units: &'static [&'static str],
        files: &'static [&'static str],
        lay: fn(&Ground),
    ) -> Work {
        Work { named, units, files, gates: &[], lay }
    }

    /// A repository with this work in it, committed, and nothing begun.
    pub fn ground(&self, who: Who) -> Ground {
        self.ground_with(who, "")
    }

    /// The same, with more settings of the run.
    pub fn ground_with(&self, who: Who, settings: &str) -> Ground {
        let mut ground = Ground::new(who);
        ground.settings(settings);
        ground.sets_up("");
        (self.lay)(&ground);
        ground.commit("what there is to do");
        ground
    }

    /// What is typed behind `piton run` and `piton approve --commands`, with a space before it.
    pub fn arguments(&self) -> String {
        if self.named.is_empty() { String::new() } else { format!(" {}", self.named) }
    }
}

/// Two stories, one after the other.
pub const STORIES: Work = Work {
    named: "",
    units: &["pipeline:PROJ-1", "pipeline:PROJ-2"],
    files: &["greeting.txt", "farewell.txt"],
    gates: &["test -f greeting.txt"],
    lay: |ground| {
        ground.sets_up(
            "[gates]\ngreets = \"test -f greeting.txt\"\n\
             [[stories]]\nid = \"PROJ-1\"\ntitle = \"Greet\"\ntext = \"Make the file greeting.txt with a greeting.\"\n\
             [[stories]]\nid = \"PROJ-2\"\ntitle = \"Part\"\ntext = \"Make the file farewell.txt with a farewell.\"\n\
             depends_on = [\"PROJ-1\"]\n",
        );
    },
};

/// A plan of two phases, the first with two tasks and a criterion that is run.
pub const PLAN: Work = Work {
    named: "plan:260301-0900-hut",
    units: &["plan:260301-0900-hut"],
    files: &["dig.txt", "pour.txt", "lay.txt"],
    gates: &["test -f dig.txt && test -f pour.txt"],
    lay: |ground| {
        ground.sets_up("[gates]\nholds = \"test -f dig.txt && test -f pour.txt\"\n");
        ground.write(PLAN_FILE, PLAN_TEXT);
    },
};

pub const PLAN_FILE: &str = "plans/260301-0900-hut/plan.md";

pub const PLAN_TEXT: &str = "# A hut\n\nIt stands in the garden.\n\n## Ground\n<!-- CHECKPOINT: ground -->\n\
- [ ] Dig the pit <!-- TASK: dig -->\n- [ ] Pour the concrete <!-- TASK: pour -->\n\
- [ ] It holds <!-- ACCEPT: holds -->\n\n## Walls\n<!-- CHECKPOINT: walls -->\n- [ ] Lay the bricks <!-- TASK: lay -->\n";

/// A build of three phases, the second with two workstreams.
pub const BUILD: Work = Work {
    named: "docs/EXECUTION-SPEC-PRD-031.md",
    units: &["build:PRD-031"],
    files: &["floor.txt", "wall.txt", "door.txt", "roof.txt"],
    gates: &["test -f floor.txt", "test -f wall.txt && test -f door.txt", "test -f roof.txt"],
    lay: |ground| ground.write("docs/EXECUTION-SPEC-PRD-031.md", SPECIFICATION),
};

pub const SPECIFICATION: &str = "---\nprd: PRD-031\nprd_title: A shed\nworkstreams:\n  \
WS1:\n    name: Floor\n    outputs: [floor.txt]\n    gate: level\n  \
WS2:\n    name: Walls\n    depends_on: [WS1]\n    outputs: [wall.txt]\n  \
WS3:\n    name: Door\n    depends_on: [WS1]\n    outputs: [door.txt]\n  \
WS4:\n    name: Roof\n    depends_on: [WS2, WS3]\n    outputs: [roof.txt]\n\
execution_phases:\n  - name: Ground\n    parallel: [WS1]\n    gates: [level]\n  \
- name: Walls\n    parallel: [WS2, WS3]\n    gates: [stands]\n  \
- name: Top\n    parallel: [WS4]\n    gates: [dry]\n\
gates:\n  level:\n    command: ls | grep -q floor\n  stands:\n    command: ls | grep -q wall && ls | grep -q door\n  \
dry:\n    command: ls | grep -q roof\n---\n# A shed\n";

/// Two tasks of two agents, one after the other, with a criterion that is run and one that the agent judges.
pub const TASKS: Work = Work {
    named: "tasks.toml",
    units: &["task:copy/T01", "task:photo/T02"],
    files: &[],
    gates: &["test -f README.md"],
    lay: |ground| {
        ground.sets_up("[gates]\nreadable = \"test -f README.md\"\n");
        ground.write(
            "tasks.toml",
            "[[tasks]]\nagent = \"copy\"\nid = \"T01\"\ntitle = \"Describe the saddles\"\nsubtasks = [\"one\", \"two\"]\n\
             acceptance_criteria = [\"readable\", \"friendly\"]\n\
             [[tasks]]\nagent = \"photo\"\nid = \"T02\"\ntitle = \"Show the saddles\"\nsubtasks = [\"left\", \"right\"]\n\
             acceptance_criteria = [\"readable\", \"friendly\"]\ndepends_on = [\"T01\"]\n",
        );
    },
};

/// Three agents of a crew in two waves.
pub const CREW: Work = Work {
    named: "crew.toml",
    units: &["crew:Agent-Primary", "crew:Secondary-A", "crew:Secondary-B"],
    files: &[],
    gates: &[],
    lay: |ground| {
        ground.write(
            "crew.toml",
            "[[agents]]\nagent = \"Agent-Primary\"\nfeature = \"feature_01_form\"\ntype = \"primary\"\n\
             [[agents]]\nagent = \"Secondary-A\"\nfeature = \"feature_02_search\"\ntype = \"secondary\"\n\
             [[agents]]\nagent = \"Secondary-B\"\nfeature = \"feature_03_photos\"\ntype = \"secondary\"\nwave = 2\n",
        );
    },
};
