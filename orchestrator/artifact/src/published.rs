//! Published files for Figure 1 in the artifact's directory, and the contents of each file.
//!
//! This module only gives names of files; the caller reads the files.

use lab_units::Nanos;

use crate::{
    error::ArtifactError,
    import::{ImportOptions, SourceFile, import},
};

/// Path of the topology of Figure 1, with eight datacenters.
pub const TOPOLOGY: &str = "topology/topology_LeafSpine_MultiDC8.txt";

/// Path of the flows of Figure 1, reconstructed from the published FCTs because the authors' own file was not
/// published.
pub const FLOWS: &str = "traffic/traffic_WebSearch_8DC_fig1_rebuilt.txt";

/// Path of the table that orders the equal next hops in the switches of Figure 1.
pub const ROUTES: &str = "fct/fig1/routing_table.csv";

/// Path of the table with the average utilisation of the inter-DC links in Figure 1.
pub const UTILISATION: &str = "published/fig1_link_utilization.csv";

/// Policies of Figure 1 in the order in which [`import`] writes them: the names in this project, and the names in the
/// published files.
pub const POLICIES: [(&str, &str); 3] = [("ECMP", "ECMP"), ("UCMP", "UCMP"), ("LCMP", "Ours")];

/// Delay at which LCMP's delay score saturated in Figure 1. With the 32 ms of the published code, the order of
/// candidates would differ from the order that the paths of the first flows reveal.
pub const MAX_DELAY: Nanos = Nanos::from_millis(512);

/// Returns the path of the FCT file for `policy`, a name from the published files.
#[must_use]
pub fn fct(policy: &str) -> String {
    format!("fct/fig1/{policy}/fct_dcqcn.txt")
}

/// Returns the scenario that is converted from the texts of [`TOPOLOGY`] and [`FLOWS`].
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
/// The folder is a parameter because this library, if it used its own `CARGO_MANIFEST_DIR`, would contain the clone's
/// path and thus differ between clones.
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
