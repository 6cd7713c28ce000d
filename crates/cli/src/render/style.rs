use piton_model::{Lifecycle, Liveness, Severity};

/// Colour, or none. Nothing is said by colour alone.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    color: bool,
}

impl Style {
    /// Whether to use colour.
    pub fn new(color: bool) -> Style {
        Style { color }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Error => self.paint("1;31", text),
            Severity::Warning => self.paint("33", text),
            Severity::Note => self.paint("36", text),
        }
    }

    pub fn lifecycle(self, lifecycle: Lifecycle, text: &str) -> String {
        match lifecycle {
            Lifecycle::Failed | Lifecycle::Blocked => self.paint("31", text),
            Lifecycle::Unknown | Lifecycle::Paused => self.paint("33", text),
            Lifecycle::Running | Lifecycle::Waiting => self.paint("36", text),
            Lifecycle::Done => self.paint("32", text),
            Lifecycle::Queued => self.dim(text),
        }
    }

    pub fn liveness(self, liveness: Liveness, text: &str) -> String {
        match liveness {
            Liveness::Stale | Liveness::Dead => self.paint("1;31", text),
            Liveness::Late | Liveness::Unknown => self.paint("33", text),
            Liveness::Alive => self.paint("32", text),
            Liveness::Idle => self.dim(text),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
