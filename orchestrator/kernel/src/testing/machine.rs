//! Comparison of the machine's state before and after a lab.

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    exec::netns,
    netlink::{Socket, dump, tc},
};

/// State that a lab could change, as text: the root namespace, `/run` and sysctls.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Machine(BTreeMap<String, String>);

impl Machine {
    pub fn read() -> Self {
        let mut socket = Socket::route().unwrap();
        let mut all = BTreeMap::new();
        let mut put = |kind: &str, mut things: Vec<String>| {
            things.sort();
            all.insert(kind.to_owned(), things.join("\n"));
        };
        // Traffic counters are left out, because they change without labs too.
        let links = dump::links(&mut socket)
            .unwrap()
            .into_iter()
            .map(|mut link| {
                link.stats = rtnetlink::packet_route::link::Stats64::default();
                format!("{link:?}")
            });
        put("links", links.collect());
        put("addresses", texts(dump::addresses(&mut socket).unwrap()));
        put("neighbours", texts(dump::neighbours(&mut socket).unwrap()));
        put("routes", texts(dump::routes(&mut socket).unwrap()));
        put("rules", texts(dump::rules(&mut socket).unwrap()));
        put("queues", texts(tc::qdiscs(&mut socket).unwrap()));
        put("namespaces", names(&netns::directory()));
        let ready = netns::directory_is_ready().unwrap();
        put(
            "mounts",
            vec![format!("{} {ready}", netns::directory().exists())],
        );
        let base = crate::journal::base();
        put(
            "labs",
            vec![format!("{} {:?}", base.exists(), names(&base))],
        );
        for key in sysctls(Path::new("/proc/sys/net")) {
            let value = fs::read_to_string(&key).unwrap_or_default();
            all.insert(key, value);
        }
        Self(all)
    }

    /// Asserts that the machine's state is unchanged; otherwise, the panic message shows the difference.
    #[track_caller]
    pub fn assert_unchanged(&self) {
        let now = Self::read();
        for (key, before) in &self.0 {
            assert_eq!(Some(before), now.0.get(key), "{key} changed");
        }
        assert_eq!(self, &now);
    }
}

fn texts<T: std::fmt::Debug>(things: Vec<T>) -> Vec<String> {
    things.iter().map(|thing| format!("{thing:?}")).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn sysctls(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sysctls(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}
