//! The run directory: row types, format version, reader and writer.
//!
//! Engines write a run directory with [`RunWriter`] as things happen; reports read it with
//! [`RunDir`]. A directory whose writer died is readable up to its last whole row.
//!
//! Must not contain: engines, plotting, clocks (the time is passed in), or files outside the
//! results directory.
//!
//! - [`info`], [`end`]: what a run is, and how it went
//! - [`rows`]: the tables' rows: flows, links, queues, decisions, and what only
//!   the simulator sees: every port's totals, pauses, and the stories of single flows
//! - [`run_file`]: `run.json`, which holds both with the format version
//! - [`verdict`]: whether a run can be trusted
//! - [`directory`]: where runs are, and the link to the newest
//! - [`writer`], [`reader`]: what is in a run directory
//! - [`columnar`]: copies of large tables by column
//! - [`sample`][]: a small run, for tests
//! - [`percentile`]: percentiles by the nearest-rank rule
//! - [`mod@format`]: the format version and file names
//! - [`time`]: points in time as text
//!
//! Units: nanoseconds, bytes, bits per second, in paper units unless a name starts with `emu_`.
//!
//! ```
//! use lab_records::UtcTime;
//! let start: UtcTime = "2026-11-21T09:30:00.000Z".parse()?;
//! assert_eq!(start.file_name(), "20261121T093000Z");
//! # Ok::<(), lab_records::time::ParseTimeError>(())
//! ```
pub mod columnar;
pub mod directory;
pub mod end;
pub mod error;
mod file;
pub mod format;
pub mod info;
pub mod percentile;
pub mod reader;
pub mod rows;
pub mod run_file;
pub mod sample;
pub mod time;
pub mod verdict;
pub mod writer;

pub use directory::{create_run_dir, point_latest};
pub use end::{DelayMethod, GuestCpu, MeasuredLink, Phase, RunEnd, SimWork};
pub use error::RecordsError;
pub use lab_units::{Clock, LinkChange, Semantics};

pub use info::{
    DcInfo, EngineInfo, FaultInfo, Granularity, LinkInfo, Place, RunInfo, ScaleInfo, SimInfo,
};
pub use percentile::nearest_rank;
pub use reader::{RunDir, Table};
pub use rows::{
    Column, DcPath, DecisionRow, FlowRow, FlowStatus, Kind, LinkRow, List, ListError, PfcEvent,
    PfcRow, PortRow, QueueRow, Row, StoryEvent, StoryRow, SwitchRow,
};
pub use run_file::{Outcome, RunFile, stamp};
pub use time::UtcTime;
pub use verdict::{Tally, Verdict};
pub use writer::RunWriter;
