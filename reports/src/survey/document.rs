//! Document of a survey.

use lab_units::show::counted;

use super::{
    answer::{SettingCount, SurveyAnswer},
    explanation::{Coefficient, Explanation, PROPERTIES},
    sample::{Errors, TrainsError},
    terms::Terms,
    wins::Wins,
};
use crate::{
    check::PageAnswer,
    document::{Block, Cell, Column, Document, Medium, Section, Table},
    sweep::{FALSE_DISCOVERIES, P99, Slice, distinct},
    text,
};

/// Returns the document of a survey.
pub fn document(survey: &SurveyAnswer) -> Document<'_> {
    let title = &survey.title;
    let mut opening = vec![
        Block::Lead(lead(survey)),
        Block::Note(
            Medium::Any,
            format!("Simulator, {}; lcmp-lab {}.", title.method, title.version),
        ),
    ];
    opening.extend(survey.doubts().map(Block::Banner));
    let mut sections = vec![
        Section::new("In short", in_short(survey)),
        Section::new("Networks", network_blocks(survey)),
    ];
    for slice in [Slice::All, Slice::WithChoice] {
        let wins: Vec<&Wins> = survey.wins.iter().filter(|it| it.slice == slice).collect();
        if wins.is_empty() {
            continue;
        }
        let title = format!("p99 of {} against {}", flows_of(slice), survey.baseline);
        let table = wins_table(&wins, true);
        let mut blocks = vec![Block::Table(Medium::Any, table)];
        if slice == Slice::All {
            blocks.push(Block::Note(Medium::Any, outcomes(survey)));
        }
        sections.push(Section::new(title, blocks));
    }
    if !survey.explanations.is_empty() {
        let blocks = vec![
            Block::Table(Medium::Any, explanations(&survey.explanations)),
            Block::Note(Medium::Any, explanation_note(survey)),
        ];
        sections.push(Section::new("What explains the change of p99", blocks));
    }
    if let Some(terms) = &survey.terms {
        sections.push(Section::new("LCMP's two costs", term_blocks(survey, terms)));
    }
    if let Some(sampled) = survey.sampled {
        sections.push(Section::new(
            "Error of trains",
            sample_blocks(survey, sampled),
        ));
    }
    Document {
        title: format!("{}: survey", title.name),
        version: title.version.clone(),
        origin: "from the results of a sweep's cells.",
        opening,
        sections,
    }
}

fn lead(survey: &SurveyAnswer) -> String {
    let [networks, all] = [
        |it: &SettingCount| it.networks,
        |it: &SettingCount| it.points,
    ]
    .map(|of| survey.settings.iter().map(of).max().unwrap_or(0) as u64);
    format!(
        "{} of {} under {}: {} of {} have usable results.",
        text::number(networks),
        counted(all, "network"),
        counted(survey.settings.len() as u64, "setting"),
        text::number(survey.done as u64),
        counted(survey.cells as u64, "cell"),
    )
}

/// Returns a sentence on each policy, over all settings.
fn in_short<'a>(survey: &SurveyAnswer) -> Vec<Block<'a>> {
    let wins = survey.wins.iter();
    let of_all: Vec<&Wins> = wins.filter(|it| it.slice == Slice::All).collect();
    let policies = distinct(of_all.iter().map(|it| &it.policy));
    let terms = survey.terms.as_ref();
    let congestion: Vec<&Wins> = terms.into_iter().flat_map(|it| &it.congestion).collect();
    let against_baseline = policies.into_iter().map(|policy| {
        let own: Vec<&Wins> = of_all
            .iter()
            .copied()
            .filter(|it| it.policy == policy)
            .collect();
        (policy, &*survey.baseline, own)
    });
    let by_congestion = terms
        .filter(|it| it.without_congestion != survey.baseline)
        .map(|it| (&*it.both, &*it.without_congestion, congestion));
    against_baseline
        .chain(by_congestion)
        .map(|(policy, other, wins)| Block::Text(Medium::Any, summed_up(policy, other, &wins)))
        .collect()
}

/// States in how many networks `policy` is better or worse than `other`, as a range over the settings of `wins`.
fn summed_up(policy: &str, other: &str, wins: &[&Wins]) -> String {
    let range = |of: fn(&Wins) -> usize| {
        let counts = || wins.iter().map(|it| of(it));
        match [counts().min(), counts().max()].map(Option::unwrap_or_default) {
            [least, most] if least == most => text::number(most as u64),
            [least, most] => format!(
                "{} to {}",
                text::number(least as u64),
                text::number(most as u64)
            ),
        }
    };
    let mut medians: Vec<f64> = wins.iter().filter_map(|it| it.median).collect();
    medians.sort_by(f64::total_cmp);
    let median = match (medians.first(), medians.last()) {
        (Some(least), Some(most)) if least == most => text::small_change(*most),
        (Some(least), Some(most)) => {
            format!(
                "{} to {}",
                text::small_change(*least),
                text::small_change(*most)
            )
        }
        _ => "unknown".to_owned(),
    };
    format!(
        "{policy} against {other}, p99 of all flows: better in {} of {} networks with a p99, worse in {}; median change \
         {median}.",
        range(|it| it.better),
        range(|it| it.networks - it.without),
        range(|it| it.worse),
    )
}

