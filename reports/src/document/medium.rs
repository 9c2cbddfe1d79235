//! Media that show documents.

/// Media that show a part of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Medium {
    /// Every medium.
    Any,
    /// Pages, HTML or Markdown, which have room for explanations.
    Page,
    /// Terminals.
    Terminal,
}

impl Medium {
    pub(super) const fn is_on_page(self) -> bool {
        matches!(self, Self::Any | Self::Page)
    }

    pub(super) const fn is_on_terminal(self) -> bool {
        matches!(self, Self::Any | Self::Terminal)
    }
}
