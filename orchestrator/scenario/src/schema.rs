//! JSON Schema of scenarios, for editors, and reference of their parameters in Markdown.

use std::fmt::Write;

use lab_parameters::{
    DcqcnConfig, DctcpConfig, EcnConfig, HpccConfig, LcmpConfig, LinkConfig, Parameter,
    ParameterSet, Preset, TeConfig, TimelyConfig, TransportConfig, UcmpConfig,
};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{
    defaults,
    raw::{self, parameters::default},
};

/// Returns the JSON Schema (draft 2020-12) of a scenario.
///
/// The schema describes the form, units and bounds of single values. Constraints between values, such as that the
/// datacenters of a link exist, are checked only by [`parse`](crate::parse()).
#[must_use]
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<raw::Scenario>().to_value()
}

/// Returns the reference for all link, transport, policy and congestion control parameters, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = "# Parameters\n\n\
                    Made from the declarations in `orchestrator/parameters`; values are at the paper's scale \
                    (before scaling for emulation). `tune` changes a tunable parameter while flows run. The \
                    column `publication` has the value in the policy's paper; where that paper has none, \
                    the default of the preset `paper` is our interpretation.\n"
        .to_owned();
    links(&mut text);
    set::<LcmpConfig>(&mut text, "policies[].lcmp`, `rm-alpha`, `rm-beta");
    set::<UcmpConfig>(&mut text, "policies[].ucmp");
    set::<TeConfig>(&mut text, "policies[].te");
    set::<TransportConfig>(&mut text, "transport");
    set::<DcqcnConfig>(&mut text, "transport.cc.dcqcn");
    set::<HpccConfig>(&mut text, "transport.cc.hpcc");
    set::<TimelyConfig>(&mut text, "transport.cc.timely");
    set::<DctcpConfig>(&mut text, "transport.cc.dctcp");
    text
}

/// Appends a table with the parameters of links and of ECN marking.
fn links(text: &mut String) {
    let _ = write!(
        text,
        "\n## {} (`topology.links[]`, `topology.defaults`, `topology.dcs[].fabric`)\n\n\
         | parameter | meaning | values | default inside a datacenter | between datacenters | a fault changes it |\n\
         |---|---|---|---|---|---|\n",
        LinkConfig::TITLE,
    );
    for parameter in LinkConfig::PARAMETERS {
        let default = |link: LinkConfig| link.get(parameter.name).map(|it| format!("`{it}`"));
        let between = default(defaults::INTER_DC).filter(|_| !parameter.is_required);
        row(
            text,
            parameter.name,
            parameter,
            [default(defaults::HOST_LINK), between],
        );
    }
    for parameter in EcnConfig::PARAMETERS {
        row(
            text,
            &format!("ecn.{}", parameter.name),
            parameter,
            [None, None],
        );
    }
}

/// Appends the table row of one link parameter.
fn row(text: &mut String, name: &str, parameter: &Parameter, defaults: [Option<String>; 2]) {
    let [inside, between] = defaults.map(|default| default.unwrap_or_else(|| "–".to_owned()));
    let _ = writeln!(
        text,
        "| `{name}` | {} | {} | {inside} | {between} | {} |",
        parameter.doc.trim(),
        parameter.domain,
        if parameter.is_changeable { "yes" } else { "" },
    );
}

fn set<S: ParameterSet>(text: &mut String, path: &str) {
    let is_policy = path.starts_with("policies");
    let [head, rule] = if is_policy {
        [" publication |", "---|"]
    } else {
        ["", ""]
    };
    let _ = write!(
        text,
        "\n## {} (`{path}`)\n\n\
         | parameter | meaning | values |{head} preset `paper` | preset `artifact` | tunable |\n\
         |---|---|---|{rule}---|---|---|\n",
        S::TITLE,
    );
    for parameter in S::PARAMETERS {
        let default = |preset| default::<S>(parameter, preset).unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |{} {} | {} | {} |",
            parameter.name,
            parameter.doc.trim(),
            parameter.domain,
            if is_policy {
                publication(parameter)
            } else {
                String::new()
            },
            default(Preset::Paper),
            default(Preset::Artifact),
            if parameter.is_tunable { "yes" } else { "" },
        );
    }
}

/// Returns the table cell with the published value of `parameter`, and where it was published.
fn publication(parameter: &Parameter) -> String {
    match parameter.published {
        Some(published) => format!(" {}, {} |", published.words, published.place),
        None => " our reading |".to_owned(),
    }
}
