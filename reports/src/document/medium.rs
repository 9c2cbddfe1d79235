//! Media that show documents.

/// Medium that shows a part of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Medium {
    /// Pages and terminals.
    Any,
    /// Only pages, HTML or Markdown, which have space for explanations.
    Page,
    /// Only terminals.
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
