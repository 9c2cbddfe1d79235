//! Values of a new scenario, and its text.

use std::fmt::Write;

use lab_units::{Engine, Nanos, Ratio};

use super::network::InitNetwork;

/// Values that were chosen for a new scenario.
pub struct NewScenario {
    pub network: InitNetwork,
    pub engine: Engine,
    pub load: Ratio,
    /// True if candidates are all neighbours that are nearer by delay.
    pub is_downhill: bool,
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
        text += "traffic:\n";
        if let Some(file) = &self.network.demands {
            let _ = write!(
                text,
                "  # The graph's file has demands; this entry sends them in place of the workload:\n  \
                 # - demands: {{ file: {file}, sizes: websearch, duration: {} }}\n",
                self.duration,
            );
        }
        let _ = write!(
            text,
            "  - workload:\n      \
             # Built-in distribution of flow sizes; a path of a CSV file takes its place.\n      \
             sizes: websearch\n      \
             pairs: all-to-all\n      \
             # Utilisation of the busiest link if every switch splits its flows evenly; above 100%, that link is overloaded.\n      \
             load: {}\n      \
             load_base: busiest-link\n      \
             duration: {}\n",
            percent(self.load),
            self.duration,
        );
        text += "# Thousands of flows; with perftest, each is two processes.\ngenerator: verbs\n\n";
        text += "# `lcmp-lab explain` shows how a switch decides; scenarios/parameters.md lists the parameters.\npolicies:\n";
        for policy in &self.policies {
            let _ = writeln!(text, "  - {policy}");
        }
        text += match self.engine {
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
