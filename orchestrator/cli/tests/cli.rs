//! Tests of texts, exit codes and streams, for verbs that need neither root, a kernel module nor a network.

mod common;

use std::{
    fs, io,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
};

use lab_guest::cached;
use lab_plan::Capacity;
use tempfile::TempDir;

use self::common::{NOBODY, Outcome, command_in, root};

fn run_in(folder: &Path, arguments: &[&str]) -> Outcome {
    command_in(folder, arguments).output().unwrap().into()
}

/// Runs a command, which must succeed without messages on standard error, and returns its standard output.
#[track_caller]
fn result(arguments: &[&str]) -> String {
    let out = run_in(&root(), arguments);
    assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""), "{out:?}");
    assert!(out.stdout.ends_with('\n'), "{out:?}");
    out.stdout
}

/// Runs a command, which must fail with exit code `exit` and without output on standard output, and returns the error
/// message.
#[track_caller]
fn refusal(folder: &Path, arguments: &[&str], exit: i32) -> String {
    let out = run_in(folder, arguments);
    assert_eq!((out.exit, out.stdout.as_str()), (Some(exit), ""), "{out:?}");
    out.stderr
}

/// Returns a folder with the smallest scenario, modified by `change`, as `smoke.yaml`, and the files that the scenario
/// refers to.
fn changed_smoke(change: impl Fn(&str) -> String) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = root().join("scenarios");
    let text = fs::read_to_string(scenarios.join("smoke.yaml")).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "the change finds nothing to change");
    fs::write(folder.path().join("smoke.yaml"), changed).unwrap();
    let sizes = "workloads/bulk.csv";
    fs::create_dir(folder.path().join("workloads")).unwrap();
    fs::copy(scenarios.join(sizes), folder.path().join(sizes)).unwrap();
    folder
}

#[test]
fn help_lists_the_verbs_and_the_exit_codes() {
    insta::assert_snapshot!("help", result(&["--help"]));
    assert_eq!(result(&["help", "up"]), result(&["up", "--help"]));
}

#[test]
fn ebpf_objects_are_checked_before_anything_is_created() {
    let own = "  - ecmp\n  - ebpf: missing.o\n  - ebpf: script.o\n  - ebpf: bench.bpf.o\n  - ebpf: own.o\n";
    let folder = changed_smoke(|text| text.replace("  - ecmp\n  - lcmp\n", own));
    let objects = root().join("agents/ebpf");
    fs::copy(
        objects.join("examples/delay-only.bpf.o"),
        folder.path().join("own.o"),
    )
    .unwrap();
    fs::copy(
        objects.join("bench.bpf.o"),
        folder.path().join("bench.bpf.o"),
    )
    .unwrap();
    fs::write(folder.path().join("script.o"), "#!/bin/sh\n").unwrap();
    let expected = [
        "error: smoke.yaml: `policies[1].ebpf`: `missing.o` is not a switch program: cannot read it: No \
         such file or directory (os error 2) (hint: the path is relative to the scenario; ",
        "error: smoke.yaml: `policies[2].ebpf`: `script.o` is not a switch program: not a BPF object: ",
        "error: smoke.yaml: `policies[3].ebpf`: `bench.bpf.o` is not a switch program: no program \
         `switch_ingress` in the section `classifier` (hint: include switch.bpf.h",
    ];
    for verb in ["check", "up"] {
        let out = refusal(folder.path(), &[verb, "smoke.yaml"], 2);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{out}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected), "{line}");
        }
        assert!(!folder.path().join("results").exists());
    }
    // Only the objects of the selected policies are checked.
    let sound = ["check", "smoke.yaml", "--policies", "ecmp,own"];
    assert_eq!(run_in(folder.path(), &sound).exit, Some(0));
}

/// The console blocks in the hand calculation `scenarios/explain-8dc.md` equal the output of `explain`.
#[test]
fn explain_prints_the_hand_calculation() {
    let text = fs::read_to_string(root().join("scenarios/explain-8dc.md")).unwrap();
    let mut shown = 0;
    for block in text.split("```console\n$ lcmp-lab ").skip(1) {
        let (command, rest) = block.split_once('\n').unwrap();
        let expected = rest.split("```").next().unwrap();
        let arguments: Vec<&str> = command.split(' ').collect();
        assert_eq!(result(&arguments), expected, "{command}");
        shown += 1;
    }
    assert_eq!(shown, 4);
}

