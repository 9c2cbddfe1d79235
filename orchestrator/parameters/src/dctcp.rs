//! DCTCP's parameters (RFC 8257).

use lab_units::{BitsPerSec, Ratio};

use crate::{
    limits::{megabits, ratio},
    set::{Preset, parameters},
};

parameters! {
    /// DCTCP's parameters, for a rate-based version of its window algorithm.
    ///
    /// `paper`: g from RFC 8257, section 4.2; one more packet per round trip; TCP's reaction to loss from sections 3.3
    /// and 3.5; the artifact's minimum rate. `artifact`: `EWMA_GAIN`, `DCTCP_RATE_AI` and `MIN_RATE` from its
    /// configuration.
    pub struct DctcpConfig by preset = "DCTCP" {
        /// Weight g of the newest share of marked packets in the moving average α.
        gain: Ratio = ratio(1, 16), ratio(1, 256);
        /// Increase of a QP's rate per round trip without marked packets.
        additive_rate_bps: Option<BitsPerSec> = None, Some(megabits(1_000)) => {
            derived: Some("one packet more in a round trip"),
        };
        /// Minimum rate of a QP.
        min_rate_bps: BitsPerSec = megabits(100);
    }
    conflicts []
}

impl DctcpConfig {
    /// Returns true if a lost packet halves the rate and a retransmission timeout sets it to the minimum: only with the
    /// preset `paper`.
    #[must_use]
    pub const fn reacts_to_loss(&self) -> bool {
        matches!(self.preset, Preset::Paper)
    }
}
