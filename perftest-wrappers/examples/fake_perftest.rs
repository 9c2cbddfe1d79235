//! Fake perftest for testing the gate: it exchanges the recorded handshake without RDMA. It is linked under the names
//! `ib_send_bw`, `ib_write_bw` and `ib_read_bw`. The name of its "device" selects its behaviour and ends with a suffix
//! by which tests find the process, as in `good-17`.

use std::{
    env,
    error::Error,
    hint::black_box,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::exit,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::time::{ClockId, clock_gettime};

/// Time that a fake flow takes.
const FLOW: Duration = Duration::from_millis(40);
/// CPU time that the client spends on calibration after the flow, regardless of other processes on the CPU.
const CALIBRATION: Duration = Duration::from_millis(60);

struct Fake {
    tool: String,
    behaviour: String,
    port: u16,
    messages: u64,
    message_bytes: u64,
    is_client: bool,
}

fn main() {
    let args: Vec<String> = env::args().collect();
    if args.get(1).is_some_and(|arg| arg == "--version") {
        print("Version: 6.06\n");
        exit(1);
    }
    if let Err(error) = run(&args) {
        complain(&format!("fake: {error}\n"));
        exit(1);
    }
}

fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let fake = parse(args).ok_or("arguments of another perftest")?;
    if fake.behaviour == "absent" {
        complain("IB device nodev not found\n Unable to find the Infiniband/RoCE device\n");
        exit(1);
    }
    let mut line = if fake.is_client {
        TcpStream::connect(("127.0.0.1", fake.port))?
    } else {
        TcpListener::bind(("0.0.0.0", fake.port))?.accept()?.0
    };
    fake.shake_hands(&mut line)?;
    match (fake.is_client, fake.behaviour.as_str()) {
        (true, "hanging") => sleep(Duration::from_secs(3_600)),
        (true, "failing") => {
            complain(" Completion with error at client\n Failed status 9: wr_id 0 syndrom 0x8a\n");
            exit(1);
        }
        (true, "mute") => {}
        (true, _) => fake.send(&mut line)?,
        (false, "dying") => {
            complain("Segmentation fault\n");
            exit(139);
        }
        (false, _) => fake.receive(&mut line)?,
    }
    Ok(())
}

impl Fake {
    fn shake_hands(&self, line: &mut TcpStream) -> Result<(), Box<dyn Error>> {
        match self.behaviour.as_str() {
            "silent" => sleep(Duration::from_secs(3_600)),
            "garbled" => line.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n")?,
            "gone" => exit(3),
            _ => {}
        }
        let version: &[u8; 16] = match self.behaviour.as_str() {
            "other" => b"6.99\0\0\0\0\0\0\0\0\0\0\0\0",
            _ => b"6.06\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        let short: [&[u8]; 4] = [version, b"\0\0\x10\0", b"\0\0\0@", b"5\0"];
        for message in short {
            self.exchange(line, message)?;
        }
        let exchanges = if self.tool == "ib_send_bw" { 4 } else { 3 };
        for _ in 0..exchanges {
            self.exchange(line, &self.keys())?;
        }
        Ok(())
    }

    /// Runs the client of a flow: sleeps for the flow's duration, calibrates, completes the handshake and prints the
    /// result.
    fn send(&self, line: &mut TcpStream) -> Result<(), Box<dyn Error>> {
        let started = Instant::now();
        sleep(FLOW);
        let seconds = started.elapsed().as_secs_f64();
        let calibrated = cpu_time()? + CALIBRATION;
        while cpu_time()? < calibrated {
            // Nearly all of this CPU time is in user mode, by which the gate recognises that the client computes.
            for step in 0..100_000 {
                black_box(step);
            }
        }

        let bytes = u32::try_from(self.messages * self.message_bytes)?;
        let bandwidth = f64::from(bytes) / seconds / f64::from(1 << 20);
        if self.tool != "ib_send_bw" {
            self.exchange(line, &self.keys())?;
            for word in [
                self.message_bytes,
                self.messages,
                bandwidth.to_bits(),
                bandwidth.to_bits(),
                bandwidth.to_bits(),
            ] {
                self.exchange(line, &word.to_be_bytes())?;
            }
        }
        self.exchange(line, &self.keys())?;
        line.write_all(b"done\0")?;
        line.read_exact(&mut [0; 5])?;
        print(&format!("{bandwidth:.6}\n"));
        Ok(())
    }

    fn receive(&self, line: &mut TcpStream) -> Result<(), Box<dyn Error>> {
        if self.tool != "ib_send_bw" {
            self.exchange(line, &self.keys())?;
            for _ in 0..5 {
                self.exchange(line, &[0; 8])?;
            }
        }
        self.exchange(line, &self.keys())?;
        line.write_all(b"done\0")?;
        line.read_exact(&mut [0; 5])?;
        Ok(())
    }

    /// Exchanges one message of equal length in each direction; the client sends first.
    fn exchange(&self, line: &mut TcpStream, mine: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut theirs = vec![0; mine.len()];
        if self.is_client {
            line.write_all(mine)?;
            line.read_exact(&mut theirs)?;
        } else {
            line.read_exact(&mut theirs)?;
            line.write_all(mine)?;
        }
        Ok(())
    }

    fn keys(&self) -> Vec<u8> {
        let (qp, host) = if self.is_client { (0x11, 1) } else { (0x12, 2) };
        let gid = format!("00:00:00:00:00:00:00:00:00:00:ff:ff:0a:{host:02x}:01:01");
        format!("0000:0001:{qp:06x}:128bbe:00000000:000055993c725e20:{gid}:00000000:\0")
            .into_bytes()
    }
}

fn parse(args: &[String]) -> Option<Fake> {
    let tool = args.first()?.rsplit('/').next()?.to_owned();
    let after = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)
    };
    Some(Fake {
        tool,
        behaviour: after("-d")?.split('-').next()?.to_owned(),
        port: after("-p")?.parse().ok()?,
        messages: after("-n")?.parse().ok()?,
        message_bytes: after("-s")?.parse().ok()?,
        is_client: args.last()? == "127.0.0.1",
    })
}

/// Returns the CPU time that this process has used.
fn cpu_time() -> Result<Duration, nix::Error> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

fn complain(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}
