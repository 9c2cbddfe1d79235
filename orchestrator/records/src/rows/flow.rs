//! What became of each flow.

use std::fmt;

use lab_units::{Bytes, FlowId, Nanos};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected},
};

use super::row;
use crate::Semantics;

row! {
    /// One flow of one policy's run. There is a row for every flow, whatever happened to it.
    pub struct FlowRow in "flows.csv" {
        /// The repetition, from 0.
        pub repetition: u32,
        /// Its place in the plan's schedule.
        pub flow_id: FlowId,
        /// Label of the policy.
        pub policy: String,
        /// Congestion control of the sender: `none` for rxe.
        pub cc: String,
        /// The rules of the simulated network; empty for a real one.
        pub semantics: Option<Semantics>,
        /// Sending host.
        pub src_host: String,
        /// Receiving host.
        pub dst_host: String,
        /// Datacenter of the sending host.
        pub src_dc: String,
        /// Datacenter of the receiving host.
        pub dst_dc: String,
        /// Size.
        pub size_bytes: Bytes,
        /// When it was let go, from the repetition's start; scheduled, if it never was.
        pub start_ns: Nanos,
        /// From the start to the sender's completion.
        pub fct_ns: Option<Nanos>,
        /// FCT of this flow alone on the path of least delay.
        pub ideal_fct_ns: Nanos,
        /// FCT ÷ ideal FCT, unclipped: under 1 is an error to find.
        #[serde(deserialize_with = "finite")]
        pub slowdown: Option<f64>,
        /// The DCs its data crossed.
        pub path: Option<DcPath>,
        /// The DCs its acknowledgements crossed.
        pub ack_path: Option<DcPath>,
        /// How it ended.
        pub status: FlowStatus,
        /// Why it did not finish, in a sentence; empty for a finished flow.
        pub reason: String,
        /// The program that made it: `ib_write_bw`.
        pub generator: String,
        /// How much later than scheduled it was let go, in emulated time; empty if it never was.
        pub launch_lateness_ns: Option<Nanos>,
        /// Bytes moved.
        pub emu_size_bytes: Bytes,
        /// When it was let go, emulated; scheduled, if it never was.
        pub emu_start_ns: Nanos,
        /// The FCT as measured.
        pub emu_fct_ns: Option<Nanos>,
        /// The ideal FCT, emulated.
        pub emu_ideal_fct_ns: Nanos,
        /// The measured FCT is within this of the true one; empty if that is not known.
        pub emu_fct_resolution_ns: Option<Nanos>,
    }
}

/// A number that can be drawn and compared: a table edited by hand may say `inf`.
fn finite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?;
    match number {
        Some(number) if !number.is_finite() => {
            let unexpected = Unexpected::Float(number);
            Err(D::Error::invalid_value(unexpected, &"a finite number"))
        }
        number => Ok(number),
    }
}

impl FlowRow {
    /// Whether it was let go more than `tolerance` after its scheduled start.
    #[must_use]
    pub fn is_late(&self, tolerance: Nanos) -> bool {
        self.launch_lateness_ns.is_some_and(|late| late > tolerance)
    }

    /// Whether it was faster than it can be, even if its FCT was as long as its resolution allows.
    ///
    /// What the authors' code divides by is no bound: it has a full packet on every link of the nearest
    /// way, whatever the flow's own packets are, and a way of more delay may have more capacity.
    #[must_use]
    pub fn is_too_fast(&self) -> bool {
        let known_to = self.emu_fct_resolution_ns.unwrap_or(Nanos::ZERO);
        let known_to = Self::slowdown_of(known_to, self.emu_ideal_fct_ns).unwrap_or(0.0);
        self.semantics != Some(Semantics::Artifact)
            && self
                .slowdown
                .is_some_and(|slowdown| slowdown + known_to < 1.0)
    }

    /// FCT ÷ ideal FCT of emulated times; `None` without an ideal.
    #[must_use]
    pub fn slowdown_of(fct: Nanos, ideal: Nanos) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 ns are 104 days; a slowdown needs no more digits"
        )]
        let ratio = fct.get() as f64 / ideal.get() as f64;
        (ideal > Nanos::ZERO).then_some(ratio)
    }
}

/// How a flow ended.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowStatus {
    /// All its bytes were acknowledged.
    Finished,
    /// It had not ended at its deadline.
    TimedOut,
    /// Its generator ended with an error.
    Failed,
    /// Its generator ended well and what it said cannot be understood.
    Unparsable,
    /// It never became ready to start.
    NotReady,
    /// The engine gave the run up before it ended.
    Aborted,
    /// The user ended the run before it ended.
    Interrupted,
}

impl FlowStatus {
    /// Whether there is an FCT.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Finished)
    }

    /// The words of tables.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
            Self::Unparsable => "output not understood",
            Self::NotReady => "never ready",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The DCs something crossed, from first to last: `dc1-dc4-dc8`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DcPath(String);

impl DcPath {
    /// The path over `dcs`.
    #[must_use]
    pub fn new<I: IntoIterator<Item: AsRef<str>>>(dcs: I) -> Self {
        let mut text = String::new();
        for dc in dcs {
            if !text.is_empty() {
                text.push('-');
            }
            text.push_str(dc.as_ref());
        }
        Self(text)
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The DCs of the path, out of `dcs`; `None` if it is not a path over those.
    ///
    /// A name may hold a `-` itself, so that splitting there would be wrong.
    #[must_use]
    pub fn hops<'a>(&self, dcs: &[&'a str]) -> Option<Vec<&'a str>> {
        fn walk<'a>(rest: &str, dcs: &[&'a str], hops: &mut Vec<&'a str>) -> bool {
            for dc in dcs {
                let Some(after) = rest.strip_prefix(dc) else {
                    continue;
                };
                hops.push(dc);
                if after.is_empty() {
                    return true;
                }
                if let Some(after) = after.strip_prefix('-')
                    && walk(after, dcs, hops)
                {
                    return true;
                }
                hops.pop();
            }
            false
        }
        let mut hops = Vec::new();
        walk(&self.0, dcs, &mut hops).then_some(hops)
    }
}

impl fmt::Display for DcPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_known_names_not_at_every_dash() {
        let path = DcPath::new(["a", "a-b", "b"]);
        assert_eq!(path.as_str(), "a-a-b-b");
        assert_eq!(path.hops(&["a-b", "b"]), None);
        assert_eq!(path.hops(&["a-b", "a", "b"]), Some(vec!["a", "a-b", "b"]));
    }

    #[test]
    fn a_slowdown_under_one_is_kept() {
        let slowdown = FlowRow::slowdown_of(Nanos::new(3), Nanos::new(4));
        assert_eq!(slowdown, Some(0.75));
        assert_eq!(FlowRow::slowdown_of(Nanos::new(3), Nanos::ZERO), None);
    }
}
