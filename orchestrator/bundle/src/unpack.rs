//! Unpacks a bundle into a run directory, after every check has passed.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
};

use tar::{Archive, Entry, EntryType};

use crate::{
    error::BundleError,
    format::MANIFEST_FILE,
    limits::Limits,
    manifest::{Digester, Manifest, PackedFile},
};

/// Unpacks a bundle into `into`, which is created and must not exist, and returns its manifest.
///
/// The archive must contain the manifest and the listed files in order, as regular files with the listed sizes and
/// SHA-256 sums, and nothing else. It is read twice, so that no file of a rejected bundle is written.
///
/// # Errors
/// If the bundle is rejected, or a file cannot be written.
pub fn unpack(
    mut bundle: impl Read + Seek,
    into: &Path,
    limits: &Limits,
) -> Result<Manifest, BundleError> {
    let packed = bundle.seek(SeekFrom::End(0));
    let limits = limits.of_size(packed.map_err(BundleError::damaged("its size"))?);
    let rewound =
        |bundle: &mut _| Seek::rewind(bundle).map_err(BundleError::damaged("its beginning"));
    rewound(&mut bundle)?;
    walk(&mut bundle, &limits, |_| Ok(io::sink()))?;
    rewound(&mut bundle)?;
    fs::create_dir(into).map_err(BundleError::io("create", into))?;
    walk(&mut bundle, &limits, |path| {
        // Each folder is created on its own, without its parents: if `into` is removed meanwhile, it is not created
        // again.
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
            let folder = into.join(folder);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(BundleError::io("create", folder)(error));
                }
                _ => {}
            }
        }
        let path = into.join(path);
        File::create_new(&path).map_err(BundleError::io("create", path))
    })
}

/// Reads a bundle and checks it. Each file is written to the writer that `create` returns for its path.
fn walk<W: Write>(
    bundle: impl Read,
    limits: &Limits,
    mut create: impl FnMut(&Path) -> Result<W, BundleError>,
) -> Result<Manifest, BundleError> {
    let mut compressed = BufReader::new(bundle);
    let mut decoder = zstd::Decoder::with_buffer(&mut compressed)
        .map_err(BundleError::damaged("its beginning"))?;
    decoder
        .window_log_max(MAX_WINDOW_LOG)
        .map_err(BundleError::damaged("its beginning"))?;
    let mut archive = Archive::new(decoder.single_frame());
    let entries = archive.entries();
    // Raw entries: an extension such as a long name appears as a separate entry, which is then rejected.
    let mut entries = entries
        .map_err(BundleError::damaged("its beginning"))?
        .raw(true);
    let mut next = |expected: &str| match entries.next() {
        Some(entry) => entry.map(Some).map_err(BundleError::damaged(expected)),
        None => Ok(None),
    };

    let head = next(MANIFEST_FILE)?.ok_or_else(|| missing(MANIFEST_FILE))?;
    let (folder, manifest) = read_manifest(head, limits)?;
    let run = &manifest.origin.run;
    if folder != *run {
        return Err(unlisted(format!("the folder `{folder}`"), run));
    }
    for file in &manifest.files {
        let entry = next(&file.path)?.ok_or_else(|| missing(&file.path))?;
        unpack_file(entry, run, file, || create(Path::new(&file.path)))?;
    }
    if let Some(entry) = next("its end")? {
        return Err(unlisted(format!("`{}`", name(&entry)), "its end"));
    }
    check_end(archive.into_inner())?;
    let rest = compressed.fill_buf();
    if rest.map_err(BundleError::damaged("its end"))?.is_empty() {
        Ok(manifest)
    } else {
        Err(unlisted("more bytes".to_owned(), "its end"))
    }
}