fn network_blocks<'a>(survey: &SurveyAnswer) -> Vec<Block<'a>> {
    let mut blocks = vec![Block::Table(Medium::Any, networks(survey))];
    blocks.extend(survey.unusable.iter().take(MAX_REASONS).map(|it| {
        let such_as = if it.cells > 1 { ", such as" } else { "" };
        let cells = counted(it.cells as u64, "cell");
        Block::Text(
            Medium::Any,
            format!("Unusable, {cells}{such_as}: {}", it.reason),
        )
    }));
    blocks
}

/// Maximum number of reasons for unusable cells that are shown.
const MAX_REASONS: usize = 5;

/// Returns the table of the networks under each setting.
fn networks(survey: &SurveyAnswer) -> Table {
    let names = [
        "networks",
        "without a choice",
        "without a p99",
        "flows",
        "with a choice",
    ];
    let columns = names.map(Column::numbers);
    let mut table = Table::new([Column::names("setting")].into_iter().chain(columns));
    for it in &survey.settings {
        let counts = [it.networks, it.without_choice, it.without_p99].map(|it| it as u64);
        let numbers = counts.into_iter().chain([it.flows]);
        let share = text::share_of(it.flows_with_choice, it.flows.max(1));
        table.push(
            [Cell::from(&*it.setting)]
                .into_iter()
                .chain(numbers.map(|it| text::number(it).into()))
                .chain([share.into()]),
        );
    }
    table
}

fn wins_table(wins: &[&Wins], has_policy: bool) -> Table {
    let mut columns = vec![Column::names("setting")];
    if has_policy {
        columns.push(Column::names("policy"));
    }
    columns.extend(OUTCOMES.map(|(name, _)| Column::numbers(name)));
    columns.push(Column::numbers("median change"));
    let mut table = Table::new(columns);
    for it in wins {
        let policy = has_policy.then(|| Cell::from(&*it.policy));
        let counts = OUTCOMES.map(|(_, of)| text::number(of(it) as u64).into());
        table.push(
            [Cell::from(&*it.setting)]
                .into_iter()
                .chain(policy)
                .chain(counts)
                .chain([Cell::of(it.median.map(text::small_change))]),
        );
    }
    table
}

/// Number of networks with one outcome.
type CountOf = fn(&Wins) -> usize;

const OUTCOMES: [(&str, CountOf); 6] = [
    ("better", |it| it.better),
    ("worse", |it| it.worse),
    ("same", |it| it.same),
    ("within the error", |it| it.within_error),
    ("cannot tell", |it| it.unknown),
    ("no p99", |it| it.without),
];

fn outcomes(survey: &SurveyAnswer) -> String {
    let error = match survey.sampled {
        Some(_) => {
            " Within the error: not larger than the error of the change that 95 % of the sample's draws do not exceed, \
             one number for each policy."
        }
        None => "",
    };
    format!(
        "Numbers of networks. Better, worse: the change is significant over the draws; by the procedure of Benjamini and \
         Hochberg, at most {:.0} % of all changes called so in this survey are expected to be wrong. Same: the interval \
         lies within 1 % of zero.{error} Cannot tell: there is a single draw, or the draws differ too much. The median is \
         over the networks with a p99.",
        FALSE_DISCOVERIES * 100.0
    )
}

fn explanations(explanations: &[Explanation]) -> Table {
    let names = ["setting", "policy"].map(Column::names);
    let numbers = ["networks", "R²"].map(Column::numbers);
    let properties = PROPERTIES.map(|(name, _)| Column::numbers(name));
    let mut table = Table::new(names.into_iter().chain(numbers).chain(properties));
    for it in explanations {
        let coefficient = |name: &str| {
            let mut found = it.coefficients.iter();
            Cell::of(found.find(|it| it.property == name).map(in_brackets))
        };
        let r_squared = format!("{:.2}", it.r_squared);
        table.push(
            [
                Cell::from(&*it.setting),
                Cell::from(&*it.policy),
                text::number(it.networks as u64).into(),
                r_squared.into(),
            ]
            .into_iter()
            .chain(PROPERTIES.map(|(name, _)| coefficient(name))),
        );
    }
    table
}

/// Formats a coefficient with its interval.
fn in_brackets(it: &Coefficient) -> String {
    let percent = |value: f64| format!("{:+.1}", value * 100.0).replace('-', "−");
    let [value, low, high] = [it.value, it.interval.low, it.interval.high].map(percent);
    format!("{value} % [{low}, {high}]")
}

fn explanation_note(survey: &SurveyAnswer) -> String {
    format!(
        "Linear regression over the networks, by least squares: the change of a policy's p99 against {} by one standard \
         deviation of each property, all others equal, with its 95 % interval. R² is the explained share of the variance. \
         Pairs with a choice: share of the pairs of datacenters with flows. Spreads: largest ÷ smallest value over the \
         candidates of a pair, the geometric mean over the pairs, by its logarithm. Busiest link: its utilisation under \
         {} while flows start. Datacenters: by the logarithm of their number. A dash: fewer than \
         ten networks differ in the property, or it says the same as another.",
        survey.baseline, survey.baseline
    )
}

