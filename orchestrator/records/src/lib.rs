//! Run directories: row types, format version, reader and writer.
//!
//! Engines write a run directory with [`RunWriter`] during a run; reports read it with [`RunDir`]. If the writer dies,
//! all complete rows of the directory can still be read.
//!
//! Must not contain: engines, plotting, clocks (the time is passed in), or files outside the results directory.
//!
//! - [`info`], [`run_end`]: facts of a run that are known before its first flow starts, and after its last flow ends
//! - [`outcome`]: outcome of a finished run, with the verdict
//! - [`trust`][]: verdict on a run, and the bounds on the figures that decide it
//! - [`provenance`][]: program, command line and policies of a run, and changes made while it ran
//! - [`request`][]: requests for runs, also to repeat an earlier run; `sim_request`: options of a simulation
//! - `departure`: policy parameters that differ from the publication
//! - [`evidence`][]: counts that show whether a run tested what it ranks
//! - [`run_file`]: `run.json`, which contains the format version, the facts and the outcome
//! - [`arrival_use`][]: link use while flows start
//! - [`ends`][]: end times of a run's repetitions
//! - [`rows`]: the tables' rows; `reports/README.md` explains every column
//! - [`directory`]: file names, the format version, and the link to the latest run
//! - `format`: check of a file's format number
//! - [`listing`][]: runs of a results directory, their tags and sizes
//! - [`history`][]: history of a suite
//! - [`writer`], [`reader`]: writing and reading a run directory; `mirror`: copies of tables while they are written
//! - [`columns`]: batches of typed columns; `texts`: text columns; `csv_table`, [`parquet_table`]: readers of the two
//!   file formats; `parquet_pages`: checks of Parquet pages
//! - [`sample`][]: a small run for tests
//! - [`time`]: dates and times as text
//!
//! # Formats
//!
//! A reader accepts its own format of `run.json` and of `plan.json`, and two older formats of `run.json`. Every change
//! of a column, a key or a meaning increases the number. In the oldest format the counts of switches and hosts are
//! sentences; a reader keeps these sentences unchanged under the code `engine-problem`.
//!
//! | case | rule |
//! |---|---|
//! | reading a file of another format | [`RecordsError::OtherFormat`], before the rest of the file is parsed |
//! | changing a run of another format | refused; its files can only be copied, byte by byte |
//! | tagging a run of another format | allowed: `tags.txt` has no format |
//!
//! Units: nanoseconds, bytes, bits per second, in paper units unless a name starts with `emu_`.
//!
//! ```
//! use lab_records::UtcTime;
//! let start: UtcTime = "2026-11-21T09:30:00.000Z".parse()?;
//! assert_eq!(start.file_name(), "20261121T093000Z");
//! # Ok::<(), lab_records::time::ParseTimeError>(())
//! ```
pub mod arrival_use;
pub mod columns;
mod csv_table;
mod departure;
pub mod directory;
pub mod ends;
pub mod error;
pub mod evidence;
mod format;
pub mod history;
pub mod info;
pub mod link_rates;
pub mod listing;
mod mirror;
pub mod outcome;
mod parquet_pages;
pub mod parquet_table;
pub mod provenance;
pub mod reader;
pub mod request;
pub mod rows;
pub mod run_end;
pub mod run_file;
mod sim_request;
mod texts;
pub mod time;
pub mod trust;
pub mod warning;
pub mod writer;

pub use arrival_use::{ArrivalUse, DirectionUse};
pub use columns::{Batch, Texts, Values};
pub use departure::{Departure, Reference};
pub use directory::{create_run_dir, point_latest};
pub use ends::RepetitionEnds;
pub use error::RecordsError;
pub use evidence::{
    BusyLink, Changed, CrashCounts, Evidence, Failover, FailoverSpan, FlowTables, HashCounts,
    LcmpCounts, ListedFlows, Mechanism, Met, OfferedLoad, OutageFlows, OutageInfo, PathDifference,
    PolicyEvidence, Sampling, SplitCounts, UnfinishedFlows,
};
pub use info::{
    AgentCrashInfo, DcInfo, EngineInfo, FaultInfo, FlowsWithChoice, Granularity, LinkInfo,
    Location, MeasuredFlows, RunInfo, ScaleInfo, SimInfo,
};
pub use lab_files::draft;
pub use lab_units::{Clock, LinkChange, Semantics};
pub use link_rates::LinkRates;
pub use outcome::Outcome;
pub use provenance::{Asked, ChangeKind, LiveChange, ParameterValue, PolicySettings, Provenance};
pub use reader::{RunDir, Table, WholeFlow};
pub use request::{EngineRequest, RunRequest};
pub use rows::{
    CertifiedRow, Column, DcNames, DcPath, DecisionRow, FlowFields, FlowPaths, FlowRow, FlowStatus,
    HistoryRow, Kind, LinkRow, List, PathRow, PfcEvent, PfcRow, PortRow, QueueRow, RateRow, Row,
    SplitRow, StoryEvent, StoryRow, SwitchRow,
};
pub use run_end::{FlowCounts, GuestCpu, LabWork, Phase, Retransmissions, RunEnd, SimWork};
pub use run_file::{RunFile, stamp};
pub use sim_request::{SimRecords, SimRequest};
pub use time::UtcTime;
pub use trust::{
    Certification, Conduct, CpuWatch, Deviation, Grade, LinkBounds, Reason, ReasonCode, Recovery,
    Verdict, Watch,
};
pub use warning::{Silence, Warning};
pub use writer::RunWriter;
