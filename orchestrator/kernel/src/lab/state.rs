//! State of the lab as text files for the records: queueing disciplines, links and kernel settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs::{self, File},
    net::Ipv4Addr,
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
};

use lab_host::HostMaps;

use super::Lab;
use crate::{exec::netns, lower::Layout, step::Namespace};

/// State of a lab's namespaces as contents of record files, by file name.
pub type LabState = BTreeMap<&'static str, String>;

/// Queueing disciplines, links and settings of one namespace, as text.
struct NamespaceState {
    qdiscs: String,
    links: String,
    settings: BTreeMap<String, String>,
}

impl Lab {
    /// Returns the state of the lab's namespaces: the output of `tc -s qdisc` and `ip -d link`, and the settings under
    /// `net.core` and `net.ipv4`. If a program cannot run, the text contains the error. The root namespace is left out,
    /// because it belongs to the machine.
    #[must_use]
    pub fn state(&self) -> LabState {
        let layout = Layout::new(self.plan(), self.options());
        let names: BTreeSet<_> = self
            .plan()
            .nodes
            .iter()
            .map(|node| layout.netns(node))
            .chain([layout.fiber()])
            .filter_map(|it| match it {
                Namespace::Named(name) => Some(name),
                Namespace::Root => None,
            })
            .collect();
        let mut qdiscs = String::new();
        let mut links = String::new();
        let mut settings = String::new();
        let mut first = BTreeMap::new();
        for name in &names {
            let state = File::open(netns::path(name)).and_then(|file| netns::inside(file, read));
            let head = format!("# {}\n", name.as_str());
            let state = match state {
                Ok(state) => state,
                Err(error) => {
                    settings += &format!("{head}cannot enter: {error}\n");
                    continue;
                }
            };
            qdiscs += &(head.clone() + &state.qdiscs);
            links += &(head.clone() + &state.links);
            settings += &(head + &changed(&first, &state.settings));
            if first.is_empty() {
                first = state.settings;
            }
        }
        let texts = [qdiscs, links, settings];
        let mut state: LabState = STATE_FILES.into_iter().zip(texts).collect();
        state.extend(self.paced_qps().map(|text| (QPS_FILE, text)));
        state
    }

    /// Returns a table of the QPs that the lab's last repetition created, with their state, their counters, and the
    /// marked packets that their receivers counted; `None` without congestion control.
    fn paced_qps(&self) -> Option<String> {
        let read = |maps: &HostMaps| {
            let receivers: BTreeMap<_, _> = maps.receivers()?.into_iter().collect();
            Ok((maps.counts()?, maps.senders()?, receivers))
        };
        let read = match self.host_maps() {
            Ok(maps) => read(&maps?),
            Err(error) => Err(error),
        };
        let (counts, senders, receivers): (_, _, BTreeMap<_, _>) = match read {
            Ok(read) => read,
            Err(error) => return Some(format!("cannot read: {error}\n")),
        };
        let mut text = format!("# {counts:?}\n{QPS_HEAD}\n");
        for (key, qp) in senders {
            let address = |bits: u32| Ipv4Addr::from_bits(u32::from_be(bits));
            let src = address(key.src);
            let dst = address(key.dst);
            let dest_qp = key.dest_qp;
            let point = qp.point;
            let marked = receivers.get(&key).copied().unwrap_or_default();
            let _ = writeln!(
                text,
                "{src},{dst},{dest_qp},{},{},{},{},{},{},{},{},{},{},{}",
                point.rate_bps,
                point.target_bps,
                point.alpha_q30,
                qp.cnps,
                qp.packets,
                qp.bytes,
                qp.rounds,
                qp.max_parked,
                qp.out_of_order,
                marked.marked,
                marked.cnps,
            );
        }
        Some(text)
    }
}

/// Reads the state of the namespace in which the calling thread is.
fn read() -> NamespaceState {
    NamespaceState {
        qdiscs: output(&["tc", "-s", "qdisc"]),
        links: output(&["ip", "-d", "link"]),
        settings: settings(Path::new(SETTINGS)),
    }
}

/// Returns a program's output on both streams, or the reason why it cannot run.
fn output(words: &[&str]) -> String {
    let mut command = Command::new(words[0]);
    match command.args(&words[1..]).process_group(0).output() {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text += &String::from_utf8_lossy(&output.stderr);
            text
        }
        Err(error) => format!("cannot run `{}`: {error}\n", words.join(" ")),
    }
}

/// Returns the values of the settings in [`FOLDERS`] below `root`, by their `sysctl` names. Cryptographic keys and
/// unreadable settings are left out.
fn settings(root: &Path) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(root.join(folder))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries.take(MAX_SETTINGS) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_file || name.contains("key") || name.contains("secret") {
                continue;
            }
            if let Ok(value) = fs::read_to_string(entry.path()) {
                let name = format!("net/{folder}/{name}").replace('/', ".");
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                settings.insert(name, value.chars().take(MAX_VALUE).collect());
            }
        }
    }
    settings
}

/// Returns the settings that differ from those of the first namespace, one per line.
fn changed(first: &BTreeMap<String, String>, settings: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        if first.get(name) != Some(value) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name} = {value}");
        }
    }
    if text.is_empty() {
        "as in the first namespace\n".to_owned()
    } else {
        text
    }
}

/// Names of the record files for queueing disciplines (with their counters), links, and settings.
const STATE_FILES: [&str; 3] = ["lab-qdiscs.txt", "lab-links.txt", "lab-sysctls.txt"];

/// Name of the record file for QPs with congestion control.
const QPS_FILE: &str = "lab-qps.csv";

/// Columns of [`QPS_FILE`]. Rates and sizes are emulated values (after scaling), not at the paper's scale.
const QPS_HEAD: &str = "src,dst,dest_qp,rate_bps,target_bps,alpha_q30,cnps,packets,bytes,rounds,max_parked,out_of_order,marked,cnps_sent";

/// Directory of the kernel's network settings.
const SETTINGS: &str = "/proc/sys/net";

/// Subdirectories whose settings affect RDMA flows.
const FOLDERS: [&str; 4] = ["core", "ipv4", "ipv4/conf/all", "ipv4/conf/default"];

/// Maximum number of settings recorded per directory.
const MAX_SETTINGS: usize = 400;

/// Maximum length of a recorded value, in characters.
const MAX_VALUE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_sysctl_does_and_keys_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        for folder in FOLDERS {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("core/rmem_max"), "212992\n").unwrap();
        fs::write(root.path().join("ipv4/tcp_fastopen_key"), "1-2-3-4\n").unwrap();
        fs::write(root.path().join("ipv4/tcp_rmem"), "4096\t131072\t6291456\n").unwrap();
        let found = settings(root.path());
        let expected = [
            ("net.core.rmem_max", "212992"),
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
        assert_eq!(changed(&found, &found), "as in the first namespace\n");
        let other = BTreeMap::from([("net.core.rmem_max".to_owned(), "1".to_owned())]);
        assert_eq!(changed(&found, &other), "net.core.rmem_max = 1\n");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        assert!(
            output(&["no-such-program", "-x"]).starts_with("cannot run `no-such-program -x`: ")
        );
    }
}
