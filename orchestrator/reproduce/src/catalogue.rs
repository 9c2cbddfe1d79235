//! The cases of the paper's figures, and the scenario for each case.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

/// Figure of the paper with measured values.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Figure {
    Fig1,
    Fig5,
    Fig6,
    Fig7,
    Fig8,
    Fig9,
    Fig10,
    Fig11,
}

impl Figure {
    /// All figures, in the paper's order.
    pub const ALL: [Self; 8] = [
        Self::Fig1,
        Self::Fig5,
        Self::Fig6,
        Self::Fig7,
        Self::Fig8,
        Self::Fig9,
        Self::Fig10,
        Self::Fig11,
    ];

    /// Returns the name of the figure, such as `fig5`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fig1 => "fig1",
            Self::Fig5 => "fig5",
            Self::Fig6 => "fig6",
            Self::Fig7 => "fig7",
            Self::Fig8 => "fig8",
            Self::Fig9 => "fig9",
            Self::Fig10 => "fig10",
            Self::Fig11 => "fig11",
        }
    }

    /// Returns the reason why the lab cannot emulate the figure; `None` if it can.
    #[must_use]
    pub const fn beyond_lab(self) -> Option<&'static str> {
        match self {
            Self::Fig5 | Self::Fig6 => None,
            Self::Fig1 => Some(
                "the figure's link utilisation depends on 128 hosts with DCQCN and PFC, which SoftRoCE \
                 does not have",
            ),
            Self::Fig7 | Self::Fig8 => Some(
                "208 hosts send within 10 ms, more than one kernel can forward in time; SoftRoCE's \
                 window of 128 packets is smaller than the larger flows",
            ),
            Self::Fig9 => Some("scaled to the lab, the figure's flows are smaller than one packet"),
            Self::Fig10 => {
                Some("the figure varies the congestion control, and the lab has only DCQCN")
            }
            Self::Fig11 => Some(
                "the figure varies LCMP's weights in the authors' arithmetic, which only the simulator has",
            ),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Figure {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|figure| figure.name() == text)
            .ok_or(())
    }
}

/// Case of a figure: one experiment with published values.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Figure that the case belongs to.
    pub figure: Figure,
    /// Name of the case within the figure, as the published tables spell it.
    pub name: &'static str,
    /// File name of the scenario, without its extension.
    pub scenario: &'static str,
    /// Pair of datacenters whose flows are evaluated, in both directions; `None` to evaluate all flows.
    pub pair: Option<[&'static str; 2]>,
    /// File paths within the artifact: of the published flows, and of the routing table if one was published; `None` to
    /// draw the flows at random.
    pub flows: Option<(&'static str, Option<&'static str>)>,
    /// Policies that LCMP is compared with, by their labels under the authors' semantics.
    pub against: &'static [&'static str],
    /// Load of the lab testbed that emulates the case; `None` if the lab cannot emulate it.
    pub lab_load: Option<&'static str>,
}

impl Case {
    /// Returns the figure and case in one name, such as `fig5 30 %`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.figure, self.name)
    }
}

/// Label of the policy that the claims concern.
pub const LCMP: &str = "lcmp";

/// Label of RedTE, for which LCMP's authors published neither values nor weights.
pub const REDTE: &str = "redte";

const BASELINES: &[&str] = &["ecmp", "ucmp-artifact"];

/// Baselines of the figures that also show RedTE.
const BASELINES_AND_REDTE: &[&str] = &["ecmp", "ucmp-artifact", REDTE];

const FIG1_FLOWS: Option<(&str, Option<&str>)> = Some((
    "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt",
    Some("fct/fig1/routing_table.csv"),
));

const fn case(figure: Figure, name: &'static str, scenario: &'static str) -> Case {
    Case {
        figure,
        name,
        scenario,
        pair: None,
        flows: None,
        against: BASELINES,
        lab_load: None,
    }
}

const fn testbed(name: &'static str, scenario: &'static str, load: &'static str) -> Case {
    Case {
        against: BASELINES_AND_REDTE,
        lab_load: Some(load),
        ..case(Figure::Fig5, name, scenario)
    }
}

