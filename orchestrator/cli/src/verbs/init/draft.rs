//! NewScenario of a new scenario, and its text.

use std::fmt::Write;

use lab_units::{Engine, Nanos, Ratio};

use super::network::InitNetwork;

/// Values that were chosen for a new scenario.
pub struct NewScenario {
    pub network: InitNetwork,
    pub engine: Engine,
    pub load: Ratio,
    /// Default load, if [`NewScenario::load`] is lower.
    pub wanted_load: Option<Ratio>,
    /// True if the load is a share of the datacenters' links instead of their hosts' NICs.
    pub is_of_links: bool,
    /// True if candidates are all neighbours that are nearer by delay.
    pub is_downhill: bool,
    /// True if no automatic scale makes the scenario small enough for a lab, so that only the simulator runs it.
    pub is_beyond_labs: bool,
    /// Time in which flows arrive.
    pub duration: Nanos,
    pub policies: Vec<&'static str>,
}

impl NewScenario {
    /// Returns the text of the scenario, with comments.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Made by `lcmp-lab init`. All quantities are those of the real network; `lcmp-lab check` explains the rest.\n\
             name: {}\n\
             description: WebSearch flows at {} load on {}\n\n{}\n",
            self.network.name,
            percent(self.load),
            self.network.words,
            self.network.section,
        );
        if self.is_downhill {
            text += "# With `fewest-hops`, the default, most flows would have one path, the same under every policy. These candidates\n\
                     # are all neighbours that are nearer to the destination by delay, so that policies can differ.\n\
                     routing: { candidates: downhill-delay }\n\n";
        }
        let _ = write!(
            text,
            "traffic:\n  - workload:\n      \
             # Built-in distribution of flow sizes; a path of a CSV file takes its place.\n      \
             sizes: websearch\n      \
             pairs: all-to-all\n{}      duration: {}\n",
            self.load_lines(),
            self.duration,
        );
        text += "# Thousands of flows; with perftest, each is two processes.\ngenerator: verbs\n\n";
        text += "# `lcmp-lab explain` shows how a switch decides; scenarios/parameters.md lists the parameters.\npolicies:\n";
        for policy in &self.policies {
            let _ = writeln!(text, "  - {policy}");
        }
        text += match self.engine {
            _ if self.is_beyond_labs => {
                "\n# For the simulator: no lab can carry these flows within the longest time-outs.\nscale: { rate: 1, time: 1 }\n"
            }
            Engine::Sim => {
                "\n# Only a lab is scaled; `lcmp-lab sim` uses rates, delays and sizes as written.\nscale: auto\n"
            }
            Engine::Kernel => {
                "\n# The finest scale at which the lab can carry the flows; `lcmp-lab doctor --measure` measures what that is.\n\
                 scale: auto\n"
            }
        };
        text += "# Each seed gives other flows. `repetitions: 8` gives intervals, and takes eight times as long.\nseed: 1\n";
        text
    }

    fn load_lines(&self) -> String {
        let base = if self.is_of_links {
            "      # Share of the rate of each datacenter's links, because rates differ too much for one load of the hosts.\n      \
             load_base: dci-egress\n"
        } else {
            "      # Share of the hosts' NICs.\n"
        };
        let lower = self.wanted_load.map_or_else(String::new, |wanted| {
            let wanted = percent(wanted);
            format!("      # At {wanted}, the flows that share a link would exceed its rate.\n")
        });
        format!("{base}{lower}      load: {}\n", percent(self.load))
    }
}

/// Returns a load in percent, or as a fraction if it is no whole number of thousandths.
fn percent(load: Ratio) -> String {
    let thousandths = Ratio::new(1_000, 1).and_then(|thousand| load.times(thousand));
    let whole = thousandths.filter(|it| it.denominator() == 1);
    match whole.map(Ratio::numerator) {
        Some(share) if share.is_multiple_of(10) => format!("{}%", share / 10),
        Some(share) => format!("{}.{}%", share / 10, share % 10),
        None => load.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_percentages_where_these_are_short() {
        let text = |numerator, denominator| percent(Ratio::new(numerator, denominator).unwrap());
        assert_eq!(text(1, 2), "50%");
        assert_eq!(text(1, 200), "0.5%");
        assert_eq!(text(123, 1_000), "12.3%");
        assert_eq!(text(4, 1), "400%");
        assert_eq!(text(1, 3), "1/3");
    }
}
