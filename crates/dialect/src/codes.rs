//! Every kind of finding, with its meaning. `docs/findings.md` is made from this list.

use piton_model::Code;

/// Declares codes and the list of them.
macro_rules! codes {
    ($list:ident: $( $(#[doc = $meaning:literal])+ $constant:ident = $severity:ident $name:literal, $help:literal $(=> $verb:ident $fill:literal)?; )+) => {
        $( $(#[doc = $meaning])+
        pub static $constant: piton_model::Code = piton_model::Code {
            name: $name,
            severity: piton_model::Severity::$severity,
            help: $help,
            command: $crate::codes::command!($(($verb, $fill))?),
            meaning: concat!($($meaning, "\n"),+),
        }; )+
        /// The codes declared here.
        pub static $list: &[&piton_model::Code] = &[$(&$constant),+];
    };
}
pub(crate) use codes;

macro_rules! command {
    () => {
        None
    };
    (($verb:ident, $fill:literal)) => {
        Some((&piton_model::hint::verbs::$verb, $fill))
    };
}
pub(crate) use command;

/// All codes, by the dialect they belong to; the first group belongs to all of them.
pub fn all() -> impl Iterator<Item = (&'static str, &'static [&'static Code])> {
    [
        ("any document", ANY),
        ("pipeline", crate::pipeline::codes::PIPELINE),
        ("plan", crate::plan::codes::PLAN),
        ("build", crate::build::codes::BUILD),
        ("task", crate::task::codes::TASK),
        ("crew", crate::crew::codes::CREW),
    ]
    .into_iter()
}

codes! { ANY:
    /// The file could not be opened or read: permissions, a failing disk, or it vanished between listing and reading.
    UNREADABLE = Error "unreadable", "look at the file's permissions and the disk";
    /// A directory, FIFO, socket or device stands where a document should be. It is not opened.
    NOT_A_FILE = Error "not-a-file", "move it away; a document is a regular file";
    /// The document is larger than 16 MB. It is not read, so that one file cannot take the machine's memory.
    TOO_LARGE = Error "too-large", "move what makes it large elsewhere; checkpoints are small";
    /// A symbolic link leads out of the workspace. It is not followed.
    LINK_OUTSIDE = Error "link-outside", "replace the link by the file itself";
    /// The bytes are not UTF-8 (UTF-16 is recognised and named). Nothing can be read from them.
    NOT_UTF8 = Error "not-utf8", "save the file as UTF-8";
    /// A byte order mark stands before the text. It is skipped and kept; many readers of JSON refuse it.
    BYTE_ORDER_MARK = Note "byte-order-mark", "save the file as UTF-8 without a byte order mark";
    /// The text is not JSON. The usual cause is a torn write: the file ends in the middle of a value.
    NOT_JSON = Error "not-json", "restore it from a backup or git, or with" => REPAIR "UNIT";
    /// The document is JSON, but not an object.
    NOT_AN_OBJECT = Error "not-an-object", "restore it from a backup or git, or with" => REPAIR "UNIT";
    /// An object has the same key twice. The last one counts, as in JavaScript; other readers may take the first.
    REPEATED_KEY = Error "repeated-key", "remove one of the two";
    /// A string holds half of a surrogate pair, which no text can hold. It is shown as U+FFFD.
    LONE_SURROGATE = Warning "lone-surrogate", "write the character itself instead of an escape";
    /// A number is too large for any program to compute with.
    HUGE_NUMBER = Error "huge-number", "write a number that fits";
    /// A key that the protocol requires is not there.
    MISSING_KEY = Error "missing-key", "add the key; see what belongs there" => SCHEMA "DIALECT";
    /// A value has another type than the protocol says.
    WRONG_TYPE = Error "wrong-type", "correct the value; see what belongs there" => SCHEMA "DIALECT";
    /// A number lies outside of the range that the protocol allows.
    OUT_OF_RANGE = Error "out-of-range", "correct the number; see the range" => SCHEMA "DIALECT";
    /// A status or verdict is spelled in another way than the protocol spells it, or is a synonym. It is understood.
    WORD_FOLDED = Warning "word-folded", "write the word as the protocol spells it";
    /// A status or verdict is no word of the protocol. It is shown as it is, and the unit is never resumed without a person.
    WORD_UNKNOWN = Error "word-unknown", "use one of the protocol's words; see them" => SCHEMA "DIALECT";
    /// A time is written without a zone, without seconds, as a date alone or in another unusual form. It is read as UTC.
    TIME_ODD = Note "time-odd", "write times as 2026-02-20T11:49:00Z";
    /// Words stand where a time should be (`N/A`, `PAUSED`, `pending`). Another sign decides about life.
    TIME_WORDS = Warning "time-words", "write times as 2026-02-20T11:49:00Z, or leave the key out";
    /// A time lies more than five minutes in the future: invented, or a clock is wrong. It is not believed.
    TIME_FUTURE = Warning "time-future", "take times from the clock: `date -u +%Y-%m-%dT%H:%M:%SZ`";
    /// An id could not be a safe file name. It is shown, but cannot be used in a command.
    BAD_ID = Error "bad-id", "use letters, digits, `.`, `_` and `-`, at most 128, never `..`";
    /// A path in a document is absolute or climbs with `..`. It is shown, and never followed out of the workspace.
    PATH_OUTSIDE = Warning "path-outside", "write paths relative to the workspace";
    /// Something looks like a credential. Documents are committed and shown to agents.
    SECRET = Warning "secret", "revoke it, and remove it from the document and its history";
    /// A file stands where a dialect keeps its documents, but another tool wrote it. It is left alone.
    FOREIGN = Note "foreign", "nothing to do; Piton never writes it";
    /// Two documents describe the same unit. The newer one counts.
    TWO_DOCUMENTS = Warning "two-documents", "archive the older one";
    /// A document has so many findings that the rest was not listed.
    MORE_FINDINGS = Note "more-findings", "correct the first ones and check again";
}
