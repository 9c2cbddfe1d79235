//! `lcmp-lab doctor`.

use lab_kernel::doctor::{self, Level};

use crate::{
    args::Global,
    failure::{Exit, Outcome},
    output::{print, print_json},
};

/// Says what this machine lacks, and the command that mends it.
pub fn doctor(global: &Global) -> Outcome {
    let findings = doctor::doctor(&global.results);
    if global.json {
        print_json(&findings);
    } else {
        for finding in &findings {
            print(&finding.to_string());
        }
    }
    let failed = findings.iter().any(|finding| finding.level == Level::Fail);
    Ok(if failed {
        Exit::Environment
    } else {
        Exit::Pass
    })
}
