//! Markdown that makes a careless parser slow.

use super::healthy;

const TEN_MEGABYTES: usize = 10 * 1024 * 1024;

fn filled(with: &str) -> String {
    with.repeat(TEN_MEGABYTES / with.len())
}

#[test]
fn ten_megabytes_of_anything_take_linear_time() {
    for (row, text) in [
        ("prefixes of markers", filled("- [ ] <!-- TASK:")),
        ("prefixes of markers, a line each", filled("- [ ] <!-- TASK:\n")),
        ("whole markers", filled("- [ ] a <!-- TASK: a -->\n")),
        ("backticks", filled("`")),
        ("runs of backticks of growing length", backticks()),
        ("fences", filled("```\n")),
        ("nested bullets", filled("- ")),
        ("nested bullets on many lines", filled(&format!("{}\n", "- ".repeat(500)))),
        ("nested quotes", filled("> ")),
        ("openers of comments", filled("<!--")),
        ("openers of comments, a line each", filled("<!--\n")),
        ("closers of comments", filled("-->")),
        ("openers of tags", filled("<a ")),
        ("declarations", filled("<!A ")),
        ("instructions", filled("<?")),
        ("brackets", filled("[")),
        ("stars", filled("*a ")),
        ("headings", filled("# \n")),
        ("underlines", filled("a\n===\n")),
        ("tabs", filled("\t")),
        ("NUL bytes", filled("\0")),
        ("carriage returns", filled("- [ ] a\r")),
        ("a long line", filled("a")),
    ] {
        let workspace = healthy();
        workspace.write("plans/p/plan.md", &text);
        let before = workspace.fingerprint();
        let check = workspace.run(&["check"]);
        assert!(matches!(check.code, Some(0 | 3)), "{row}: {}", check.transcript());
        assert_eq!(workspace.fingerprint(), before, "{row}");
    }
}

/// Whatever markup is opened and never closed is searched for again at every opening.
#[test]
fn markup_without_an_end_takes_linear_time() {
    for markup in ["<?", "<![CDATA[", "<!A ", "<b", "<a b=\"", "<a b='c", "<a ", "<a@"] {
        let workspace = healthy();
        workspace.write("plans/p/plan.md", format!("a <!-- x --> {}", filled(markup)));
        let check = workspace.run(&["check"]);
        assert!(matches!(check.code, Some(0 | 3)), "{markup}: {}", check.transcript());
    }
}

/// Each line costs as much as there are open containers.
#[test]
fn lines_after_deep_nesting_take_linear_time() {
    let nested = "- ".repeat(50_000);
    for (row, text) in [
        ("blank lines", format!("{nested}x{}", filled("\n"))),
        ("blank lines in a fence", format!("{nested}```{}", filled("\n"))),
        ("text", format!("{nested}x{}", filled("\ny"))),
        ("indented text", format!("{}x{}", "- ".repeat(3_000), filled(&format!("\n{}x", " ".repeat(6_000))))),
        ("quotes and bullets", filled(&format!("{}\n", "> - ".repeat(2_000)))),
    ] {
        let workspace = healthy();
        workspace.write("plans/p/plan.md", &text);
        let check = workspace.run(&["check"]);
        assert!(matches!(check.code, Some(0 | 3)), "{row}: {}", check.transcript());
    }
}

fn backticks() -> String {
    let mut text = String::with_capacity(TEN_MEGABYTES);
    let mut length = 1;
    while text.len() < TEN_MEGABYTES {
        text.push_str(&"`".repeat(length));
        text.push('a');
        length += 1;
    }
    text
}
