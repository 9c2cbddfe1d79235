//! Origins of compared runs.

use lab_records::{EngineInfo, ScaleInfo};
use serde::Serialize;

use super::RunFacts;
use crate::{
    check::Check,
    document::{Block, Medium},
};

/// Origin of a run in a comparison, with the reasons to distrust the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOrigin {
    /// Name of the run in texts: `kernel` and `simulator`, `first run` and `second run`, or a letter.
    pub name: String,
    /// Name of the run directory.
    pub directory: String,
    /// Name of the engine: `kernel` or `sim`.
    pub engine: String,
    /// Release of the kernel that the run was made on.
    pub kernel_release: String,
    /// Version of the lcmp-lab that made the run.
    pub tool_version: String,
    /// Scale factors: emulated quantities divided by the paper's.
    pub scale: ScaleInfo,
    /// SHA-256 of the plan's file.
    pub plan_hash: String,
    /// Reasons to distrust the run; empty if there are none.
    pub problems: Vec<String>,
}

impl RunOrigin {
    /// Returns the origin of a run whose tables have been read, so that lost rows are known.
    pub(crate) fn of(run: &RunFacts, name: &str) -> Self {
        let info = run.info();
        let path = run
            .path()
            .canonicalize()
            .unwrap_or_else(|_| run.path().to_owned());
        let directory = path.file_name().unwrap_or_default().to_string_lossy();
        let engine = match info.engine {
            EngineInfo::Kernel => "kernel",
            EngineInfo::Sim(_) => "sim",
        };
        Self {
            name: name.to_owned(),
            directory: directory.into_owned(),
            engine: engine.to_owned(),
            kernel_release: info.kernel_release.clone(),
            tool_version: info.tool_version.clone(),
            scale: info.scale,
            plan_hash: info.plan_hash.clone(),
            problems: run.doubts(),
        }
    }

    /// Returns true if there is no reason to distrust the run.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns an inconclusive check for each reason to distrust the run.
    pub(crate) fn checks(&self) -> impl Iterator<Item = Check> {
        let reason = |problem| format!("{}: {problem}", self.name);
        let problems = self.problems.iter();
        problems.map(move |it| Check::not_clean(reason(it)))
    }

    /// Returns the origin as document blocks: the run's name as a heading, and a list of facts.
    pub(crate) fn blocks(&self) -> [Block<'static>; 2] {
        let scale = &self.scale;
        let named = [
            ("directory", self.directory.clone()),
            (
                "engine",
                format!("{}, on kernel {}", self.engine, self.kernel_release),
            ),
            (
                "scale",
                format!(
                    "rates × {}, times × {}, sizes × {} (emulated ÷ paper)",
                    scale.rate, scale.time, scale.size
                ),
            ),
            ("plan", format!("SHA-256 {}", self.plan_hash)),
            ("version", format!("lcmp-lab {}", self.tool_version)),
        ];
        let facts = named.map(|(term, value)| (term.to_owned(), vec![value]));
        [
            Block::Heading(Medium::Any, self.name.clone()),
            Block::Facts(Medium::Page, facts.into()),
        ]
    }
}
