//! Loading and pinning of the host programs.

use std::{
    fs,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, HashMap},
    programs::{ProgramError, SchedClassifier},
};
use lab_abi::{
    dcqcn::HostParams,
    pfc::{NicRow, PAUSE_RING_BYTES},
};
use lab_loader::{LoaderError, MapRow, map};

use crate::{
    HostError,
    maps::{COUNTS, HOST, NICS, PAUSES, RECEIVERS, SENDERS},
};

/// ELF object of the host programs, built by `agents/ebpf/build.sh`.
pub(crate) const OBJECT: &[u8] = aya::include_bytes_aligned!("../../ebpf/host.bpf.o");

/// Host program that the engine attaches to an interface of a lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostProgram {
    /// Ingress of a NIC: handles pauses and CNPs, and sends CNPs for marked packets.
    NicIngress,
    /// Egress of a NIC: redirects data packets into the pacer.
    NicEgress,
    /// Egress of the pacer's first interface: parks data packets until they are due.
    PacerEgress,
    /// Ingress of the pacer's second interface: lets packets that are due leave in order.
    PacerGate,
}

impl HostProgram {
    /// All host programs that a lab attaches.
    pub const ALL: [Self; 4] = [
        Self::NicIngress,
        Self::NicEgress,
        Self::PacerEgress,
        Self::PacerGate,
    ];

    /// Returns the name of the program, which is also the name of its pin.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NicIngress => "nic_ingress",
            Self::NicEgress => "nic_egress",
            Self::PacerEgress => "pacer_egress",
            Self::PacerGate => "pacer_gate",
        }
    }
}

/// NIC of a host, as written to the programs' map.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Nic {
    pub ifindex: u32,
    /// Line rate in bit/s, which is also the initial rate of the NIC's QPs.
    pub line_bps: u64,
    /// Length of a pause quantum, ns; 0: the NIC is never paused.
    pub quantum_ns: u64,
}

/// Initial contents of the programs' maps.
#[derive(Clone, Debug)]
pub struct Setup {
    pub params: HostParams,
    /// NICs of all hosts in the lab.
    pub nics: Vec<Nic>,
    /// Maximum number of QPs per direction in one repetition.
    pub qps: u32,
}

/// Loads the programs and pins them and their maps in `directory`, which is created and must be on a bpffs mount.
///
/// The kernel unloads the programs once their pins are removed and they are detached from all interfaces.
///
/// # Errors
/// The kernel refuses a program or a map, or the directory exists.
pub fn install(setup: &Setup, directory: &Path) -> Result<(), HostError> {
    let mut ebpf = load(setup)?;
    fs::create_dir(directory).map_err(|source| HostError::Directory {
        path: directory.to_owned(),
        source,
    })?;
    let pin = |name: &str| directory.join(name);
    for program in HostProgram::ALL {
        let path = pin(program.name());
        let failed = |source| HostError::Pin {
            path: path.clone(),
            source,
        };
        classifier(&mut ebpf, program.name())?
            .pin(&path)
            .map_err(failed)?;
    }
    for name in [HOST, NICS, SENDERS, RECEIVERS, COUNTS, PAUSES] {
        let path = pin(name);
        let map = ebpf.map(name).ok_or(LoaderError::Missing { name })?;
        map.pin(&path)
            .map_err(|source| HostError::Pin { path, source })?;
    }
    Ok(())
}

/// Opens a program that is pinned in `directory`, for attaching it; returns the program's file descriptor and id.
///
/// # Errors
/// The directory has no such program, or the kernel refuses to open it.
pub fn pinned(directory: &Path, program: HostProgram) -> Result<(OwnedFd, u32), HostError> {
    let failed = |action| HostError::program(action, program.name());
    let path: PathBuf = directory.join(program.name());
    let opened = SchedClassifier::from_pin(path).map_err(failed("open"))?;
    let id = opened.info().map_err(failed("inspect"))?.id();
    let fd = opened
        .fd()
        .map_err(failed("use"))?
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| failed("use")(ProgramError::IOError(error)))?;
    Ok((fd, id))
}