/// Reads the first entry of the archive; returns the name of the only top-level folder, and the manifest.
fn read_manifest<R: Read>(
    entry: Entry<'_, R>,
    limits: &Limits,
) -> Result<(String, Manifest), BundleError> {
    let name = check_kind(&entry)?;
    let Some((folder, MANIFEST_FILE)) = name.split_once('/') else {
        return Err(unlisted(format!("`{name}`"), MANIFEST_FILE));
    };
    if entry.size() > limits.manifest {
        return Err(BundleError::TooLarge {
            what: format!("bytes of `{MANIFEST_FILE}`"),
            found: entry.size(),
            max: limits.manifest,
        });
    }
    let mut text = Vec::new();
    let size = entry.size();
    let read = entry.take(size).read_to_end(&mut text);
    read.map_err(BundleError::damaged(MANIFEST_FILE))?;
    Ok((folder.to_owned(), Manifest::read(&text, limits)?))
}

/// Copies one file to the writer that `create` returns, and fails if the file does not match its manifest entry.
fn unpack_file<R: Read, W: Write>(
    mut entry: Entry<'_, R>,
    run: &str,
    file: &PackedFile,
    create: impl FnOnce() -> Result<W, BundleError>,
) -> Result<(), BundleError> {
    let name = check_kind(&entry)?;
    if name != format!("{run}/{}", file.path) {
        return Err(unlisted(format!("`{name}`"), &file.path));
    }
    if entry.size() != file.bytes {
        let found = format!("{} bytes of `{name}`", entry.size());
        return Err(unlisted(found, &file.bytes.to_string()));
    }
    let mut out = create()?;
    let mut digester = Digester::default();
    let mut buffer = vec![0; BLOCK];
    loop {
        let count = entry
            .read(&mut buffer)
            .map_err(BundleError::damaged(&*file.path))?;
        if count == 0 {
            break;
        }
        digester.add(&buffer[..count]);
        out.write_all(&buffer[..count])
            .map_err(BundleError::io("write", &file.path))?;
    }
    if digester.bytes != file.bytes {
        return Err(missing(&file.path));
    }
    let found = digester.hex();
    if found == file.sha256 {
        Ok(())
    } else {
        Err(BundleError::Tampered {
            path: file.path.clone(),
            found,
            expected: file.sha256.clone(),
        })
    }
}

/// Returns the name of an archive entry, and fails if the entry is not a regular file.
fn check_kind<R: Read>(entry: &Entry<'_, R>) -> Result<String, BundleError> {
    let kind = entry.header().entry_type();
    match kind {
        EntryType::Regular => Ok(name(entry)),
        _ => Err(BundleError::NotAFile {
            path: name(entry),
            kind: format!("{kind:?}").to_lowercase(),
        }),
    }
}

fn name<R: Read>(entry: &Entry<'_, R>) -> String {
    String::from_utf8_lossy(&entry.path_bytes()).into_owned()
}

/// Reads the rest of the archive, which must be zeros. Reading to the end also verifies zstd's checksum.
fn check_end(rest: impl Read) -> Result<(), BundleError> {
    let mut zeros = Vec::new();
    rest.take(MAX_PADDING + 1)
        .read_to_end(&mut zeros)
        .map_err(BundleError::damaged("its end"))?;
    if zeros.len() as u64 <= MAX_PADDING && zeros.iter().all(|&byte| byte == 0) {
        Ok(())
    } else {
        Err(unlisted("more bytes".to_owned(), "its end"))
    }
}

fn missing(path: &str) -> BundleError {
    BundleError::Damaged {
        what: format!("`{path}` is missing"),
        source: io::ErrorKind::UnexpectedEof.into(),
    }
}

fn unlisted(found: String, expected: &str) -> BundleError {
    BundleError::Unlisted {
        found,
        expected: format!("`{expected}`"),
    }
}

/// Maximum number of zero bytes after the last file: tar pads archives to a multiple of 10 KiB.
const MAX_PADDING: u64 = 1 << 16;

/// Base-2 logarithm of the largest accepted zstd window in bytes, which bounds the memory that a bundle can demand. The
/// compression level used for packing needs 21.
const MAX_WINDOW_LOG: u32 = 24;

/// Number of bytes written at a time when a file is unpacked.
const BLOCK: usize = 1 << 16;
