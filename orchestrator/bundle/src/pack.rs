//! Packs a run directory into a bundle.

use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
};

use lab_files::Links;
use lab_records::directory::{FIGURES_DIR, SUMMARY_FILE};
use tar::{Builder, EntryType, Header};

use crate::{
    error::BundleError,
    format::{BUNDLE_FORMAT, MANIFEST_FILE},
    manifest::{Digesting, Manifest, Origin, PackedFile, check_name},
};

/// Packs the run directory at `run`, including its figures, into `out` and returns the manifest. Hidden files and
/// other directories are left out.
///
/// # Errors
/// If the run has no report, contains a file whose name is not permitted, or changes during packing, or if a file
/// cannot be read or written.
pub fn pack(run: &Path, origin: Origin, out: impl Write) -> Result<Manifest, BundleError> {
    check_name(&origin.run, 1)?;
    let mut files = list(run, "")?;
    if !files.iter().any(|path| path == SUMMARY_FILE) {
        return Err(BundleError::NoReport { path: SUMMARY_FILE });
    }
    files.extend(list(run, FIGURES_DIR)?);
    files.sort_unstable();
    let files = files.into_iter().map(|path| digest(run, path));
    let manifest = Manifest {
        format: BUNDLE_FORMAT,
        origin,
        files: files.collect::<Result<_, _>>()?,
    };
    let written = |source| BundleError::io("write", "the bundle")(source);
    let mut encoder = zstd::Encoder::new(out, LEVEL).map_err(written)?;
    encoder.include_checksum(true).map_err(written)?;
    let mut tar = Builder::new(encoder);
    let text = serde_json::to_string_pretty(&manifest).expect("a manifest is plain data") + "\n";
    let head = header(&manifest.origin, MANIFEST_FILE, text.len() as u64)?;
    tar.append(&head, text.as_bytes()).map_err(written)?;
    for file in &manifest.files {
        append(&mut tar, run, &manifest.origin, file)?;
    }
    let encoder = tar.into_inner().map_err(written)?;
    let mut out = encoder.finish().map_err(written)?;
    out.flush().map_err(written)?;
    Ok(manifest)
}

/// Returns the names of the files in `folder`, a path relative to the run directory; empty for the directory itself.
fn list(run: &Path, folder: &str) -> Result<Vec<String>, BundleError> {
    let dir = run.join(folder);
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_empty() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(BundleError::io("read", dir)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(BundleError::io("read", &dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry
            .file_type()
            .map_err(BundleError::io("read", entry.path()))?;
        if kind.is_dir() || name.starts_with('.') {
            continue;
        }
        let path = match folder {
            "" => name,
            _ => format!("{folder}/{name}"),
        };
        if !kind.is_file() {
            let kind = "a link or a device".to_owned();
            return Err(BundleError::NotAFile { path, kind });
        }
        check_name(&path, 2)?;
        files.push(path);
    }
    Ok(files)
}

fn digest(run: &Path, path: String) -> Result<PackedFile, BundleError> {
    let full = run.join(&path);
    let file = lab_files::open(&full, Links::Refuse).map_err(BundleError::io("read", &full))?;
    let mut file = Digesting::new(file);
    io::copy(&mut file, &mut io::sink()).map_err(BundleError::io("read", &full))?;
    Ok(PackedFile {
        path,
        bytes: file.digester.bytes,
        sha256: file.digester.hex(),
    })
}

/// Appends a file to the archive, and fails if its bytes no longer match its manifest entry.
fn append<W: Write>(
    tar: &mut Builder<W>,
    run: &Path,
    origin: &Origin,
    packed: &PackedFile,
) -> Result<(), BundleError> {
    let full = run.join(&packed.path);
    let file = lab_files::open(&full, Links::Refuse).map_err(BundleError::io("read", &full))?;
    let mut file = Digesting::new(file.take(packed.bytes));
    let head = header(origin, &packed.path, packed.bytes)?;
    tar.append(&head, &mut file)
        .map_err(BundleError::io("pack", &full))?;
    if file.digester.hex() == packed.sha256 {
        Ok(())
    } else {
        Err(BundleError::Changed {
            path: packed.path.clone(),
        })
    }
}

fn header(origin: &Origin, path: &str, bytes: u64) -> Result<Header, BundleError> {
    let mut header = Header::new_ustar();
    let name = format!("{}/{path}", origin.run);
    header
        .set_path(&name)
        .map_err(|_| BundleError::UnsafePath { path: name })?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(origin.started_at);
    header.set_cksum();
    Ok(header)
}

/// zstd compression level: rows shrink to about a seventh of their size, at about 100 MB/s.
const LEVEL: i32 = 6;
