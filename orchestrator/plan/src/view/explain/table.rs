//! Text form of an explanation.

use lab_units::show::{Side, about_bytes, paragraph, sides, table};

use super::{ActorInput, Explained, Explanation, InputQuantity};

/// Renders the candidates in the table's order, with marks at candidates that were kept or chosen.
#[must_use]
pub fn render(explanation: &Explanation) -> String {
    let Explanation {
        from,
        to,
        candidate_set,
        paper_reconverge_after_ns,
        policy,
        parameters,
        hash,
        rule,
        is_scored,
        inputs,
        candidates,
    } = explanation;
    let rule = rule.unwrap_or("no link is up");
    let head = format!("{from} to {to} under {policy}: hash {hash}, {rule}\n");
    let set = if candidate_set.is_default() {
        String::new()
    } else {
        format!("  candidates: {candidate_set}\n")
    };
    let reconvergence = paper_reconverge_after_ns.map_or_else(String::new, |after| {
        format!("  candidates at the start; {after} after cuts and repairs, new ones\n")
    });
    let head = head + &set + &reconvergence + &paragraph("  ", parameters);
    head + &match inputs {
        Some(inputs) => input_table(inputs) + &candidate_table(RATIOS, candidates, by_weights),
        None if *is_scored => candidate_table(SCORED, candidates, scored),
        None => candidate_table(BUCKETS, candidates, in_buckets),
    }
}

/// Renders the inputs of trained weights.
fn input_table(inputs: &[ActorInput]) -> String {
    let mut rows = vec![["last interval", "to", "share", "input"].map(str::to_owned)];
    rows.extend(inputs.iter().map(|it| {
        let quantity = match it.quantity {
            InputQuantity::Utilisation => "utilisation",
            InputQuantity::Demand => "demand",
        };
        let share = format!("{:.3}", it.share);
        let input = format!("{:.3}", it.input);
        [quantity.to_owned(), it.to.clone(), share, input]
    }));
    table(2, [Side::Left, Side::Left, Side::Right, Side::Right], &rows)
}

fn candidate_table<const N: usize>(
    heads: [&str; N],
    candidates: &[Explained],
    cells: fn(&Explained) -> [String; N],
) -> String {
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(candidates.iter().map(cells));
    table(2, sides(1), &rows)
}

const SCORED: [&str; 13] = [
    "via",
    "delay",
    "capacity",
    "delay score",
    "capacity score",
    "C_path",
    "queue",
    "Q",
    "T",
    "D",
    "C_cong",
    "C",
    "fate",
];

fn scored(candidate: &Explained) -> [String; 13] {
    [
        candidate.via.clone(),
        candidate.delay_ns.to_string(),
        candidate.capacity_bps.to_string(),
        candidate.delay_score.to_string(),
        candidate.capacity_score.to_string(),
        candidate.c_path.to_string(),
        about_bytes(candidate.queue_bytes),
        candidate.q.to_string(),
        candidate.t.to_string(),
        candidate.d.to_string(),
        candidate.c_cong.to_string(),
        candidate.cost.to_string(),
        fate(candidate).to_owned(),
    ]
}

const BUCKETS: [&str; 6] = ["via", "delay", "capacity", "queue", "buckets", "fate"];

fn in_buckets(candidate: &Explained) -> [String; 6] {
    [
        candidate.via.clone(),
        candidate.delay_ns.to_string(),
        candidate.capacity_bps.to_string(),
        about_bytes(candidate.queue_bytes),
        candidate.buckets.to_string(),
        fate(candidate).to_owned(),
    ]
}

const RATIOS: [&str; 6] = ["via", "delay", "capacity", "ratio", "buckets", "fate"];

fn by_weights(candidate: &Explained) -> [String; 6] {
    [
        candidate.via.clone(),
        candidate.delay_ns.to_string(),
        candidate.capacity_bps.to_string(),
        candidate
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.4}")),
        candidate.buckets.to_string(),
        fate(candidate).to_owned(),
    ]
}

fn fate(candidate: &Explained) -> &'static str {
    match (candidate.is_alive, candidate.is_chosen, candidate.is_kept) {
        (false, ..) => "down",
        (true, true, _) => "chosen",
        (true, false, true) => "kept",
        (true, false, false) => "-",
    }
}