/// The size of the switch program depends on the kernel that loads it, so it is left out; all other numbers are the
/// same everywhere.
#[test]
fn account_compares_our_numbers_with_the_papers() {
    let text = result(&["account", "scenarios/8dc.yaml"]);
    let counted = text.split("\nTables of the switch program").next().unwrap();
    insta::assert_snapshot!("account_8dc", counted);
    assert!(text.contains("  flows "), "{text}");
    let json = result(&["--json", "account", "scenarios/8dc.yaml"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["paper"]["operations"], 105);
    assert_eq!(json["paper"]["port_bytes"], 1_152);
    assert_ne!(json["program"].is_null(), json["program_unknown"].is_null());
}

/// No flow starts at the datacenter between the two with hosts.
#[test]
fn explain_refuses_switches_at_which_no_policy_decides() {
    let ask = |scenario: &str, from: &str| {
        let arguments = ["explain", scenario, "--from", from, "--to", "dc1"];
        refusal(&root(), &arguments, 2)
    };
    let legacy = ask("scenarios/rollout.yaml", "dc8");
    let why = "no policy decides at the switch of `dc8`: it is a legacy switch";
    assert!(legacy.contains(why), "{legacy}");
    let folder = tempfile::tempdir().unwrap();
    let line = folder.path().join("line.yaml");
    let text = "name: line
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: between }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, between], rate: 100 Gbit, delay: 5 ms }
    - { between: [between, dc3], rate: 100 Gbit, delay: 5 ms }
traffic: [{ flows: [{ from: dc1/h1, to: dc3/h1, size: 1 MB }] }]
policies: [lcmp]
routing: { candidates: tunnels }
";
    fs::write(&line, text).unwrap();
    let transit = ask(line.to_str().unwrap(), "between");
    let why = "no policy decides at the switch of `between`: it follows tunnels only";
    assert!(transit.contains(why), "{transit}");
}

#[test]
fn explain_refuses_unknown_names() {
    let ask = |more: &[&str]| {
        let from = ["explain", "scenarios/8dc.yaml", "--from", "dc1", "--to"];
        refusal(&root(), &[&from[..], more].concat(), 2)
    };
    assert!(ask(&["dc9"]).contains("there is no datacenter `dc9`"));
    assert!(ask(&["dc1"]).contains("makes no decision for `dc1`"));
    assert!(ask(&["dc8", "--queues", "dc6"]).contains("is not a queue"));
    for question in [["--queues", "dc8=600MB"], ["--dead", "dc8"]] {
        let elsewhere = ask(&[&["dc8"][..], &question].concat());
        assert!(
            elsewhere.contains(
                "`dc8` is not a neighbour of `dc1` (hint: its links lead to `dc2`, `dc3`"
            ),
            "{elsewhere}"
        );
    }
    assert!(ask(&["dc8", "--queues", "dc6=much"]).contains("`much` is not a queue state"));
    assert!(ask(&["dc8", "--src", "dc1/h9"]).contains("there is no host `dc1/h9`"));
    let elsewhere = ask(&["dc8", "--src", "dc8/h1"]);
    assert!(
        elsewhere.contains("no flow from `dc8/h1` to `dc8` passes `dc1`"),
        "{elsewhere}"
    );
    assert!(ask(&["dc8", "--dst", "dc1/h1"]).contains("`dc1/h1` is not a host of `dc8`"));
    assert!(ask(&["dc8", "--policies", "ospf"]).contains("no policy `ospf`"));
}

/// The only shortest path to dc2 is the direct link, so a queue elsewhere changes nothing.
#[test]
fn explain_says_which_queue_changes_nothing() {
    let ask = |to: &str| {
        let words = [
            "explain",
            "scenarios/8dc-fabric.yaml",
            "--from",
            "dc1",
            "--to",
            to,
        ];
        run_in(&root(), &[&words[..], &["--queues", "dc6=600MB"]].concat())
    };
    assert_eq!(ask("dc8").stderr, "");
    let out = ask("dc2");
    assert_eq!(out.exit, Some(0), "{out:?}");
    let expected = "warning: `dc6` is not a next hop from `dc1` to `dc2`: the state given for it has no effect\n";
    assert_eq!(out.stderr, expected);
}

#[test]
fn a_misspelt_scenario_is_named_with_the_one_it_may_be() {
    let folder = changed_smoke(|text| format!("{text}# elsewhere\n"));
    for (typed, near) in [
        ("smoek.yaml", "smoke.yaml"),
        ("8cd", "8dc"),
        ("scenarios/8dc-lods.yaml", "8dc-loads"),
        ("8dc.yml", "8dc"),
        ("fig11.yml", "paper/fig11"),
    ] {
        let message = refusal(folder.path(), &["check", typed], 2);
        let hint = format!("(hint: did you mean `{near}`?)\n");
        assert!(message.ends_with(&hint), "{typed}: {message}");
    }
    let message = refusal(folder.path(), &["check", "nothing-like-it.yaml"], 2);
    assert!(
        message.ends_with("(hint: `lcmp-lab scenarios` lists the built-in ones)\n"),
        "{message}"
    );
}

