//! Directory that a verification works in.

use std::{fs, path::PathBuf};

use crate::{
    args::VerifyArgs,
    caller,
    failure::{During, Failure},
    temporary::Temporary,
};

/// Directory for the unpacked run and the second run.
pub struct WorkDir {
    path: PathBuf,
    /// Guard of a temporary directory; `None` if `--output` names the directory.
    pub temporary: Option<Temporary>,
}

impl WorkDir {
    pub fn new(arguments: &VerifyArgs) -> Result<Self, Failure> {
        if let Some(path) = &arguments.output {
            let made = caller::check_links(path).and_then(|()| fs::create_dir(path));
            made.map_err(|error| {
                Failure::usage(format_args!("cannot create `{}`: {error}", path.display()))
            })?;
            let path = path.canonicalize().during("find the directory")?;
            return Ok(Self {
                path,
                temporary: None,
            });
        }
        let temporary = Temporary::new("lcmp-lab-verify-")?;
        Ok(Self {
            path: temporary.path().to_owned(),
            temporary: Some(temporary),
        })
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Name of the folder with the unpacked run.
pub const KEPT: &str = "run";