fn term_blocks<'a>(survey: &SurveyAnswer, terms: &Terms) -> Vec<Block<'a>> {
    let Terms {
        both,
        without_congestion: without,
        ..
    } = terms;
    let path: Vec<&Wins> = terms.path.iter().collect();
    let congestion: Vec<&Wins> = terms.congestion.iter().collect();
    let columns = ["decisions", "changed by C_path", "changed by C_cong"].map(Column::numbers);
    let mut decisions = Table::new([Column::names("setting")].into_iter().chain(columns));
    for it in &terms.decisions {
        let share = |part| text::share_of(part, it.decisions.max(1)).into();
        decisions.push([
            Cell::from(&*it.setting),
            text::number(it.decisions).into(),
            share(it.by_path),
            share(it.by_congestion),
        ]);
    }
    let heading = |text: String| Block::Heading(Medium::Any, text);
    let table = |table| Block::Table(Medium::Any, table);
    let mut blocks = Vec::new();
    if *without != survey.baseline {
        let title = format!(
            "C_path: p99 of all flows, {without} against {}",
            survey.baseline
        );
        blocks.extend([heading(title), table(wins_table(&path, false))]);
    }
    blocks.extend([
        heading(format!("C_cong: p99 of all flows, {both} against {without}")),
        table(wins_table(&congestion, false)),
        heading(format!("Decisions of {both}")),
        table(decisions),
        Block::Note(
            Medium::Any,
            "Changed by a cost: the share of the decisions among several candidates that would take another next hop \
             without it."
                .to_owned(),
        ),
    ]);
    blocks
}

fn sample_blocks<'a>(survey: &SurveyAnswer, sampled: usize) -> Vec<Block<'a>> {
    let lead = format!(
        "{} of the sweep were also simulated packet by packet, from equal plans. Errors are trains ÷ packets − 1.",
        counted(sampled as u64, "cell")
    );
    let names = ["policy", "flows", "percentile"].map(Column::names);
    let numbers = [
        "draws",
        "error, median",
        "95 % within",
        "largest",
        "error of the change, median",
        "95 % within",
        "same order",
    ]
    .map(Column::numbers);
    let mut table = Table::new(names.into_iter().chain(numbers));
    for it in &survey.errors {
        table.push(error_row(it));
    }
    vec![
        Block::Text(Medium::Any, lead),
        Block::Text(Medium::Any, not_shown(survey)),
        Block::Table(Medium::Any, table),
        Block::Note(
            Medium::Any,
            format!(
                "Error of the change: of the policy's percentile ÷ {}'s. Same order: draws in which trains and packets agree \
                 which of the two is smaller, of those in which packets show more than 1 % between them.",
                survey.baseline
            ),
        ),
    ]
}

/// States which changes trains cannot show.
fn not_shown(survey: &SurveyAnswer) -> String {
    let of = |slice: Slice| {
        let own = |it: &&TrainsError| it.slice == slice && it.statistic == P99.name();
        let errors = survey.errors.iter().filter(own);
        let known = errors.filter_map(|it| Some((&it.policy, it.change?.p95)));
        let parts: Vec<String> = known
            .filter(|(_, error)| *error > 0.0)
            .map(|(policy, error)| format!("{policy} {}", text::small_percent(error)))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: {}", flows_of(slice), parts.join(", ")))
    };
    let parts: Vec<String> = [Slice::All, Slice::WithChoice]
        .into_iter()
        .filter_map(of)
        .collect();
    let errors = match parts.as_slice() {
        [] => "The sample has no p99, so no change of one is counted.".to_owned(),
        parts => format!(
            "A change of p99 against {} that is not larger than this error is not counted ({}).",
            survey.baseline,
            parts.join("; ")
        ),
    };
    format!(
        "{errors} Queues shorter than a train, and the order of single packets of several flows, are not simulated at all."
    )
}

/// Returns the name of a selection of flows in sentences.
const fn flows_of(slice: Slice) -> &'static str {
    match slice {
        Slice::All => "all flows",
        Slice::WithChoice => "flows with a choice",
    }
}

fn error_row(it: &TrainsError) -> Vec<Cell> {
    let small = |value: f64| text::small_percent(value);
    let of_change = |of: fn(&Errors) -> String| Cell::of(it.change.as_ref().map(of));
    let order = it.order.filter(|order| order.draws > 0);
    vec![
        Cell::from(&*it.policy),
        it.slice.name().into(),
        it.statistic.into(),
        text::number(it.level.draws as u64).into(),
        text::small_change(it.level.median).into(),
        small(it.level.p95).into(),
        small(it.level.largest).into(),
        of_change(|it| text::small_change(it.median)),
        of_change(|it| text::small_percent(it.p95)),
        Cell::of(order.map(|it| format!("{} of {}", it.agree, it.draws))),
    ]
}