#[test]
fn flags_take_the_words_that_people_write() {
    for words in [
        &["check", "--load", "50%", "scenarios/8dc.yaml"][..],
        &["check", "--scale", "1/6000,100", "scenarios/8dc.yaml"],
        &[
            "explain",
            "scenarios/8dc.yaml",
            "--from",
            "dc1",
            "--to",
            "dc8",
            "--queues",
            "dc2=2MiB",
        ],
    ] {
        let out = run_in(&root(), words);
        assert_eq!(out.exit, Some(0), "{words:?}: {out:?}");
    }
    let message = refusal(&root(), &["check", "--load", "50", "scenarios/8dc.yaml"], 2);
    assert!(message.contains("did you mean `50%`?"), "{message}");
    let listed = ["--load", "50%", "scenarios/incast.yaml"];
    for verb in ["check", "sim", "plan"] {
        let message = refusal(&root(), &[&[verb], &listed[..]].concat(), 2);
        assert!(
            message.contains("all flows of the scenario are listed"),
            "{message}"
        );
    }
}

#[test]
fn an_unknown_lab_has_no_status() {
    let message = refusal(&root(), &["status", "--lab", "nosuch"], 2);
    assert!(
        message.starts_with("error: there is no lab `nosuch` (hint: "),
        "{message}"
    );
}

/// Copied scenarios name their schema by a relative path, which editors can resolve.
#[test]
fn copied_scenarios_have_the_schema_that_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(folder.path(), &["scenarios", "--copy", "mine"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let mut folders = vec![folder.path().join("mine")];
    let mut named = 0;
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_yaml = path.extension().is_some_and(|it| it == "yaml");
            let text = fs::read_to_string(&path).unwrap();
            if !is_yaml {
                continue;
            }
            for schema in text.lines().filter_map(|line| line.split_once("$schema=")) {
                let schema = path.parent().unwrap().join(schema.1.trim());
                assert_eq!(
                    fs::read_to_string(&schema).unwrap_or_default(),
                    result(&["schema"]),
                    "{}: {}",
                    path.display(),
                    schema.display()
                );
                named += 1;
            }
        }
    }
    assert!(named > 30, "{named}");
}

#[test]
fn every_verb_has_help_of_its_own() {
    let help = result(&["--help"]);
    let verbs: Vec<&str> = help
        .split("Commands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        // A verb's description may continue on further, more deeply indented lines.
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in verbs {
        let help = result(&[verb, "--help"]);
        assert!(help.contains(&format!("Usage: lcmp-lab {verb}")), "{help}");
        assert!(!help.contains("--results <DIR>"), "{help}");
        let flags = "Flags of every verb, such as --json, --results and --lab: lcmp-lab help\n";
        assert!(help.ends_with(flags), "{help}");
        insta::assert_snapshot!(format!("help_{verb}"), help);
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = concat!("lcmp-lab ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(result(&["--version"]), version);
}

#[test]
fn check_reports_the_cost_of_a_sound_scenario() {
    insta::assert_snapshot!("check_smoke", result(&["check", "scenarios/smoke.yaml"]));
}

/// Scenario with two equal paths, a datacenter behind one link, a cut that its source does not detect, and two policies
/// that cannot differ.
const DIAMOND: &str = "name: diamond
topology:
  dcs:
    - { name: a, hosts: 1 }
    - { name: b }
    - { name: c }
    - { name: d, hosts: 1 }
    - { name: e, hosts: 1 }
  links:
    - { between: [a, b], rate: 100 Gbit, delay: 5 ms }
    - { between: [b, d], rate: 100 Gbit, delay: 5 ms }
    - { between: [a, c], rate: 100 Gbit, delay: 5 ms }
    - { between: [c, d], rate: 100 Gbit, delay: 5 ms }
    - { between: [d, e], rate: 100 Gbit, delay: 5 ms }
traffic:
  - workload:
      sizes: workloads/bulk.csv
      pairs: [{ from: a, to: d, both_ways: true }, { from: e, to: d }]
      load: 30%
      duration: 200 ms
policies:
  - ecmp
  - wcmp
  - lcmp
faults:
  - { at: 50 ms, link: [b, d], down: true }
  - { at: 90 ms, link: [b, d], up: true }
generator: verbs
repetitions: { lab: 1, sim: 4 }
scale: { rate: 1/1000, time: 10 }
";

/// Under `--strict`, warnings are errors, and the exit code is that of a check that failed.
#[test]
fn check_states_what_a_run_cannot_show_and_can_refuse_warnings() {
    let folder = changed_smoke(|_| DIAMOND.to_owned());
    let lenient = run_in(folder.path(), &["check", "smoke.yaml"]);
    assert_eq!(lenient.exit, Some(0), "{lenient:?}");
    insta::assert_snapshot!(
        "check_diamond",
        format!("{}\n{}", lenient.stderr, lenient.stdout)
    );
    let strict = run_in(folder.path(), &["check", "--strict", "smoke.yaml"]);
    assert_eq!(strict.exit, Some(1), "{strict:?}");
    assert_eq!(strict.stdout, lenient.stdout);
    assert_eq!(
        strict.stderr,
        lenient.stderr.replace("warning: ", "error: ")
    );

    let json = run_in(
        folder.path(),
        &["check", "--strict", "--json", "smoke.yaml"],
    );
    assert_eq!((json.exit, json.stderr.as_str()), (Some(1), ""), "{json:?}");
    let check: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let scope = &check["scope"];
    assert_eq!(scope["choice"]["pairs_with_choice"], 2);
    assert_eq!(
        scope["alike"][0]["policies"],
        serde_json::json!(["ecmp", "wcmp"])
    );
    assert_eq!(scope["outages"][0]["from_ns"], 50_000_000);
    assert_eq!(check["engines"]["sim"]["repetitions"], 4);

    let sound = ["check", "--strict", "scenarios/smoke.yaml"];
    assert_eq!(run_in(&root(), &sound).exit, Some(0));
}

#[test]
fn plan_prints_the_tables_of_a_plan() {
    insta::assert_snapshot!("plan_smoke", result(&["plan", "scenarios/smoke.yaml"]));
}

#[test]
fn plan_prints_steps_in_the_syntax_of_ip_and_tc() {
    let steps = result(&["plan", "--steps", "scenarios/smoke.yaml"]);
    insta::assert_snapshot!("plan_smoke_steps", steps);
}

#[test]
fn graph_draws_the_map_on_standard_output_or_into_a_file() {
    let svg = result(&["graph", "scenarios/smoke.yaml"]);
    insta::assert_snapshot!("graph_smoke", svg);

    let folder = changed_smoke(|text| format!("{text}# elsewhere\n"));
    let out = run_in(folder.path(), &["graph", "smoke.yaml", "-o", "map.svg"]);
    assert_eq!(
        (out.exit, out.stdout.as_str(), out.stderr.as_str()),
        (Some(0), "", "wrote map.svg\n")
    );
    let written = fs::read_to_string(folder.path().join("map.svg")).unwrap();
    assert_eq!(written.trim_end(), svg.trim_end());
}

#[test]
fn schema_is_the_file_that_editors_read() {
    let file = fs::read_to_string(root().join("scenarios/scenario.schema.json")).unwrap();
    assert_eq!(result(&["schema"]), file);
}

#[test]
fn results_as_json_are_json_alone() {
    for arguments in [
        ["check", "--json", "scenarios/smoke.yaml"].as_slice(),
        &["plan", "--json", "scenarios/smoke.yaml"],
        &["plan", "--json", "--steps", "scenarios/smoke.yaml"],
    ] {
        let text = result(arguments);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object() || value.is_array(), "{arguments:?}");
    }
    let check = result(&["--json", "check", "scenarios/smoke.yaml"]);
    let check: serde_json::Value = serde_json::from_str(&check).unwrap();
    assert_eq!(check["flows"], 6);
    let policies = ["ecmp", "lcmp"];
    assert_eq!(check["policies"], serde_json::json!(policies));
    assert_eq!(check["warnings"], serde_json::json!([]));
}

#[test]
fn the_command_line_overrides_the_scenario() {
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&result(arguments)).unwrap()
    };
    let plan = |more: &[&str]| json(&[&["plan", "--json", "scenarios/smoke.yaml"], more].concat());
    let plain = plan(&[]);
    assert_eq!(plan(&["--seed", "2"]), plain);
    let other = plan(&["--seed", "3", "--policies", "lcmp"]);
    assert_eq!(other["seed"], 3);
    assert_ne!(other["flows"], plain["flows"]);
    assert_eq!(other["policies"].as_array().unwrap().len(), 1);
    assert_eq!(other["policies"][0]["label"], "lcmp");
}

