//! `lcmp-lab bundle`: packs a run directory into one file.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek},
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_bundle::{BundleError, Manifest, Origin, check_tables, manifest::Digesting, pack};
use lab_records::{
    RunDir,
    directory::{FIGURES_DIR, PLAN_FILE},
};
use lab_units::show::commas;
use serde::Serialize;

use crate::{
    args::{BundleArgs, Global},
    caller,
    failure::{During, Failure, Outcome, with_causes},
    load,
    terminal::show,
};

/// Result of packing a run, for `--json`.
#[derive(Serialize)]
struct Packed<'a> {
    /// Path of the bundle.
    bundle: &'a Path,
    /// SHA-256 of the bundle, in lower-case hexadecimal digits.
    sha256: String,
    /// Size of the bundle, in bytes.
    bytes: u64,
    #[serde(flatten)]
    manifest: &'a Manifest,
}

/// Runs `lcmp-lab bundle`.
pub fn bundle(arguments: &BundleArgs, global: &Global) -> Outcome {
    let run = load::absolute(&arguments.run)?;
    let records = RunDir::open(&run).map_err(|error| Failure::records(&error))?;
    if !run.join(PLAN_FILE).exists() {
        return Err(Failure::usage(format_args!(
            "`{}` has no `{PLAN_FILE}`, which `verify` needs (hint: simulate again without `--records flows`)",
            arguments.run.display()
        )));
    }
    // A run with damaged rows is refused, because whoever receives the bundle cannot repair it.
    check_tables(&records).map_err(|error| Failure::records(&error))?;
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    let output = match &arguments.output {
        Some(file) => file.clone(),
        None => PathBuf::from(format!("{name}.tar.zst")),
    };
    let origin = Origin {
        run: name.into_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        tool_commit: env!("LCMP_LAB_COMMIT").to_owned(),
        started_at: seconds(records.started_at().into()),
    };
    // Only the folder is checked, because `create_new` refuses a link at the path itself.
    let folder = output.parent().unwrap_or(Path::new(""));
    caller::check_links(folder).during(format_args!("write `{}`", output.display()))?;
    let file = File::create_new(&output).map_err(|error| {
        Failure::usage(format_args!(
            "cannot create `{}`: {error}",
            output.display()
        ))
    })?;
    let packed = pack(&run, origin, BufWriter::new(file));
    if packed.is_err() {
        // An incomplete bundle is removed, because it is of no use.
        let _ = fs::remove_file(&output);
    }
    let manifest = packed.map_err(failure)?;
    caller::hand_over(&output);
    let packed = File::open(&output).and_then(|mut file| digest(&mut file));
    let (sha256, bytes) = packed.during(format_args!("read `{}`", output.display()))?;
    let packed = Packed {
        bundle: &output,
        sha256,
        bytes,
        manifest: &manifest,
    };
    show(global.json, &packed, text)
}

fn text(packed: &Packed<'_>) -> String {
    let files = &packed.manifest.files;
    let unpacked: u64 = files.iter().map(|file| file.bytes).sum();
    let figures = files.iter().filter(|file| {
        let path = Path::new(&file.path);
        path.starts_with(FIGURES_DIR) && path.extension().is_some_and(|it| it == "csv")
    });
    format!(
        "{}: {} bytes, packed from {} bytes in {} files, with the numbers of {} figures\nsha256: {}\nverify: \
         lcmp-lab verify {} --rerun",
        packed.bundle.display(),
        commas(packed.bytes),
        commas(unpacked),
        files.len(),
        figures.count(),
        packed.sha256,
        packed.bundle.display(),
    )
}

/// Converts an error of packing or unpacking to a failure; a rejected bundle is a usage error.
pub fn failure(error: BundleError) -> Failure {
    if error.is_of_machine() {
        Failure::of(&error)
    } else {
        Failure::usage(with_causes(&error))
    }
}

/// Returns the SHA-256 and the size in bytes of a file.
pub fn digest(file: &mut File) -> io::Result<(String, u64)> {
    file.rewind()?;
    let mut file = Digesting::new(file);
    let bytes = io::copy(&mut file, &mut io::sink())?;
    Ok((file.digester.hex(), bytes))
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