/// Loads the programs and writes parameters and NICs to their maps.
fn load(setup: &Setup) -> Result<Ebpf, HostError> {
    let nics = u32::try_from(setup.nics.len()).unwrap_or(u32::MAX);
    let mut loader = EbpfLoader::new();
    loader
        .map_max_entries(NICS, nics.max(1))
        .map_max_entries(SENDERS, setup.qps.max(1))
        .map_max_entries(RECEIVERS, setup.qps.max(1));
    if setup.nics.iter().any(|nic| nic.quantum_ns > 0) {
        loader.map_max_entries(PAUSES, PAUSE_RING_BYTES);
    }
    let mut ebpf = loader.load(OBJECT).map_err(LoaderError::Load)?;
    for program in HostProgram::ALL {
        classifier(&mut ebpf, program.name())?
            .load()
            .map_err(HostError::program("load", program.name()))?;
    }
    let mut host: Array<_, MapRow<HostParams>> = map(&mut ebpf, HOST)?;
    host.set(0, MapRow(setup.params), 0)
        .map_err(HostError::map("write", HOST))?;
    let mut nics: HashMap<_, u32, MapRow<NicRow>> = map(&mut ebpf, NICS)?;
    for nic in &setup.nics {
        let row = NicRow {
            line_bps: nic.line_bps,
            quantum_ns: nic.quantum_ns,
            ..NicRow::default()
        };
        nics.insert(nic.ifindex, MapRow(row), 0)
            .map_err(HostError::map("write", NICS))?;
    }
    Ok(ebpf)
}

/// Returns a classifier program of the object by name.
pub(crate) fn classifier<'a>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut SchedClassifier, LoaderError> {
    lab_loader::program(ebpf, name)
}

#[cfg(test)]
#[expect(
    clippy::print_stdout,
    reason = "a skipped test prints that it was skipped"
)]
mod pacing;

#[cfg(test)]
#[expect(
    clippy::print_stdout,
    reason = "a skipped test prints that it was skipped"
)]
mod tests {
    use aya::{
        maps::RingBuf,
        programs::{TestRun, TestRunOptions},
    };
    use lab_abi::pfc::{MAC_CONTROL, PFC_OPCODE, PFC_PRIORITY, PauseRecord};

    use super::*;

    /// Index of the interface that test packets appear to arrive on.
    const LOOPBACK: u32 = 1;

    /// Returns a PFC frame that pauses `priority` for `quanta`.
    fn pause(priority: u32, quanta: u16) -> Vec<u8> {
        let mut frame = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1];
        frame.extend(MAC_CONTROL.to_be_bytes());
        frame.extend(PFC_OPCODE.to_be_bytes());
        frame.extend((1_u16 << priority).to_be_bytes());
        for other in 0..8 {
            let quanta = if other == priority { quanta } else { 0 };
            frame.extend(quanta.to_be_bytes());
        }
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn a_pause_of_the_priority_of_data_holds_the_nic_for_its_quanta() {
        let setup = Setup {
            params: HostParams::default(),
            nics: vec![Nic {
                ifindex: LOOPBACK,
                line_bps: 50_000_000,
                quantum_ns: 10_240,
            }],
            qps: 1,
        };
        let mut ebpf = match load(&setup) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: pause: {error}");
                return;
            }
            loaded => loaded.expect("the programs load"),
        };
        let hear = |ebpf: &mut Ebpf, frame: &[u8]| -> NicRow {
            let mut output = [0; 64];
            let options = TestRunOptions {
                data_in: Some(frame),
                data_out: Some(&mut output),
                ..TestRunOptions::default()
            };
            let program = classifier(ebpf, HostProgram::NicIngress.name()).expect("loaded");
            let run = program.test_run(options).expect("the program runs");
            assert_eq!(run.return_value, 2, "the pause goes no further");
            let nics: HashMap<_, u32, MapRow<NicRow>> = map(ebpf, NICS).expect("the map exists");
            let MapRow(nic) = nics.get(&LOOPBACK, 0).expect("the row exists");
            nic
        };

        let other = hear(&mut ebpf, &pause(PFC_PRIORITY + 1, 60_000));
        assert_eq!(other.paused_at_ns, 0, "another priority");
        let paused = hear(&mut ebpf, &pause(PFC_PRIORITY, 60_000));
        assert_eq!(
            paused.paused_until_ns - paused.paused_at_ns,
            60_000 * 10_240
        );
        let prolonged = hear(&mut ebpf, &pause(PFC_PRIORITY, 60_000));
        assert_eq!(prolonged.paused_at_ns, paused.paused_at_ns);
        assert!(prolonged.paused_until_ns > paused.paused_until_ns);
        // A pause of zero quanta ends the current pause.
        let ended = hear(&mut ebpf, &pause(PFC_PRIORITY, 0));
        assert_eq!(ended.paused_at_ns, 0);
        assert!(ended.stopped_ns > 0);

        let mut ring: RingBuf<_> = map(&mut ebpf, PAUSES).expect("the ring buffer exists");
        let item = ring.next().expect("one pause is finished");
        let record: PauseRecord = bytemuck::pod_read_unaligned(&item);
        assert_eq!(
            (record.ifindex, record.from_ns),
            (LOOPBACK, paused.paused_at_ns)
        );
        assert_eq!(record.until_ns - record.from_ns, ended.stopped_ns);
    }
}