#[test]
fn a_scale_of_the_command_line_replaces_the_scenarios() {
    let check = |more: &[&str]| -> serde_json::Value {
        let words = ["check", "--json", "scenarios/smoke.yaml"];
        serde_json::from_str(&result(&[&words, more].concat())).unwrap()
    };
    let scale = check(&["--scale", "1/500,20"])["scale"].clone();
    assert_eq!(
        scale["size"],
        check(&["--scale", "1/250,10"])["scale"]["size"]
    );
    let message = refusal(
        &root(),
        &["check", "--scale", "nowhere", "scenarios/smoke.yaml"],
        2,
    );
    assert!(message.contains("`--scale nowhere`"), "{message}");
    assert!(
        message.contains("give a run directory, or the factors"),
        "{message}"
    );
}

#[test]
fn an_automatic_scale_names_its_place_and_capacity() {
    let folder = automatic_smoke();
    let run = |arguments: &[&str]| run_in(folder.path(), arguments);
    let plan = |place: &str| -> serde_json::Value {
        let out = run(&["plan", "--json", "--scale-for", place, "smoke.yaml"]);
        assert_eq!(out.exit, Some(0), "{out:?}");
        serde_json::from_str(&out.stdout).unwrap()
    };
    for place in ["guest-virtual", "here"] {
        let capacity = plan(place)["auto_scale"]["capacity"].clone();
        assert_eq!(capacity["place"], place);
    }
    assert_ne!(plan("guest-virtual")["scale"], plan("here")["scale"]);
    let out = run(&["check", "smoke.yaml"]);
    let scale =
        "scale: auto: rates × 1/600, times × 30, sizes × 1/20, the finest for guest-virtual";
    assert!(out.stderr.contains(scale), "{out:?}");
    assert!(
        out.stderr
            .contains("a default (hint: lcmp-lab doctor --measure)"),
        "{out:?}"
    );
}

