//! Runs a command inside a guest: `guest CONSOLE_LOG [OPTION]... COMMAND [ARGUMENT]...`.
//!
//! Options: `--virtual`, `--real`, `--writable DIR`, `--cache DIR`, `--boot-timeout SECONDS`, `--silence SECONDS`. The
//! tests use this program on the host, and `guest timings` inside the guest. As cargo's runner, it runs other crates'
//! tests in a guest; `guest needs` lists the requirements that this machine lacks and exits with code 3. Inside a
//! guest, `guest preload PATH...` and `guest waits` let a script show its effect on the clock, and `guest send WORD...`
//! sends words through the outbox, which the host writes to standard output.
#![expect(clippy::print_stdout, reason = "it is a command")]

use std::{
    error::Error,
    ffi::OsString,
    io,
    process::{Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use lab_guest::{
    Clock, GuestError, GuestRequest, Signals, Sinks, cache, inside, outbox::Outbox, probe,
};
use nix::{
    sys::time::TimeSpec,
    time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep},
    unistd::sync,
};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let result = match arguments.first().and_then(|first| first.to_str()) {
        Some(lab_guest::INIT_VERB) => inside::main(),
        Some("needs") => Ok(needs()),
        Some("timings") => timings(),
        Some("preload") => preload(&arguments[1..]),
        Some("waits") => waits(),
        Some("send") => send(&arguments[1..]),
        _ => run(arguments),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: failed to run guest: {error}");
            let code = error.downcast_ref().map_or(2, GuestError::exit_code);
            ExitCode::from(code)
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<u8, Box<dyn Error>> {
    let mut words = arguments.into_iter().peekable();
    let console = words.next().ok_or("no console log given")?;
    let cwd = std::env::current_dir()?;
    let mut request = GuestRequest::new(Vec::new(), &cwd, console.as_ref())?;
    while let Some(option) = words.next_if(|word| word.to_string_lossy().starts_with("--")) {
        let mut value = || words.next().ok_or("the last option lacks its value");
        match option.to_str() {
            Some("--virtual") => request.clock = Some(Clock::Virtual),
            Some("--real") => request.clock = Some(Clock::Real),
            Some("--writable") => request.writable.push(value()?.into()),
            Some("--cache") => request.cache = value()?.into(),
            Some("--boot-timeout") => request.boot_timeout = seconds(&value()?)?,
            Some("--silence") => request.silence_timeout = Some(seconds(&value()?)?),
            _ => return Err(format!("unknown option {}", option.display()).into()),
        }
    }
    request.argv = words.collect();
    let mut sinks = Sinks {
        stdout: &mut io::stdout(),
        stderr: &mut io::stderr(),
        outbox: &mut io::stdout(),
        events: &mut |event| eprintln!("event: {event:?}"),
    };
    Ok(lab_guest::run(&request, Signals::listen()?, &mut sinks)?)
}

fn seconds(text: &OsString) -> Result<Duration, Box<dyn Error>> {
    let seconds = text
        .to_str()
        .ok_or("a time-out must be a number of seconds")?
        .parse()?;
    Ok(Duration::from_secs(seconds))
}

fn needs() -> u8 {
    let lacking = probe::lacking(&cache::default_dir());
    for finding in &lacking {
        println!("{finding} (hint: {})", finding.remedy());
    }
    if lacking.is_empty() { 0 } else { 3 }
}

fn preload(paths: &[OsString]) -> Result<u8, Box<dyn Error>> {
    println!("{}", inside::preload(paths)?);
    Ok(0)
}

fn waits() -> Result<u8, Box<dyn Error>> {
    println!("{}", inside::host_waits()?);
    Ok(0)
}

fn send(words: &[OsString]) -> Result<u8, Box<dyn Error>> {
    let mut outbox = Outbox::open()?;
    for word in words {
        outbox.send(word.as_encoded_bytes());
        outbox.send(b"\n");
    }
    Ok(0)
}

/// Prints the medians and totals, in nanoseconds, of 1,000 sleeps and 1,000 sums after the clock is aligned, and how
/// often the guest waited for the host during these measurements and while 100 processes started.
fn timings() -> Result<u8, Box<dyn Error>> {
    inside::preload(&["/bin/true"])?;
    // The first measurement only fills the caches.
    Command::new("/bin/true").status()?;
    measure();
    align_clock()?;
    let waits = inside::host_waits()?;
    let measured = measure();
    for _ in 0..100 {
        Command::new("/bin/true").status()?;
    }
    println!("waits {}", inside::host_waits()? - waits);
    for (name, mut times) in measured {
        times.sort_unstable();
        let total: Duration = times.iter().sum();
        let median = times[times.len() / 2];
        println!("{name} {} {}", median.as_nanos(), total.as_nanos());
    }
    Ok(0)
}

/// Sleeps until the guest's time since boot is a multiple of 100 s, for at least 20 s.
fn align_clock() -> Result<(), Box<dyn Error>> {
    sync();
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?.tv_sec();
    let aligned = TimeSpec::new((now + 20) / 100 * 100 + 100, 0);
    let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
    clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &aligned)?;
    Ok(())
}

fn measure() -> [(&'static str, Vec<Duration>); 2] {
    let once = |_| {
        let start = Instant::now();
        thread::sleep(Duration::from_millis(1));
        let slept = start.elapsed();
        let start = Instant::now();
        let sum = (0..5_000_u64).fold(1, |sum: u64, x| std::hint::black_box(sum ^ x));
        std::hint::black_box(sum);
        (slept, start.elapsed())
    };
    let (sleeps, sums) = (0..1000).map(once).unzip();
    [("sleeps", sleeps), ("sums", sums)]
}
