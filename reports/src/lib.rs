//! Run directories to figures, tables and one self-contained HTML page.
