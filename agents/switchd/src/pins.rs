//! Pinned maps and links: files on a bpffs mount, which outlive the agent.
//!
//! An agent removes its links at the end of a repetition, and all its files when it ends. An agent that is killed
//! leaves them: the program keeps forwarding with its tables, and the next agent takes them over.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use aya::{maps::MapData, programs::links::FdLink};

use crate::{
    SwitchdError,
    maps::{MAPS, MapShape, OPTIONAL_MAPS},
};

/// Pinned files of one switch. They are removed when this value is dropped, but stay if the process is killed.
pub struct Pins {
    directory: PathBuf,
    is_inherited: bool,
}

impl Pins {
    /// Opens or creates a directory on a bpffs mount.
    ///
    /// Files of an earlier agent are taken over if they match. Files from another version of this program, or for a
    /// flow table of another size, are removed.
    pub(crate) fn open(directory: &str, flow_table_entries: u32) -> Result<Self, SwitchdError> {
        let directory = PathBuf::from(directory);
        fs::create_dir_all(&directory).map_err(failed("make", &directory))?;
        let mut pins = Self {
            directory,
            is_inherited: false,
        };
        let fits = |shape: &MapShape| pins.holds(shape, flow_table_entries);
        let fits_or_lacks = |shape: &MapShape| !pins.map(shape.name).exists() || fits(shape);
        pins.is_inherited = MAPS.iter().all(fits) && OPTIONAL_MAPS.iter().all(fits_or_lacks);
        if !pins.is_inherited {
            pins.remove(|_| true)?;
        }
        Ok(pins)
    }

    /// Returns true if a killed agent left the files.
    pub(crate) const fn is_inherited(&self) -> bool {
        self.is_inherited
    }

    /// Records that nothing in the maps comes from a killed agent any more.
    pub(crate) const fn disown(&mut self) {
        self.is_inherited = false;
    }

    /// Returns the path at which the map `name` is pinned.
    pub(crate) fn map(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the path at which the BPF link of the port in `slot` is pinned.
    pub(crate) fn link(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("port-{slot}"))
    }

    /// Pins the BPF link of the program that marks ports dead, in place of an earlier agent's BPF link.
    pub(crate) fn pin_carriers(&self, link: FdLink) -> Result<FdLink, SwitchdError> {
        let path = self.directory.join("carriers");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &path)(error));
            }
            _ => {}
        }
        let pinned = link.pin(&path).map_err(io::Error::other);
        pinned.map(FdLink::from).map_err(failed("make", &path))
    }

    fn holds(&self, shape: &MapShape, flow_table_entries: u32) -> bool {
        let entries = shape.rows(flow_table_entries);
        let info = MapData::from_pin(self.map(shape.name)).and_then(|map| map.info());
        info.is_ok_and(|info| {
            (info.key_size(), info.value_size(), info.max_entries())
                == (bytes(shape.key_bytes), bytes(shape.value_bytes), entries)
        })
    }

    /// Removes the BPF links, which detaches the program from all ports; the maps stay.
    pub(crate) fn remove_links(&self) -> Result<(), SwitchdError> {
        let is_map = |name: &OsStr| {
            MAPS.iter()
                .chain(&OPTIONAL_MAPS)
                .any(|map| map.name == name)
        };
        self.remove(|name| !is_map(name))
    }

    /// Removes the files whose names satisfy `is_unwanted`.
    fn remove(&self, is_unwanted: impl Fn(&OsStr) -> bool) -> Result<(), SwitchdError> {
        let entries = fs::read_dir(&self.directory).map_err(failed("list", &self.directory))?;
        for entry in entries {
            let entry = entry.map_err(failed("list", &self.directory))?;
            if is_unwanted(&entry.file_name()) {
                let path = entry.path();
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        let removed = self.remove(|_| true).and_then(|()| {
            fs::remove_dir(&self.directory).map_err(failed("remove", &self.directory))
        });
        if let Err(error) = removed {
            tracing::warn!(error = error.chain(), "cannot remove pinned maps");
        }
    }
}

fn bytes(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SwitchdError {
    let path = path.display().to_string();
    move |source| SwitchdError::Pins {
        action,
        path,
        source,
    }
}
