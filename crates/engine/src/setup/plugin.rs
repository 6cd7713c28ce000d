//! The plugin for Claude Code, as this program carries it: a marketplace of one, in a directory of the user's.

use std::fs;
use std::io;
use std::path::Path;

/// Its files, below the directory that the client is told of.
const FILES: [(&str, &str); 14] = [
    (".claude-plugin/marketplace.json", include_str!("../../../../.claude-plugin/marketplace.json")),
    ("plugin/.claude-plugin/plugin.json", include_str!("../../../../plugin/.claude-plugin/plugin.json")),
    ("plugin/.mcp.json", include_str!("../../../../plugin/.mcp.json")),
    ("plugin/LICENSE", include_str!("../../../../plugin/LICENSE")),
    ("plugin/README.md", include_str!("../../../../plugin/README.md")),
    ("plugin/commands/check.md", include_str!("../../../../plugin/commands/check.md")),
    ("plugin/commands/resume.md", include_str!("../../../../plugin/commands/resume.md")),
    ("plugin/commands/status.md", include_str!("../../../../plugin/commands/status.md")),
    ("plugin/hooks/hooks.json", include_str!("../../../../plugin/hooks/hooks.json")),
    ("plugin/skills/build/SKILL.md", include_str!("../../../../plugin/skills/build/SKILL.md")),
    ("plugin/skills/crew/SKILL.md", include_str!("../../../../plugin/skills/crew/SKILL.md")),
    ("plugin/skills/pipeline/SKILL.md", include_str!("../../../../plugin/skills/pipeline/SKILL.md")),
    ("plugin/skills/plan/SKILL.md", include_str!("../../../../plugin/skills/plan/SKILL.md")),
    ("plugin/skills/task/SKILL.md", include_str!("../../../../plugin/skills/task/SKILL.md")),
];

/// Writes the plugin of this version there; other files stay. The client reads it in place, so it is one for all
/// repositories of the user.
pub fn write_plugin(directory: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let path = directory.join(path);
        if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
