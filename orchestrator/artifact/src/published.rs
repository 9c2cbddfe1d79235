//! Figure 1 in the artifact's directory: the files that were published, and what each contains.
//!
//! Names alone; whoever has the directory reads them.

use lab_units::Nanos;

use crate::{
    error::ArtifactError,
    import::{ImportOptions, Source, import},
};

/// Its eight datacenters.
pub const TOPOLOGY: &str = "topology/topology_LeafSpine_MultiDC8.txt";

/// Its flows, as the FCTs have them: the authors' own file was not published.
pub const FLOWS: &str = "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt";

/// The order of equal next hops in its switches.
pub const ROUTES: &str = "fct/fig1/routing_table.csv";

/// The average utilisation of its inter-DC links.
pub const UTILISATION: &str = "published/fig1_link_utilization.csv";

/// Its policies in the order that [`import`] writes them: our names, and those of the files.
pub const POLICIES: [(&str, &str); 3] = [("ECMP", "ECMP"), ("UCMP", "UCMP"), ("LCMP", "Ours")];

/// The delay at which LCMP's delay score saturated in it. The published code has 32 ms, with which
/// the candidates come in another order than their first flows went.
pub const MAX_DELAY: Nanos = Nanos::from_millis(512);

/// The FCTs under `policy`, as the files call it.
#[must_use]
pub fn fct(policy: &str) -> String {
    format!("fct/fig1/{policy}/fct_dcqcn.txt")
}

/// The scenario from the texts of [`TOPOLOGY`] and [`FLOWS`].
pub fn scenario(topology: &str, flows: &str) -> Result<String, ArtifactError> {
    let source = |path, text| Source { path, text };
    let options = ImportOptions {
        name: "fig1".to_owned(),
        max_delay: MAX_DELAY,
        routes: None,
    };
    import(source(TOPOLOGY, topology), source(FLOWS, flows), &options)
}

/// For tests: returns the directory of the published artifact, if it is beside the project; otherwise
/// prints that `test` is skipped. `folder` is the `CARGO_MANIFEST_DIR` of the calling crate, which is
/// directly in `orchestrator`.
///
/// If this crate took its own, the library would contain its path and differ between clones.
#[must_use]
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are counted by what they print"
)]
pub fn beside(folder: &str, test: &str) -> Option<std::path::PathBuf> {
    let path = std::path::Path::new(folder).join("../../../shared/data/artifact");
    if path.join(TOPOLOGY).is_file() {
        return Some(path);
    }
    println!("skipped: {test}: there is no {}", path.display());
    None
}
