//! The QEMU command line of a guest, as data.

use std::{
    ffi::{OsStr, OsString},
    os::fd::RawFd,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use lab_units::Bytes;

use crate::{Clock, Engine, wire::Export};

/// Everything the command line says.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub engine: Engine,
    pub clock: Clock,
    pub vcpus: u8,
    pub memory: Bytes,
    pub seed: u64,
    pub image: PathBuf,
    /// Host directories, `/` not among them.
    pub writable: Vec<Export>,
    pub fds: Fds,
}

/// Open files the machine inherits, by their number in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fds {
    pub initramfs: RawFd,
    pub console: RawFd,
    pub stdout: RawFd,
    pub stderr: RawFd,
    pub control: RawFd,
}

impl Machine {
    /// The arguments of `qemu-system-x86_64`.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut line = Line::default();
        line.words("-nodefaults -no-user-config -display none -no-reboot -net none");
        self.time_and_cpu(&mut line);
        line.option("-m", format!("{}B", self.memory.get()));
        self.serial_ports(&mut line);
        line.option("-kernel", &self.image);
        line.option("-initrd", inherited(self.fds.initramfs));
        line.option("-append", self.kernel_command_line());
        line.export("root", Path::new("/"), "readonly=on");
        for export in &self.writable {
            line.export(&export.tag, &export.path, "readonly=off");
        }
        line.0
    }

    fn time_and_cpu(&self, line: &mut Line) {
        match self.engine {
            // `thread=multi` is refused with an instruction count, which wants one thread.
            Engine::Tcg if self.clock == Clock::Virtual => line.words("-accel tcg,thread=single"),
            Engine::Tcg => line.words("-accel tcg,thread=multi"),
            Engine::Kvm => line.words("-accel kvm -cpu host"),
        }
        match self.clock {
            Clock::Virtual => {
                line.words("-icount shift=0,sleep=off -smp 1");
                line.option("-rtc", format!("base={VIRTUAL_EPOCH},clock=vm"));
            }
            Clock::Real => {
                line.option("-smp", self.vcpus.to_string());
                line.words("-rtc base=utc,clock=host");
            }
        }
        line.option("-seed", self.seed.to_string());
    }

    /// The console and the three channels, each with an interrupt of its own: the customary sharing
    /// of two interrupts among four ports loses some under load.
    fn serial_ports(&self, line: &mut Line) {
        let outputs = [
            ("console", self.fds.console),
            ("stdout", self.fds.stdout),
            ("stderr", self.fds.stderr),
        ];
        for (id, fd) in outputs {
            let path = inherited(fd);
            line.option("-chardev", format!("file,id={id},path={path}"));
        }
        let control = self.fds.control;
        line.option("-chardev", format!("socket,id=control,fd={control}"));
        for (index, (id, interrupt)) in ["console", "stdout", "stderr", "control"]
            .into_iter()
            .zip(PORT_INTERRUPTS)
            .enumerate()
        {
            line.option(
                "-device",
                format!("isa-serial,chardev={id},index={index},irq={interrupt}"),
            );
        }
    }

    fn kernel_command_line(&self) -> String {
        // The kernel mixes its command line into its random numbers, which makes the seed theirs.
        let mut words = format!("{} lcmp_lab.seed={}", KERNEL_WORDS.join(" "), self.seed);
        if self.clock == Clock::Virtual {
            words.push(' ');
            words.push_str(&VIRTUAL_WORDS.join(" "));
        }
        words
    }
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    fn option(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.push(name.into());
        self.0.push(value.as_ref().into());
    }

    /// Exports the host directory `path` under the name `tag`.
    fn export(&mut self, tag: &str, path: &Path, access: &str) {
        let mut fsdev = OsString::from(format!("local,id={tag},security_model=none,"));
        fsdev.push(format!("multidevs=remap,{access},path="));
        fsdev.push(escaped(path));
        self.option("-fsdev", fsdev);
        self.option(
            "-device",
            format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
        );
    }
}

fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

/// QEMU ends a value at a comma and takes two for one.
fn escaped(path: &Path) -> OsString {
    let mut bytes = Vec::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte == b',' {
            bytes.push(b',');
        }
        bytes.push(byte);
    }
    OsString::from_vec(bytes)
}

/// The date every guest on the virtual clock starts at: fixed, so that runs repeat.
pub const VIRTUAL_EPOCH: &str = "2026-01-01T00:00:00";

/// Interrupts of the four serial ports: the customary two, and two of the unused printer ports.
const PORT_INTERRUPTS: [u8; 4] = [4, 3, 5, 7];

const KERNEL_WORDS: &[&str] = &[
    "console=ttyS0",
    "quiet",
    // A panic or an oops ends the machine (`-no-reboot`) and so reaches the user.
    "panic=-1",
    "oops=panic",
    // Without these the guest measures the time-stamp counter, distrusts it and falls back to the
    // hpet: each clock read is then a trap, and perftest prints rates of infinity and zero.
    "tsc=reliable",
    "clocksource=tsc",
    "mitigations=off",
    "nowatchdog",
    "audit=0",
];

/// For one virtual CPU on the virtual clock.
const VIRTUAL_WORDS: &[&str] = &[
    // Addresses that differ between boots change hash orders and with them timings.
    "nokaslr",
    "norandmaps",
    // The local timer is calibrated by reading the time-stamp counter for 0.1 s, each read a way out
    // of translated code: two seconds of every boot. The hpet needs no calibration, and 100,000
    // sleeps were measured at 4.7 s of host time with it against 8.1 s, equally late in the guest.
    "nolapic_timer",
];
