//! Account as text.

use std::fmt::Write;

use lab_plan::account::{
    Counted, FLOW_BYTES, PATH_BYTES, PORT_BYTES, PRIMITIVES_PER_CANDIDATE, TrainedAccount,
};
use lab_switchd::account::{MapAccount, ProgramAccount};
use lab_units::show::{Side, commas, sides, table};

use super::counts::{Account, RowBytes};

/// Returns the account as text: the paper's counts next to this program's, each switch, trained weights, the eBPF maps
/// and the switch program.
pub fn text(account: &Account) -> String {
    let mut text = String::new();
    rows(&mut text, &account.rows, account.paper);
    switches(&mut text, account);
    let is_alike = |a: &TrainedAccount, b: &TrainedAccount| {
        (a.interval_ns, &a.networks) == (b.interval_ns, &b.networks)
    };
    for policies in account.trained.chunk_by(is_alike) {
        trained(&mut text, policies);
    }
    tables(&mut text, &account.tables);
    match (&account.program, &account.program_unknown) {
        (Some(program), _) => of_program(&mut text, program),
        (None, why) => {
            let why = why.as_deref().unwrap_or("it was not loaded");
            let _ = writeln!(
                text,
                "\nThe size of the switch program is unknown: {why} (hint: loading it requires root and BPF)"
            );
        }
    }
    text
}

fn rows(text: &mut String, rows: &RowBytes, paper: Counted) {
    let flow = rows.flow_key + rows.flow_entry;
    let times = |count: u64, bytes: usize| commas(count * bytes as u64);
    let lines = [
        [
            "Bytes".to_owned(),
            "paper (Sec. 4)".to_owned(),
            "here".to_owned(),
        ],
        [
            "a port".to_owned(),
            format!("{PORT_BYTES} B"),
            format!(
                "{} B of state in the agent, {} B in the program's table",
                rows.port_state, rows.port_row
            ),
        ],
        [
            format!("{} ports", paper.ports),
            format!("{} B", commas(paper.port_bytes)),
            format!(
                "{} B in the agent, {} B in the table",
                times(paper.ports, rows.port_state),
                times(paper.ports, rows.port_row)
            ),
        ],
        [
            "a flow".to_owned(),
            format!("{FLOW_BYTES} B"),
            format!(
                "{flow} B: a key of {} B (the whole 5-tuple) and an entry of {} B with counters",
                rows.flow_key, rows.flow_entry
            ),
        ],
        [
            format!("{} flows", commas(paper.flows)),
            format!("{} B", commas(paper.flow_bytes)),
            format!("{} B", times(paper.flows, flow)),
        ],
        [
            "a path's score".to_owned(),
            format!("{PATH_BYTES} B"),
            format!("{} B with its port and buckets", rows.candidate),
        ],
        [
            "level and class tables".to_owned(),
            "a few dozen B".to_owned(),
            format!(
                "{} B, and {} B of thresholds per port",
                paper.table_bytes, rows.port_thresholds
            ),
        ],
    ];
    text.push_str(&table(0, [Side::Left, Side::Right, Side::Left], &lines));
}

fn switches(text: &mut String, account: &Account) {
    let heads = [
        "switch",
        "ports",
        "bytes",
        "paths",
        "bytes",
        "flow bytes",
        "most m",
        "operations of a decision",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(account.switches.iter().map(|switch| {
        let counted = &switch.counted;
        if switch.is_legacy {
            let mut row = [const { String::new() }; 8];
            row[0].clone_from(&switch.dc);
            "legacy: no agent, no tables".clone_into(&mut row[7]);
            return row;
        }
        [
            switch.dc.clone(),
            counted.ports.to_string(),
            commas(counted.port_bytes),
            counted.paths.to_string(),
            commas(counted.path_bytes),
            commas(counted.flow_bytes),
            counted.candidates.to_string(),
            operations(counted),
        ]
    }));
    let mut columns = sides(1);
    columns[7] = Side::Left;
    let flows = account.switches.first();
    if !account.candidate_set.is_default() {
        let _ = writeln!(text, "\nCandidates: {}", account.candidate_set);
    }
    let _ = writeln!(
        text,
        "\nSwitches by the paper's counting, with room for {} flows\n{}  paper's example: {}, at {} \
         candidates",
        commas(flows.map_or(0, |switch| switch.counted.flows)),
        table(2, columns, &rows),
        operations(&account.paper),
        account.paper.candidates
    );
}

/// Appends the table of policies whose networks have the same shapes.
fn trained(text: &mut String, policies: &[TrainedAccount]) {
    let Some(account) = policies.first() else {
        return;
    };
    let heads = [
        "switch",
        "inputs",
        "outputs",
        "parameters",
        "bytes",
        "multiply-adds",
        "exponentials",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(account.networks.iter().map(|network| {
        let counts = [
            network.inputs,
            network.outputs,
            network.parameters,
            network.parameter_bytes,
            network.multiply_adds,
            network.exponentials,
        ];
        let [inputs, outputs, parameters, bytes, adds, exponentials] =
            counts.map(|count| commas(count as u64));
        let dc = network.dc.clone();
        [dc, inputs, outputs, parameters, bytes, adds, exponentials]
    }));
    let labels: Vec<&str> = policies.iter().map(|it| it.policy.as_str()).collect();
    let _ = write!(
        text,
        "\nTrained weights of {} in the agents, counted from the networks' shapes; operations per evaluation, one every \
         {}\n{}",
        labels.join(", "),
        account.interval_ns,
        table(2, sides(1), &rows)
    );
}

/// Formats the operations of a decision, such as `6 · 15 + 15 = 105`.
fn operations(counted: &Counted) -> String {
    let each = PRIMITIVES_PER_CANDIDATE;
    let sort = counted.operations - counted.candidates * each;
    format!(
        "{} · {each} + {sort} = {}",
        counted.candidates, counted.operations
    )
}

fn of_program(text: &mut String, program: &ProgramAccount) {
    let verified = match program.verified_instructions {
        Some(count) => format!(
            "the verifier processed {} instructions over all paths",
            commas(count.into())
        ),
        None => {
            "this kernel does not report how many instructions the verifier processed".to_owned()
        }
    };
    let _ = writeln!(
        text,
        "\nThe switch program, which is the same for every policy, for up to {} candidates: {} instructions; \
         {verified}; {} B of machine code",
        lab_policy::MAX_CANDIDATES,
        commas(program.instructions.into()),
        commas(program.machine_code_bytes.into()),
    );
}

fn tables(text: &mut String, tables: &[MapAccount]) {
    let heads = ["table", "key B", "value B", "rows", "B", "in the kernel"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(tables.iter().map(|table| {
        [
            table.name.clone(),
            table.key_bytes.to_string(),
            table.value_bytes.to_string(),
            commas(table.rows.into()),
            commas(table.bytes),
            table.kernel_bytes.map_or_else(|| "-".to_owned(), commas),
        ]
    }));
    let _ = write!(
        text,
        "\nTables of the switch program, on one CPU\n{}",
        table(2, sides(1), &rows)
    );
}
