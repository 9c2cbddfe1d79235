//! Access to the programs and maps of an eBPF object by name.
//!
//! The switch agent, the host programs and the benchmarks each load their own object; this crate holds the steps that
//! they share. Must not contain: names of programs or maps, row types, attachment.
//!
//! - [`map`][]: rows of maps
//! - [`error`][]: errors, including missing privileges
//!
//! ```no_run
//! use aya::{Ebpf, maps::Array, programs::SchedClassifier};
//! use lab_loader::{LoaderError, MapRow, program, take};
//!
//! # fn load(object: &[u8]) -> Result<(), LoaderError> {
//! let mut ebpf = Ebpf::load(object).map_err(LoaderError::Load)?;
//! let loaded = program::<SchedClassifier>(&mut ebpf, "ingress")?.load();
//! loaded.map_err(LoaderError::program("load", "ingress"))?;
//! let mut settings: Array<_, MapRow<[u64; 2]>> = take(&mut ebpf, "settings")?;
//! let written = settings.set(0, MapRow([7, 9]), 0);
//! written.map_err(LoaderError::map("write", "settings"))
//! # }
//! ```

pub mod error;
pub mod map;

use aya::{
    Ebpf,
    maps::{Map, MapError},
    programs::{Program, ProgramError},
};

pub use error::{LoaderError, chain, lacks_privilege};
pub use map::{MapRow, drain, remove};

/// Returns the program `name` of an eBPF object.
///
/// # Errors
/// The object has no such program, or the program has another type.
pub fn program<'a, P>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut P, LoaderError>
where
    &'a mut P: TryFrom<&'a mut Program, Error = ProgramError>,
{
    let program = ebpf
        .program_mut(name)
        .ok_or(LoaderError::Missing { name })?;
    program
        .try_into()
        .map_err(LoaderError::program("use", name))
}

/// Returns the map `name` of an eBPF object; the object keeps ownership of the map.
///
/// # Errors
/// The object has no such map, or the map has another type.
pub fn map<'a, M>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<M, LoaderError>
where
    M: TryFrom<&'a mut Map, Error = MapError>,
{
    let map = ebpf.map_mut(name).ok_or(LoaderError::Missing { name })?;
    map.try_into().map_err(LoaderError::map("use", name))
}

/// Removes the map `name` from an eBPF object and returns it.
///
/// # Errors
/// The object has no such map, or the map has another type.
pub fn take<M>(ebpf: &mut Ebpf, name: &'static str) -> Result<M, LoaderError>
where
    M: TryFrom<Map, Error = MapError>,
{
    let map = ebpf.take_map(name).ok_or(LoaderError::Missing { name })?;
    map.try_into().map_err(LoaderError::map("use", name))
}