/// Returns a folder with the smallest scenario, changed to `scale: auto`.
fn automatic_smoke() -> TempDir {
    changed_smoke(|text| {
        let lines = text.lines().filter(|line| !line.starts_with("scale:"));
        lines.collect::<Vec<_>>().join("\n") + "\nscale: auto\n"
    })
}

/// Capacity at which a packet takes a hundred times as long as at the default capacity, so that the plan needs a larger
/// time factor.
const SLOW: &str = "guest-virtual:3ms,500us,120us,10ms";

#[test]
fn a_capacity_counts_only_if_the_command_line_names_it() {
    let folder = automatic_smoke();
    let plan = |arguments: &[&str]| -> serde_json::Value {
        let arguments = [&["plan", "--json", "smoke.yaml"], arguments].concat();
        let mut command = command_in(folder.path(), &arguments);
        command.env("LCMP_LAB_CACHE", folder.path());
        command.env("XDG_CACHE_HOME", folder.path());
        let out: Outcome = command.output().unwrap().into();
        assert_eq!(out.exit, Some(0), "{out:?}");
        serde_json::from_str(&out.stdout).unwrap()
    };
    let default = plan(&[]);
    let slow: Capacity = SLOW.parse().unwrap();
    // An earlier version stored measured capacities in this file, under this key if there was no guest kernel.
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let key = format!(", {}, {}", machine.trim(), cached::cpu_model());
    cached::store(folder.path(), "capacity-guest-virtual.json", &key, &slow).unwrap();
    assert_eq!(plan(&[]), default);
    let named = plan(&["--scale-for", SLOW]);
    assert_ne!(named["scale"], default["scale"]);
    assert_eq!(
        named["auto_scale"]["capacity"],
        serde_json::to_value(slow).unwrap()
    );
    assert_eq!(plan(&["--scale-for", "guest-virtual"]), default);
}

#[test]
fn a_run_records_the_capacity_that_its_scale_fits_and_is_run_again_with_it() {
    let folder = automatic_smoke();
    let run = |arguments: &[&str]| {
        let out = run_in(folder.path(), arguments);
        assert_eq!(out.exit, Some(0), "{arguments:?}: {out:?}");
        out
    };
    let out = run(&["sim", "smoke.yaml", "--scaled", "--scale-for", SLOW]);
    let named = format!("measured (--scale-for {SLOW})");
    assert!(out.stderr.contains(&named), "{out:?}");
    let records = fs::read_to_string(folder.path().join("results/latest/run.json")).unwrap();
    let records: serde_json::Value = serde_json::from_str(&records).unwrap();
    let fits = records["info"]["scale_fits"].as_str().unwrap();
    assert!(fits.ends_with(&named), "{fits}");
    run(&["bundle", "results/latest", "-o", "run.tar.zst"]);
    let out = run(&["verify", "run.tar.zst", "--rerun"]);
    assert!(out.stdout.contains("verified: no difference"), "{out:?}");
}

#[test]
fn a_capacity_that_cannot_be_read_is_refused() {
    let folder = automatic_smoke();
    for (named, reason) in [
        ("there", "`there` is not a place where labs run"),
        ("here:4us", "expected `here:HOP,FLOW`"),
        ("here:4us,11s", "must be 1 ns to 10 s"),
    ] {
        let out = run_in(
            folder.path(),
            &["check", "smoke.yaml", "--scale-for", named],
        );
        assert_eq!(out.exit, Some(2), "{named}: {out:?}");
        assert!(out.stderr.contains(reason), "{named}: {out:?}");
    }
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = result(&["completions", shell]);
        for verb in ["check", "plan", "up", "down", "completions"] {
            assert!(script.contains(verb), "{shell}: no `{verb}`");
        }
    }
}

#[test]
fn completions_offer_nothing_hidden() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = result(&["completions", shell]);
        for hidden in ["switchd", "up-in-guest", "up-as-owner", "measure-here"] {
            assert!(!script.contains(hidden), "{shell}: `{hidden}`");
        }
        for offered in ["policies", "keep", "completions"] {
            assert!(script.contains(offered), "{shell}: no `{offered}`");
        }
    }
}

