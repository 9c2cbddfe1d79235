//! QEMU command line of a guest, as data.

use std::{
    ffi::{OsStr, OsString},
    num::NonZeroU8,
    os::fd::RawFd,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use lab_units::Bytes;

use crate::{Accelerator, Clock, outbox::DEVICE_BYTES, wire::Export};

/// Properties of the virtual machine that QEMU runs.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub accelerator: Accelerator,
    pub clock: Clock,
    pub vcpus: NonZeroU8,
    pub memory: Bytes,
    pub seed: u64,
    pub image: PathBuf,
    /// File descriptor, inherited by QEMU, of the file with the initramfs.
    pub initramfs: RawFd,
    /// Serial ports of the guest; the first is the kernel's console.
    pub ports: Vec<SerialPort>,
    /// Kernel messages that are printed on the console.
    pub messages: Messages,
    pub shares: Vec<SharedDir>,
    /// File descriptor, inherited by QEMU, of the memory shared with the host as the guest's outbox; `None` if the
    /// machine has no outbox.
    pub outbox: Option<RawFd>,
}

/// Kernel messages that are printed on the console.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Messages {
    /// Only error messages.
    Errors,
    /// All messages from the start of the boot.
    All,
}

/// Serial port, with the inherited file descriptor to which it is connected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SerialPort {
    /// Pipe or file for the guest's output.
    Output(RawFd),
    /// Connected socket for both directions.
    Both(RawFd),
}

/// Host directory that the guest may mount.
#[derive(Clone, Debug)]
pub(crate) struct SharedDir {
    pub export: Export,
    pub writable: bool,
}

