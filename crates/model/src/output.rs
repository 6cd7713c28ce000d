//! What a specification lists as an output: a file, a pattern, either with a remark, or words that name no file.

/// An output that can be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A file or a directory.
    File(String),
    /// Every file whose name fits: `*` and `?` within a part of the path, `**` for any parts.
    Pattern(String),
}

/// What begins a remark behind a name.
const REMARKS: [char; 7] = ['(', '-', '–', '—', '#', ':', ','];

impl Output {
    /// Reads an output as it was written. Nothing when it names no file that has to be there: a sentence, a path out of the
    /// workspace, a file that is to be removed.
    pub fn read(text: &str) -> Option<Output> {
        let text = text.trim();
        let (name, remark) = match text.split_once(char::is_whitespace) {
            Some((name, remark)) => (name, remark.trim_start()),
            None => without_suffix(text),
        };
        let ends = name.ends_with([':', ',']) && !remark.is_empty();
        let name = name.trim_end_matches([':', ',']).trim_matches('`').trim_start_matches("./");
        // A name alone, with a remark, may be that of a file in any directory.
        let is_remark = remark.is_empty() || (ends || remark.starts_with(REMARKS)) && name.contains('/');
        let lower = remark.to_lowercase();
        let is_sign = |letter: char| letter == ' ' || REMARKS.contains(&letter);
        let is_removed = ["delete", "remove"].iter().any(|word| lower.trim_start_matches(is_sign).starts_with(word));
        if !is_remark || is_removed || !is_path(name) {
            return None;
        }
        Some(match name.contains(['*', '?']) {
            true => Output::Pattern(name.to_owned()),
            false => Output::File(name.to_owned()),
        })
    }

    /// The name or the pattern.
    pub fn name(&self) -> &str {
        match self {
            Output::File(name) | Output::Pattern(name) => name,
        }
    }

    /// Whether a file is this output, or in it when it is a directory.
    pub fn is(&self, path: &str) -> bool {
        match self {
            Output::File(name) => {
                let below = path.strip_prefix(name.trim_end_matches('/'));
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            }
            Output::Pattern(pattern) => {
                let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
                fits_parts(&pattern, &path)
            }
        }
    }
}

/// A name and what stands in brackets directly behind it: `app.ts(new)`. A part of a path may be all in brackets.
fn without_suffix(text: &str) -> (&str, &str) {
    let open = text.rfind('(').filter(|at| text.ends_with(')') && *at > 0 && !text[..*at].ends_with('/'));
    open.map_or((text, ""), |at| text.split_at(at))
}

/// Whether a text is a path in the workspace. Brackets are letters of it, as some frameworks have them.
fn is_path(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(['/', '-', ':'])
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "{}\\<>".contains(c))
        && (text.contains(['.', '/']) || is_named_like_a_file(text))
        && !text.split('/').any(|part| part == "..")
}

/// Whether a word without an ending is a file by custom: `Makefile`, `Dockerfile`, `LICENSE`.
fn is_named_like_a_file(text: &str) -> bool {
    let is_name = text.len() > 4 && text.ends_with("file");
    let is_notice = ["LICENSE", "NOTICE", "README", "CHANGELOG", "AUTHORS", "VERSION", "CODEOWNERS", "COPYING"];
    is_name || is_notice.contains(&text)
}

fn fits_parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        // `dir/**` and `dir/*/` name what is below.
        (["**" | ""], _) => !path.is_empty(),
        (["**", rest @ ..], _) => {
            fits_parts(rest, path) || path.split_first().is_some_and(|(_, below)| fits_parts(pattern, below))
        }
        ([first, rest @ ..], [part, below @ ..]) => {
            fits(&first.chars().collect::<Vec<_>>(), &part.chars().collect::<Vec<_>>()) && fits_parts(rest, below)
        }
        _ => false,
    }
}

/// Whether a part of a path fits a part of a pattern.
fn fits(pattern: &[char], part: &[char]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < part.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == part[place] => (at, place) = (at + 1, place + 1),
            _ => match star {
                // The last star takes one letter more.
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    (at, place) = (back + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::Output;

    fn file(name: &str) -> Option<Output> {
        Some(Output::File(name.to_owned()))
    }

    fn pattern(name: &str) -> Option<Output> {
        Some(Output::Pattern(name.to_owned()))
    }

    #[test]
    fn output_is_told_from_its_remark_and_from_other_words() {
        for (text, want) in [
            ("src/lib.rs", file("src/lib.rs")),
            ("./src/lib.rs", file("src/lib.rs")),
            ("WS1.txt", file("WS1.txt")),
            ("docs/", file("docs/")),
            (".gitignore", file(".gitignore")),
            ("types/db.ts (regenerated)", file("types/db.ts")),
            ("lib/server.ts (modified — inline calls)", file("lib/server.ts")),
            ("`types/db.ts` - new", file("types/db.ts")),
            ("types/db.ts: regenerated", file("types/db.ts")),
            ("types/app.ts(new)", file("types/app.ts")),
            ("app.ts(new)", None),
            ("app/(shop)/layout.tsx", file("app/(shop)/layout.tsx")),
            ("app/(shop)", file("app/(shop)")),
            ("app/slips/[id]/route.ts", file("app/slips/[id]/route.ts")),
            ("migrations/*_add_till.sql", pattern("migrations/*_add_till.sql")),
            ("migrations/*_x.sql (new)", pattern("migrations/*_x.sql")),
            ("hooks/mtl/**", pattern("hooks/mtl/**")),
            ("", None),
            ("Dockerfile", file("Dockerfile")),
            ("justfile", file("justfile")),
            ("LICENSE", file("LICENSE")),
            ("file", None),
            ("schema", None),
            ("the whole schema.", None),
            ("ADR-015 changelog update", None),
            ("safety.test.ts (extended)", None),
            ("lib/rpc.ts (DELETED)", None),
            ("lib/rpc.ts - removed", None),
            ("/etc/passwd", None),
            ("../x.txt", None),
            ("a/../b.txt", None),
            ("-rf.txt", None),
            (":(top)x.txt", None),
            ("src/{a,b}.rs", None),
        ] {
            assert_eq!(Output::read(text), want, "{text:?}");
            if let Some(output) = want {
                assert_eq!(Output::read(output.name()), Some(output), "read again");
            }
        }
    }

    #[test]
    fn path_is_an_output_or_is_not() {
        for (output, path, want) in [
            ("a/b.txt", "a/b.txt", true),
            ("a/b.txt", "a/b.txt.old", false),
            ("docs/", "docs/x.md", true),
            ("docs/", "docs2/x.md", false),
            ("m/*_x.sql", "m/0001_x.sql", true),
            ("m/*_x.sql", "m/0001_x.sql.bak", false),
            ("m/*_x.sql", "m/deep/0001_x.sql", false),
            ("m/**/x.sql", "m/x.sql", true),
            ("m/**/x.sql", "m/a/b/x.sql", true),
            ("m/**", "m/a/b", true),
            ("m/**", "n/a", false),
            ("**/*.sql", "a/b.sql", true),
            ("m/?.sql", "m/ab.sql", false),
            ("app/[id]/*.ts", "app/[id]/route.ts", true),
        ] {
            assert_eq!(Output::read(output).expect("an output").is(path), want, "{output} {path}");
        }
    }
}