#[test]
fn bash_completes_a_verb() {
    const NAME: &str = "bash_completes_a_verb";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("completions.bash");
    fs::write(&file, result(&["completions", "bash"])).unwrap();
    // This is what bash does at `lcmp-lab ch<Tab>`.
    let asked = "source \"$0\" && completer=$(complete -p lcmp-lab) && completer=${completer##*-F }
        COMP_WORDS=(lcmp-lab ch) COMP_CWORD=1
        ${completer%% *} lcmp-lab ch lcmp-lab
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash")
        .args(["--norc", "-c", asked])
        .arg(&file)
        .output();
    let out: Outcome = match bash {
        Ok(output) => output.into(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            eprintln!("skipped: {NAME}: bash is not installed");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(
        (out.exit, out.stdout.as_str(), out.stderr.as_str()),
        (Some(0), "check\n", "")
    );
}

#[test]
fn an_error_in_a_scenario_has_line_and_column() {
    let folder = changed_smoke(|text| text.replacen("rate: 100 Gbit", "rte: 100 Gbit", 1));
    for verb in ["check", "plan", "graph", "up"] {
        let message = refusal(folder.path(), &[verb, "smoke.yaml"], 2);
        assert!(
            message.contains("--> smoke.yaml:13:30\n"),
            "{verb}: {message}"
        );
    }
    let message = refusal(folder.path(), &["check", "smoke.yaml"], 2);
    insta::assert_snapshot!("bad_scenario", message);
}

#[test]
fn an_error_in_a_file_of_a_scenario_has_line_and_column() {
    let folder = changed_smoke(|text| format!("{text}# elsewhere\n"));
    let sizes = folder.path().join("workloads/bulk.csv");
    fs::write(&sizes, "bytes,percent\n2000000,0\n5000000,ten\n").unwrap();
    let message = refusal(folder.path(), &["check", "smoke.yaml"], 2);
    assert!(message.contains("workloads/bulk.csv:3:9"), "{message}");

    fs::remove_file(&sizes).unwrap();
    let message = refusal(folder.path(), &["check", "smoke.yaml"], 2);
    assert!(
        message.contains("workloads/bulk.csv") && message.contains("No such file"),
        "{message}"
    );
    let line = "      sizes: workloads/bulk.csv\n";
    let smoke = fs::read_to_string(folder.path().join("smoke.yaml")).unwrap();
    let (before, _) = smoke.split_once(line).unwrap();
    let place = format!("smoke.yaml:{}:14", before.lines().count() + 1);
    assert!(message.contains(&place), "{message}");
    assert!(
        message.contains("at `traffic[1].workload.sizes`"),
        "{message}"
    );
    let hint = "= hint: the path is relative to the scenario; `lcmp-lab scenarios --copy DIR` writes \
                DIR/workloads/bulk.csv";
    assert!(message.contains(hint), "{message}");
    fs::rename(
        folder.path().join("smoke.yaml"),
        folder.path().join("own.yaml"),
    )
    .unwrap();
    let own = folder.path().join("own.yaml");
    let text = fs::read_to_string(&own).unwrap();
    fs::write(&own, text.replace("workloads/bulk.csv", "mine.csv")).unwrap();
    let message = refusal(folder.path(), &["check", "own.yaml"], 2);
    assert!(
        message
            .trim_end()
            .ends_with("= hint: the path is relative to the scenario"),
        "{message}"
    );
    fs::write(&own, text.replace("workloads/bulk.csv", "web-search")).unwrap();
    let message = refusal(folder.path(), &["check", "own.yaml"], 2);
    let names = "built-in distributions are alistorage, bulk, fbhadoop, googlerpc, long, websearch";
    assert!(message.trim_end().ends_with(names), "{message}");
}

#[test]
fn an_unreadable_scenario_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| refusal(folder.path(), arguments, 2);
    for verb in ["check", "plan", "graph", "up"] {
        let message = refused(&[verb, "none.yaml"]);
        assert!(
            message.starts_with("error: cannot read `none.yaml`: "),
            "{message}"
        );
    }
    assert_eq!(
        refused(&["check", "/"]),
        "error: `/` is a directory, not a file\n"
    );
    assert_eq!(
        refused(&["check", "/dev/zero"]),
        "error: `/dev/zero` is a pipe or a device, not a file\n"
    );
    let large = fs::File::create(folder.path().join("large.yaml")).unwrap();
    large.set_len(1_048_577).unwrap();
    assert_eq!(
        refused(&["check", "large.yaml"]),
        "error: `large.yaml` has more than the allowed 1048576 bytes\n"
    );
}

#[test]
fn a_file_that_a_scenario_names_is_found_by_its_place_whatever_wrote_it() {
    let folder = changed_smoke(|text| text.replace("name: smoke", "name: marked"));
    let sizes = folder.path().join("workloads/bulk.csv");
    let text = fs::read_to_string(&sizes).unwrap();
    fs::write(&sizes, format!("\u{feff}{text}")).unwrap();
    let checked = run_in(folder.path(), &["check", "smoke.yaml"]);
    assert_eq!(checked.exit, Some(0), "{checked:?}");
    fs::remove_file(&sizes).unwrap();
    let message = refusal(folder.path(), &["check", "smoke.yaml"], 2);
    let expected = "error: cannot read `workloads/bulk.csv`: No such file";
    assert!(message.starts_with(expected), "{message}");
    assert!(
        message.contains("at `traffic[1].workload.sizes`"),
        "{message}"
    );
}

#[test]
fn sudo_reads_no_file_that_its_caller_may_not() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: sudo_reads_no_file_that_its_caller_may_not: this is not root");
        return;
    }
    let folder = changed_smoke(|text| text.replace("name: smoke", "name: theirs"));
    let allow = |name: &str, mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join(name), permissions).unwrap();
    };
    let check = || {
        let mut command = command_in(folder.path(), &["check", "smoke.yaml"]);
        let output = command
            .env("SUDO_UID", "65534")
            .env("SUDO_GID", "65534")
            .output();
        Outcome::from(output.unwrap())
    };
    allow(".", 0o755);
    allow("smoke.yaml", 0o644);
    let read = check();
    assert_eq!(read.exit, Some(0), "{read:?}");
    for (secret, named) in [
        (
            "workloads/bulk.csv",
            "cannot read `workloads/bulk.csv`: Permission denied",
        ),
        ("smoke.yaml", "cannot read `smoke.yaml`: Permission denied"),
    ] {
        allow(secret, 0o600);
        let refused = check();
        assert_eq!(refused.exit, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(named), "{refused:?}");
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for (arguments, expected) in [
        (["chekc"].as_slice(), "'chekc'"),
        (&[], "Usage: lcmp-lab"),
        (&["check"], "<SCENARIO>"),
        (&["check", "--sead", "2", "scenarios/8dc.yaml"], "--seed"),
        (
            &["check", "--seed", "two", "scenarios/8dc.yaml"],
            "'two' for '--seed",
        ),
        (
            &["check", "--policies", "lcpm", "scenarios/8dc.yaml"],
            "`lcpm`",
        ),
        (
            &["up", "--here", "--guest", "scenarios/8dc.yaml"],
            "--guest",
        ),
        (&["up", "--lab", "../x", "scenarios/8dc.yaml"], "`../x`"),
        (&["exec", "--lab", "../x", "dc1", "--", "true"], "`../x`"),
        (&["down", "../x"], "`../x`"),
        (
            &["check", "--scale", "0,1", "scenarios/8dc.yaml"],
            "the factor of rates is 0; it must be 1/1000000 to 1",
        ),
        (
            &["check", "--scale", "2000,10", "scenarios/8dc.yaml"],
            "(hint: the paper's rates are multiplied by the factor; did you mean `1/2000`?)",
        ),
        (&["bench", "generator", "--here", "--guest"], "--guest"),
        (&["exec", "dc1"], "<CMD>"),
        (&["completions", "csh"], "'csh'"),
    ] {
        let message = refusal(&root(), arguments, 2);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn too_few_open_files_are_named() {
    let mut command = Command::new("/bin/sh");
    command
        .args([
            "-c",
            "ulimit -n 8 && exec \"$0\" check scenarios/smoke.yaml",
        ])
        .arg(env!("CARGO_BIN_EXE_lcmp-lab"))
        .current_dir(root());
    let out = Outcome::from(command.output().unwrap());
    assert_eq!((out.exit, out.stdout.as_str()), (Some(3), ""), "{out:?}");
    assert!(out.stderr.contains("may open 8 files"), "{out:?}");
}

#[test]
fn control_characters_of_a_scenario_reach_no_terminal() {
    let name = "dc1\\e]0;title\\a\\e[2J";
    let scenario = changed_smoke(|text| text.replace("from: dc1/h1", &format!("from: \"{name}\"")));
    let message = refusal(scenario.path(), &["check", "smoke.yaml"], 2);
    let controls = message.chars().filter(|c| c.is_control() && *c != '\n');
    assert_eq!(controls.count(), 0, "{message:?}");
}

#[test]
fn warnings_are_written_to_standard_error() {
    let folder = changed_smoke(|text| text.replace("load: 0.06", "load: 0.3"));
    let out = run_in(folder.path(), &["check", "smoke.yaml"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(
        out.stderr.starts_with("warning: overload: `dc1` offers"),
        "{out:?}"
    );
    assert!(
        out.stdout
            .starts_with("smoke.yaml: sound, with a warning; "),
        "{out:?}"
    );

    let out = run_in(folder.path(), &["check", "--json", "smoke.yaml"]);
    assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""), "{out:?}");
    let check: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(check["warnings"][0]["code"], "overload");
}

/// The pipe is closed before the first byte is written, as `lcmp-lab schema | head -1` may do after the first line.
#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [
        ["schema"].as_slice(),
        &["plan", "--json", "scenarios/8dc.yaml"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = command_in(&root(), arguments);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn();
        let out: Outcome = child.unwrap().wait_with_output().unwrap().into();
        assert_eq!((out.exit, out.stderr.as_str()), (Some(0), ""), "{out:?}");
    }
}

/// If the test runs as root, the command runs as user `nobody`.
#[test]
fn a_lab_without_root_is_refused_before_anything_is_created() {
    let folder = changed_smoke(|text| format!("{text}# elsewhere\n"));
    // User `nobody` may have no access to the build folder, so the program is copied. A separate process copies it:
    // children that other tests start meanwhile would inherit a descriptor open for writing, and the program could not
    // be run.
    let program = folder.path().join("lcmp-lab");
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_lcmp-lab"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&results, fs::Permissions::from_mode(0o777)).unwrap();

    for place in [None, Some("--here"), Some("--guest")] {
        let mut command = Command::new(&program);
        command
            .args(["up", "smoke.yaml"])
            .args(place)
            .env_clear()
            .current_dir(folder.path())
            .stdin(Stdio::null());
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let out: Outcome = command.output().unwrap().into();
        assert_eq!(
            (out.exit, out.stdout.as_str()),
            (Some(3), ""),
            "{place:?}: {out:?}"
        );
        assert!(
            out.stderr.starts_with("error: a lab needs root") && out.stderr.contains("(hint: "),
            "{place:?}: {out:?}"
        );
        let made = fs::read_dir(&results).unwrap().count();
        assert_eq!(made, 0, "{place:?}: a run directory was made");
    }
}

/// A script that reads standard output gets exactly one JSON object, also for a failure.
#[test]
fn failures_with_json_are_one_object() {
    let folder = changed_smoke(|text| text.replace("load: 0.06", "load: 6 %%"));
    let out = run_in(folder.path(), &["check", "--json", "smoke.yaml"]);
    assert_eq!(out.exit, Some(2), "{out:?}");
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(
        (&json["verdict"], &json["exit"]),
        (&"error".into(), &2.into())
    );
    let error = &json["errors"][0];
    assert_eq!(
        (&error["file"], &error["path"]),
        (&"smoke.yaml".into(), &"traffic[1].workload.load".into())
    );
    assert!(
        error["line"].is_u64() && error["column"].is_u64(),
        "{error}"
    );

    let out = run_in(folder.path(), &["check", "--json", "none.yaml"]);
    let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    let message = json["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("none.yaml"), "{message}");
}

#[test]
fn verbs_without_json_refuse_it() {
    let folder = changed_smoke(|text| text.replace("seed: 2", "seed: 3"));
    for verb in [
        &["graph", "smoke.yaml"][..],
        &["completions", "bash"],
        &["down", "--all"],
    ] {
        let out = run_in(folder.path(), &[&["--json"], verb].concat());
        assert_eq!(out.exit, Some(2), "{out:?}");
        let refusal = format!("error: `{}` has no JSON output", verb[0]);
        assert!(out.stderr.contains(&refusal), "{out:?}");
    }
}

#[test]
fn the_zoo_is_listed_with_the_share_of_pairs_that_have_a_choice() {
    let list = result(&["topologies", "--choice"]);
    assert_eq!(list.lines().count(), 1 + 276);
    let head: Vec<&str> = list.lines().take(12).collect();
    insta::assert_snapshot!("topologies_head", head.join("\n"));
    insta::assert_snapshot!("topologies_abilene", result(&["topologies", "Abilene"]));
    let message = refusal(&root(), &["topologies", "Geant2021"], 2);
    assert!(
        message.contains("did you mean `Geant`, `Geant2001`, "),
        "{message}"
    );
}

/// Scenario whose network is made of the graph file `net.csv`.
const IMPORTED: &str = "
name: imported
topology: { import: net.csv, default_rate: 40 Gbit }
traffic: [{ flows: [{ from: paris/h1, to: nice/h1, size: 1 MB }] }]
policies: [ecmp]
";

#[test]
fn a_graph_file_is_read_checked_and_part_of_the_scenarios_hash() {
    let folder = tempfile::tempdir().unwrap();
    let checked = |edges: &str| {
        fs::write(folder.path().join("imported.yaml"), IMPORTED).unwrap();
        fs::write(folder.path().join("net.csv"), edges).unwrap();
        run_in(folder.path(), &["check", "imported.yaml"])
    };
    let hash = || {
        let plan = run_in(folder.path(), &["plan", "imported.yaml", "--json"]);
        let plan: serde_json::Value = serde_json::from_str(&plan.stdout).unwrap();
        plan["scenario_hash"].as_str().unwrap().to_owned()
    };
    let sound = checked("source,target,delay\nParis,Lyon,2 ms\nLyon,Nice,2 ms\n");
    assert_eq!(sound.exit, Some(0), "{sound:?}");
    let assumed = "assumed: rates of 2 links by default (40 Gbit)";
    assert!(sound.stderr.contains(assumed), "{sound:?}");
    let before = hash();
    checked("source,target,delay\nParis,Lyon,2 ms\nLyon,Nice,3 ms\n");
    assert_ne!(before, hash());
    let damaged = checked("source,target,delay\nParis,Lyon,2 ms\nLyon,Nice,2\n");
    assert_eq!(damaged.exit, Some(2), "{damaged:?}");
    insta::assert_snapshot!("bad_graph_file", damaged.stderr);
    fs::remove_file(folder.path().join("net.csv")).unwrap();
    let missing = run_in(folder.path(), &["check", "imported.yaml"]);
    assert_eq!(missing.exit, Some(2), "{missing:?}");
    for part in [
        "at `topology.import`",
        "hint: the path is relative to the scenario",
    ] {
        assert!(missing.stderr.contains(part), "{part}: {missing:?}");
    }
}
