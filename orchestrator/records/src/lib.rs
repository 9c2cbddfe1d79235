//! The run directory: row types, format version, reader and writer.
//!
//! Engines write a run directory with [`RunWriter`] during a run; reports read it with [`RunDir`].
//! If the writer dies, the directory is readable up to its last whole row.
//!
//! Must not contain: engines, plotting, clocks (the time is passed in), or files outside the
//! results directory.
//!
//! - [`info`], [`run_end`]: facts of a run before its first and after its last flow
//! - [`outcome`]: the latter with the verdict
//! - [`trust`][]: the verdict on a run, and the bounds of the figures that it is made from
//! - [`provenance`][]: program, command and policies of a run, and changes while it ran
//! - [`request`][]: request for a run, also for the repeat of an earlier run; `sim_request`: options of a simulation
//! - `departure`: parameters of a policy that are not its publication's
//! - [`evidence`][]: counts by which a run shows that it exercised what it ranks
//! - [`run_file`]: `run.json`, which holds both with the format version
//! - [`arrival_use`][]: use of the links while flows start
//! - [`ends`][]: time that a run's repetitions cover
//! - [`rows`]: the tables' rows; `reports/README.md` explains every column
//! - [`directory`]: file names, the format version, and the link to the newest run
//! - `format`: comparison of format numbers
//! - [`listing`][]: the runs of a results directory, their tags and sizes
//! - [`history`][]: the history of a suite of runs
//! - [`writer`], [`reader`]: writing and reading a run directory; `mirror` copies tables elsewhere meanwhile
//! - [`columns`]: batches of typed columns, those of texts in `texts`; `csv_table` and [`parquet_table`] read
//!   them from files, the latter by the pages that `parquet_pages` checks
//! - [`time`]: times of day as text
//!
//! # Formats
//!
//! A reader accepts its own format of `run.json` and of `plan.json`, and one older format of `run.json`. Each number
//! rises with every change of a column, a key or a meaning. In the older format the counts of switches and hosts are
//! sentences, which a reader keeps as they are, under the code `engine-problem`.
//!
//! | case | rule |
//! |---|---|
//! | a reader meets other data | [`RecordsError::OtherFormat`], before anything else of the file is read |
//! | a writer meets data of another format | it refuses to rewrite them; files are only copied, byte by byte |
//! | a person tags such a run | the tags are set: `tags.txt` has no format |
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
pub mod writer;

pub use arrival_use::{ArrivalUse, DirectionUse};
pub use columns::{Batch, Texts, Values};
pub use departure::{Departure, Reference};
pub use directory::{create_run_dir, point_latest};
pub use ends::RepetitionEnds;
pub use error::RecordsError;
pub use evidence::{
    BusyLink, Changed, Evidence, Failover, FailoverSpan, FlowTables, HashCounts, LcmpCounts,
    ListedFlows, Mechanism, Met, OfferedLoad, PathDifference, PolicyEvidence, Sampling,
    SplitCounts,
};
pub use info::{
    DcInfo, EngineInfo, FaultInfo, Granularity, LinkInfo, Location, MeasuredFlows, RunInfo,
    ScaleInfo, SimInfo,
};
pub use lab_files::draft;
pub use lab_units::{Clock, LinkChange, Semantics};
pub use link_rates::LinkRates;
pub use outcome::Outcome;
pub use provenance::{Asked, ChangeKind, LiveChange, ParameterValue, PolicySettings, Provenance};
pub use reader::{RunDir, Table, WholeFlow};
pub use request::{EngineRequest, RunRequest};
pub use rows::{
    CertifiedRow, Column, DcPath, DecisionRow, FlowFields, FlowRow, FlowStatus, HistoryRow, Kind,
    LinkRow, List, PathRow, PfcEvent, PfcRow, PortRow, QueueRow, RateRow, Row, SplitRow,
    StoryEvent, StoryRow, SwitchRow,
};
pub use run_end::{FlowCounts, GuestCpu, LabWork, Phase, Retransmissions, RunEnd, SimWork};
pub use run_file::{RunFile, stamp};
pub use sim_request::SimRequest;
pub use time::UtcTime;
pub use trust::{
    Certification, Conduct, CpuWatch, Deviation, Grade, LinkBounds, Place, Reason, ReasonCode,
    Recovery, Verdict, Watch,
};
pub use writer::RunWriter;
