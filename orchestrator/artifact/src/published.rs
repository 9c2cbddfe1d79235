//! Published files of Figure 1 in the artifact's directory, and the contents of each.
//!
//! This module only gives names; the caller reads the files.

use lab_units::Nanos;

use crate::{
    error::ArtifactError,
    import::{ImportOptions, SourceFile, import},
};

/// Topology of Figure 1, with eight datacenters.
pub const TOPOLOGY: &str = "topology/topology_LeafSpine_MultiDC8.txt";

/// Flows of Figure 1, reconstructed from the published FCTs because the authors' own file was not published.
pub const FLOWS: &str = "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt";

/// Order of equal next hops in the switches of Figure 1.
pub const ROUTES: &str = "fct/fig1/routing_table.csv";

/// Average utilisation of the inter-DC links in Figure 1.
pub const UTILISATION: &str = "published/fig1_link_utilization.csv";

/// Policies of Figure 1 in the order in which [`import`] writes them: the project's names, and the names in the
/// files.
pub const POLICIES: [(&str, &str); 3] = [("ECMP", "ECMP"), ("UCMP", "UCMP"), ("LCMP", "Ours")];

/// Delay at which LCMP's delay score saturated in Figure 1. With the 32 ms of the published code, the order of
/// candidates would differ from the one that the paths of the first flows show.
pub const MAX_DELAY: Nanos = Nanos::from_millis(512);

/// Returns the path of the FCT file under `policy`, a name in the files.
#[must_use]
pub fn fct(policy: &str) -> String {
    format!("fct/fig1/{policy}/fct_dcqcn.txt")
}

/// Returns the scenario made from the texts of [`TOPOLOGY`] and [`FLOWS`].
pub fn scenario(topology: &str, flows: &str) -> Result<String, ArtifactError> {
    let source = |path, text| SourceFile { path, text };
    let options = ImportOptions {
        name: "fig1".to_owned(),
        max_delay: MAX_DELAY,
        routes: None,
    };
    import(source(TOPOLOGY, topology), source(FLOWS, flows), &options)
}

/// Returns the directory of the published artifact for a test, if the directory is next to the project; otherwise
/// prints that `test` is skipped. `folder` is the `CARGO_MANIFEST_DIR` of the calling crate, which must be directly
/// in `orchestrator`.
///
/// If this crate used its own `CARGO_MANIFEST_DIR`, the library would contain its path and differ between clones.
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
