//! Standard streams and signals. Results go to standard output, everything else to standard error.

use std::{
    borrow::Cow,
    env,
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde::Serialize;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};
use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Outcome};

/// Writes a result to standard output, with a final newline. A closed pipe, as in `lcmp-lab schema | head`, is not an
/// error; any other failure ends the process.
pub fn print(text: &str) {
    if let Err(error) = write(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        note(&format!("error: cannot write to standard output: {error}"));
        std::process::exit(i32::from(Exit::Environment.code()));
    }
}

fn write(text: &str) -> io::Result<()> {
    let text = visible(text);
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Returns true if standard output is a terminal that shows colours and `NO_COLOR` is not set.
pub fn stdout_is_colored() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Writes a result to standard output as JSON.
pub fn print_json<T: Serialize>(value: &T) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&text),
        Err(error) => note(&format!("error: cannot write JSON: {error}")),
    }
}

/// Writes a result to standard output, as JSON if `json` is true, else as the text that `text` returns.
pub fn show<T: Serialize>(json: bool, value: &T, text: impl FnOnce(&T) -> String) -> Outcome {
    if json {
        print_json(value);
    } else {
        print(&text(value));
    }
    Ok(Exit::Pass)
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}", visible(text));
}

/// Escapes the control characters in a text, such as `\u{1b}`, so that text from a record, scenario or program cannot
/// control the terminal. Line ends, tabs and colours stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (colored, after) = rest.split_at(color(rest));
        shown.push_str(colored);
        rest = after;
        if colored.is_empty() {
            if is_plain(next) {
                shown.push(next);
            } else {
                shown.extend(next.escape_unicode());
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    Cow::Owned(shown)
}

/// Returns the length in bytes of the colour sequence, such as `ESC [ 1 ; 31 m`, that a text begins with; 0 for none
/// (<https://www.ecma-international.org/publications-and-standards/standards/ecma-48/>).
fn color(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';');
    match end {
        Some(end) if parameters[end..].starts_with('m') => 2 + end + 1,
        _ => 0,
    }
}

/// Cancels `token` at the first SIGINT, SIGTERM or SIGHUP. Later signals only print a message, because an incomplete
/// teardown would leave kernel objects behind.
pub fn cancel_on_signal(token: &CancellationToken) -> io::Result<()> {
    let first = "interrupted: taking the lab down";
    on_signal(token, first, "still taking the lab down")
}

/// Makes every later SIGINT, SIGTERM and SIGHUP set the flag that [`is_interrupted`] reads, without a message.
pub fn heed_signals() -> io::Result<()> {
    on_signal(&CancellationToken::new(), "", "")
}

/// Cancels `token` and prints `first` at the first SIGINT, SIGTERM or SIGHUP, and prints `later` at every further one;
/// an empty message is not printed. The latest call replaces earlier ones. If a signal has already arrived, the call
/// cancels its token at once.
pub fn on_signal(
    token: &CancellationToken,
    first: &'static str,
    later: &'static str,
) -> io::Result<()> {
    let mut watch = watch();
    if watch.is_none() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, &INTERRUPTED)?;
        }
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let named = thread::Builder::new().name("signals".into());
        named.spawn(move || heed(signals))?;
    }
    if is_interrupted() {
        token.cancel();
    }
    *watch = Some(Watch {
        token: token.clone(),
        first,
        later,
        is_first: watch.as_ref().is_none_or(|watch| watch.is_first),
    });
    Ok(())
}

/// Returns true if a signal arrived since the first call to [`on_signal`]; a verb that makes several runs then starts
/// no more. The signal handler itself sets the flag, so that there is no delay until a thread notices the signal.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Action on signals, set by the latest [`on_signal`].
struct Watch {
    token: CancellationToken,
    first: &'static str,
    later: &'static str,
    /// True until the first signal arrives.
    is_first: bool,
}

/// Action on signals of this process. It is global because signals arrive per process, and the runs of a suite share
/// one process.
static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

fn watch() -> MutexGuard<'static, Option<Watch>> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

fn heed(mut signals: Signals) {
    for _ in signals.forever() {
        if let Some(watch) = watch().as_mut() {
            let text = if watch.is_first {
                watch.first
            } else {
                watch.later
            };
            if !text.is_empty() {
                note(text);
            }
            watch.is_first = false;
            watch.token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_ends_tabs_and_colours_reach_a_terminal() {
        for (text, shown) in [
            ("dc1\t100 %\nα · 2\n", "dc1\t100 %\nα · 2\n"),
            ("\u{1b}[1;31merror\u{1b}[0m", "\u{1b}[1;31merror\u{1b}[0m"),
            ("title \u{1b}]0;pwned\u{7}", "title \\u{1b}]0;pwned\\u{7}"),
            ("\u{1b}[2Jclear", "\\u{1b}[2Jclear"),
            ("\u{1b}[31", "\\u{1b}[31"),
            (
                "back\rover, \u{9b}31m, \u{8}",
                "back\\u{d}over, \\u{9b}31m, \\u{8}",
            ),
            ("last \u{1b}", "last \\u{1b}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
