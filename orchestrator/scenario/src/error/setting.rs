//! Problems of settings and axes.

use crate::limits;

/// Error of a text that is not the path of a key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a path of a key (hint: such as `seed`, `topology.dcs[0].hosts` or `policies[lcmp].alpha`)"
)]
pub struct ParseSettingPathError {
    pub(crate) text: String,
}

/// Reason why values make no axis.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AxisProblem {
    #[error("the axis `{path}` has no values")]
    Empty { path: String },
    #[error("the axis `{path}` has the range `{range}`, whose last number is below its first")]
    Falling { path: String, range: String },
    #[error("the axis `{path}` has the value `{value}` twice")]
    Twice { path: String, value: String },
    #[error(
        "the axis `{path}` has {found} values; the maximum is {}",
        limits::MAX_CELLS
    )]
    TooLong { path: String, found: u64 },
}