const fn large(
    name: &'static str,
    scenario: &'static str,
    flows: &'static str,
    pair: Option<[&'static str; 2]>,
) -> Case {
    let figure = match pair {
        None => Figure::Fig7,
        Some(_) => Figure::Fig8,
    };
    Case {
        pair,
        flows: Some((flows, None)),
        against: BASELINES_AND_REDTE,
        ..case(figure, name, scenario)
    }
}

/// Returns `case` with the published flows and routing table of figure 1.
const fn of_fig1_flows(case: Case) -> Case {
    Case {
        flows: FIG1_FLOWS,
        ..case
    }
}

const FLOWS_30: &str = "traffic/traffic_WebSearch_13DC-0.3util.txt";
const FLOWS_50: &str = "traffic/traffic_WebSearch_13DC-0.5util.txt";
const FLOWS_80: &str = "traffic/traffic_WebSearch_13DC-0.8util.txt";
const DC1_DC13: Option<[&str; 2]> = Some(["dc1", "dc13"]);

/// All cases, in the order of the figures.
pub const CASES: &[Case] = &[
    of_fig1_flows(case(Figure::Fig1, "30 %", "fig1")),
    of_fig1_flows(testbed("30 %", "fig5-30", "0.3")),
    testbed("50 %", "fig5-50", "0.5"),
    testbed("80 %", "fig5-80", "0.8"),
    large("30 %", "fig7-fig8-30", FLOWS_30, None),
    large("50 %", "fig7-fig8-50", FLOWS_50, None),
    large("80 %", "fig7-fig8-80", FLOWS_80, None),
    large("30 %", "fig7-fig8-30", FLOWS_30, DC1_DC13),
    large("50 %", "fig7-fig8-50", FLOWS_50, DC1_DC13),
    large("80 %", "fig7-fig8-80", FLOWS_80, DC1_DC13),
    case(Figure::Fig9, "WebSearch", "fig9-websearch"),
    Case {
        pair: Some(["dc1", "dc8"]),
        ..case(Figure::Fig9, "WebSearch DC1-DC8", "fig9-websearch")
    },
    case(Figure::Fig9, "AliStorage", "fig9-alistorage"),
    case(Figure::Fig9, "Hadoop", "fig9-fbhadoop"),
    case(Figure::Fig9, "GoogleRPC", "fig9-googlerpc"),
    // This case has the same network and flows as figure 5 at 30 %.
    of_fig1_flows(case(Figure::Fig10, "DCQCN", "fig5-30")),
    of_fig1_flows(case(Figure::Fig10, "HPCC", "fig10-hpcc")),
    of_fig1_flows(case(Figure::Fig10, "TIMELY", "fig10-timely")),
    of_fig1_flows(case(Figure::Fig10, "DCTCP", "fig10-dctcp")),
    Case {
        against: &["rm-alpha", "rm-beta"],
        ..of_fig1_flows(case(Figure::Fig11, "ablation", "fig11"))
    },
    Case {
        against: &[
            "alpha2-beta2",
            "alpha1-beta3",
            "dl2-lc2",
            "dl1-lc3",
            "ql1-tl2-dp1",
            "ql1-tl1-dp2",
        ],
        ..of_fig1_flows(case(Figure::Fig11, "weights", "fig11"))
    },
];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::variant::{Variant, derive, extended, with_extended};

    #[test]
    fn every_scenario_has_its_cases_policies_and_every_figure_but_the_fidelity_has_a_case() {
        for case in CASES {
            let text = whole_text(case);
            let (_, policies) = text.split_once("\npolicies:\n").unwrap();
            let mut against = case.against.iter();
            assert!(
                against.all(|base| policies.contains(base)),
                "{}",
                case.title()
            );
        }
        for figure in Figure::ALL {
            let has_case = CASES.iter().any(|case| case.figure == figure);
            assert_eq!(has_case, figure != Figure::Fig6, "{figure}");
            assert_eq!(figure.name().parse(), Ok(figure));
        }
    }

    #[test]
    fn every_fair_variant_has_the_papers_buffers() {
        let fair = Variant {
            is_fair: true,
            ..Variant::default()
        };
        for case in CASES {
            let text = derive(case.scenario, &whole_text(case), &fair).unwrap();
            assert!(text.contains("inter_dc: { buffer: 6 GB }"), "{text}");
        }
    }

    /// Returns the text of a case's scenario with the keys of those that it extends.
    fn whole_text(case: &Case) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/paper");
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        let mut text = read(&format!("{}.yaml", case.scenario));
        while let Some(named) = extended(&text).map(str::to_owned) {
            text = with_extended(&text, &read(&named));
        }
        text
    }

    #[test]
    fn a_figure_is_beyond_the_lab_or_has_a_load() {
        for case in CASES {
            let is_emulated = case.lab_load.is_some();
            assert_eq!(
                is_emulated,
                case.figure.beyond_lab().is_none(),
                "{}",
                case.title()
            );
        }
    }
}