impl Machine {
    /// Returns the command-line arguments for `qemu-system-x86_64`.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut line = Line::default();
        line.words("-nodefaults -no-user-config -display none -no-reboot -net none");
        line.option("-sandbox", SANDBOX);
        self.time_and_cpu(&mut line);
        line.option("-m", format!("{}B", self.memory.get()));
        self.serial_ports(&mut line);
        line.option("-kernel", &self.image);
        line.option("-initrd", inherited(self.initramfs));
        line.option("-append", self.kernel_command_line());
        for share in &self.shares {
            line.share(share);
        }
        if let Some(memory) = self.outbox {
            line.outbox(memory);
        }
        line.0
    }

    fn time_and_cpu(&self, line: &mut Line) {
        let cpu = match self.accelerator {
            Accelerator::Tcg => EMULATED_CPU,
            Accelerator::Kvm => "host",
        };
        line.option("-cpu", cpu);
        match self.accelerator {
            // QEMU refuses `thread=multi` in combination with instruction counting.
            Accelerator::Tcg if self.clock == Clock::Virtual => {
                line.words("-accel tcg,thread=single");
            }
            Accelerator::Tcg => line.words("-accel tcg,thread=multi"),
            Accelerator::Kvm => line.words("-accel kvm"),
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

    /// Adds the serial ports, each with its own interrupt. If four ports share two interrupts, as on a PC, interrupts
    /// get lost under load.
    fn serial_ports(&self, line: &mut Line) {
        for (index, (port, interrupt)) in self.ports.iter().zip(PORT_INTERRUPTS).enumerate() {
            let backend = match port {
                // QEMU gets an open file, because it may not open another user's pipe. `append` keeps QEMU from
                // truncating the file, which fails on a pipe.
                SerialPort::Output(fd) => {
                    line.option("-add-fd", format!("fd={fd},set={fd}"));
                    format!("file,id=port{index},path=/dev/fdset/{fd},append=on")
                }
                SerialPort::Both(fd) => format!("socket,id=port{index},fd={fd}"),
            };
            line.option("-chardev", backend);
            let device = format!("isa-serial,chardev=port{index},index={index},irq={interrupt}");
            line.option("-device", device);
        }
    }

    fn kernel_command_line(&self) -> String {
        // The kernel seeds its random numbers with its command line, which includes the seed.
        let messages = match self.messages {
            Messages::Errors => "quiet",
            Messages::All => "earlyprintk=ttyS0",
        };
        let seed = format!("lcmp_lab.seed={}", self.seed);
        let clock = match self.clock {
            Clock::Virtual => VIRTUAL_WORDS,
            Clock::Real => REAL_WORDS,
        };
        [KERNEL_WORDS, &[messages, &seed], clock].concat().join(" ")
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

    fn share(&mut self, share: &SharedDir) {
        let Export { tag, path } = &share.export;
        let readonly = if share.writable { "off" } else { "on" };
        // Without a security model, files get the owner and mode that the guest's root sets; if QEMU may not change
        // owners, the owner is QEMU's user.
        let mut fsdev = OsString::from(format!(
            "local,id={tag},security_model=none,multidevs=remap,readonly={readonly},path="
        ));
        fsdev.push(escaped(path));
        self.option("-fsdev", fsdev);
        self.option(
            "-device",
            format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
        );
    }

    fn outbox(&mut self, memory: RawFd) {
        let path = inherited(memory);
        let backend =
            format!("memory-backend-file,id=outbox,size={DEVICE_BYTES},share=on,mem-path={path}");
        self.option("-object", backend);
        self.option("-device", "ivshmem-plain,memdev=outbox");
    }
}

fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

/// Doubles the commas in a path, because a single comma ends a value in QEMU's options.
fn escaped(path: &Path) -> OsString {
    let parts: Vec<&[u8]> = path
        .as_os_str()
        .as_bytes()
        .split(|&byte| byte == b',')
        .collect();
    OsString::from_vec(parts.join(b",,".as_slice()))
}

/// System calls that QEMU may not make: those that start programs, change its user or rights, or set priorities and
/// CPUs, and obsolete ones.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// CPU model of an emulated guest: QEMU's default, plus the instructions that `crc32_pclmul` needs. Without these, a
/// fifth of a loaded guest's instructions are spent on checksums of SoftRoCE's packets. SSSE3 is added because all real
/// CPUs with these instructions have it, and Linux 7 relies on that: without SSSE3, `ghash_blocks_pclmul` crashes its
/// boot.
const EMULATED_CPU: &str = "qemu64,+ssse3,+sse4.1,+pclmulqdq";

/// Date and time (UTC) at which the clock of every guest in virtual time starts; fixed, so that runs repeat exactly.
const VIRTUAL_EPOCH: &str = "2026-01-01T00:00:00";

/// Interrupt numbers of the four serial ports: the usual two, and two from the unused printer ports.
const PORT_INTERRUPTS: [u8; 4] = [4, 3, 5, 7];

const KERNEL_WORDS: &[&str] = &[
    "console=ttyS0",
    // A panic or an oops ends the machine (`-no-reboot`), which the host reports.
    "panic=-1",
    "oops=panic",
    // Without these words the guest considers the time-stamp counter unstable and uses the HPET: every clock read then
    // traps, and perftest prints rates of infinity and zero.
    "tsc=reliable",
    "clocksource=tsc",
    // A guest has a single user and is discarded after use, and emulation is slow, so hardening and monitoring are off.
    // With the last four words at their defaults, starting a process took 4 % longer.
    "mitigations=off",
    "nowatchdog",
    "audit=0",
    "init_on_alloc=0",
    "randomize_kstack_offset=off",
    "transparent_hugepage=never",
    "psi=0",
];

/// Words of the kernel command line for the real clock.
const REAL_WORDS: &[&str] = &[
    // The kernel waits 10 ms for four timer ticks and panics without them; on a loaded host they come later:
    // https://github.com/torvalds/linux/blob/v6.1/arch/x86/kernel/apic/io_apic.c, `timer_irq_works`.
    "no_timer_check",
];

/// Words of the kernel command line for one CPU on the virtual clock.
const VIRTUAL_WORDS: &[&str] = &[
    // Addresses that differ between boots change hash orders and thereby timings.
    "nokaslr",
    "norandmaps",
    // The calibration of the local APIC timer reads the time-stamp counter for 0.1 s, and QEMU translates code for each
    // read, which takes 2 s of every boot. The HPET needs no calibration; 100,000 sleeps took 4.7 s of
    // host time with it and 8.1 s with the local timer, at the same precision in the guest.
    "nolapic_timer",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::DEFAULT_VCPUS;

    fn machine(accelerator: Accelerator, clock: Clock) -> Machine {
        let share = |tag: &str, path: &str, writable| SharedDir {
            export: Export {
                tag: tag.to_owned(),
                path: path.into(),
            },
            writable,
        };
        Machine {
            accelerator,
            clock,
            vcpus: DEFAULT_VCPUS,
            memory: Bytes::new(2 << 30),
            seed: 7,
            image: "/cache/boot/vmlinux-6.1.0".into(),
            initramfs: 10,
            ports: [11, 12, 13]
                .map(SerialPort::Output)
                .into_iter()
                .chain([SerialPort::Both(14)])
                .collect(),
            shares: vec![
                share("root", "/", false),
                share("writable0", "/home/a, b/results", true),
            ],
            messages: Messages::Errors,
            outbox: Some(15),
        }
    }

    fn lines(machine: &Machine) -> String {
        let words: Vec<_> = machine
            .arguments()
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn virtual_clock_counts_instructions_on_one_cpu() {
        insta::assert_snapshot!(lines(&machine(Accelerator::Tcg, Clock::Virtual)));
    }

    #[test]
    fn real_clock_under_kvm_has_the_asked_for_cpus() {
        insta::assert_snapshot!(lines(&machine(Accelerator::Kvm, Clock::Real)));
    }

    #[test]
    fn real_clock_under_emulation_runs_cpus_in_parallel() {
        let text = lines(&machine(Accelerator::Tcg, Clock::Real));
        assert!(text.contains("tcg,thread=multi"), "{text}");
        assert!(!text.contains("-icount"), "{text}");
    }
}
