//! Runs a command inside a guest: `guest [--real] [--writable DIR]... COMMAND [ARGUMENT]...`.
//!
//! The tests use it as the program that is on both sides.

use std::{error::Error, ffi::OsString, io, path::PathBuf, process::ExitCode};

use lab_guest::{Clock, GuestRequest, Sinks};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments
        .peek()
        .is_some_and(|first| first == lab_guest::INIT_VERB)
    {
        lab_guest::inside::main();
    }
    match run(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: failed to run guest: {error}");
            let code = error
                .downcast_ref::<lab_guest::GuestError>()
                .map_or(2, lab_guest::GuestError::exit_code);
            ExitCode::from(code)
        }
    }
}

fn run(arguments: impl Iterator<Item = OsString>) -> Result<u8, Box<dyn Error>> {
    let console = std::env::var_os("CONSOLE").map_or("console.log".into(), PathBuf::from);
    let cwd = std::env::current_dir()?;
    let mut request = GuestRequest::new(Vec::new(), &cwd, &console)?;
    let mut arguments = arguments.peekable();
    while let Some(option) = arguments.next_if(|word| word.to_string_lossy().starts_with("--")) {
        match option.to_str() {
            Some("--real") => request.clock = Some(Clock::Real),
            Some("--writable") => request.writable.push(
                arguments
                    .next()
                    .ok_or("--writable wants a directory")?
                    .into(),
            ),
            _ => return Err(format!("unknown option {}", option.display()).into()),
        }
    }
    request.argv = arguments.collect();
    let mut sinks = Sinks {
        stdout: &mut io::stdout(),
        stderr: &mut io::stderr(),
        events: &mut |event| eprintln!("{event:?}"),
    };
    let outcome = lab_guest::run(&request, &mut sinks)?;
    eprintln!("{outcome:?}");
    Ok(outcome.exit_code)
}
