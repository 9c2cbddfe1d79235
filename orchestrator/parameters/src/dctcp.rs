//! DCTCP's parameters (RFC 8257).

use lab_units::{BitsPerSec, Ratio};

use crate::{
    limits::{megabits, ratio},
    set::{Preset, parameters},
};

parameters! {
    /// DCTCP's parameters, for its rate-based form.
    ///
    /// `paper`: g from RFC 8257, section 4.2; one more packet per round trip; TCP's reaction to loss from sections
    /// 3.3 and 3.5; the artifact's minimum rate. `artifact`: `EWMA_GAIN`, `DCTCP_RATE_AI` and `MIN_RATE` from its
    /// configuration.
    pub struct DctcpConfig by preset = "DCTCP" {
        /// Weight of a new share of marked packets in α (g).
        gain: Ratio = ratio(1, 16), ratio(1, 256);
        /// Increase of the rate per round trip without marks.
        additive_rate_bps: Option<BitsPerSec> = None, Some(megabits(1_000)) => {
            derived: Some("one packet more in a round trip"),
        };
        /// Minimum rate.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts []
}

impl DctcpConfig {
    /// Returns true if a missing packet halves the rate and a timeout sets it to the minimum.
    #[must_use]
    pub const fn reacts_to_loss(&self) -> bool {
        matches!(self.preset, Preset::Paper)
    }
}
