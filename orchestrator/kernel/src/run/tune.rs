//! Requests to tune switches while flows run, for example `lcmp-lab tune dc1 alpha=1 beta=3`.
//!
//! The run listens on a socket in the lab's directory; a client sends one line and receives one line. Tuned values
//! apply until the repetition ends; the next repetition begins with the scenario's values.

use std::{
    fs, io,
    io::{BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use lab_abi::LcmpConfig;
use lab_parameters::{Parameter, ParameterSet, Value};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::{journal, name::LabName};

/// New value for a parameter, written for example as `alpha=1`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ParameterChange {
    /// Name of the parameter, as in a scenario.
    pub name: String,
    pub value: u8,
}

/// Error for a text that is not a parameter change such as `alpha=1`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a parameter change (hint: write a parameter and its value from 0 to 255, such as `alpha=1`)"
)]
pub struct ParseChangeError {
    text: String,
}

impl std::str::FromStr for ParameterChange {
    type Err = ParseChangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (name, value) = text.split_once('=')?;
            let name = name.trim().to_owned();
            let value = value.trim().parse().ok()?;
            (!name.is_empty()).then_some(Self { name, value })
        };
        parse().ok_or_else(|| ParseChangeError {
            text: text.to_owned(),
        })
    }
}

/// Request to tune a switch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TuneRequest {
    /// Name of the datacenter whose switch is tuned.
    pub dc: String,
    /// Changes to make; empty to only read the current values.
    pub changes: Vec<ParameterChange>,
}

/// Tunable parameters of a switch and their values.
pub type Tuned = Vec<(String, u8)>;

/// Answer to a tune request.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Tuned(Tuned),
    Refused(String),
}

/// Failure of a tune request.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The connection to the run's socket failed.
    #[error("lab `{lab}` has no running flows: {source} (hint: tune while its flows run)")]
    Unreachable { lab: LabName, source: io::Error },
    /// The run did not answer.
    #[error("the run of lab `{lab}` does not answer: {source} (hint: tune while its flows run)")]
    NoAnswer { lab: LabName, source: io::Error },
    /// The run refused the request.
    #[error("{reason}")]
    Refused { reason: String },
}

/// Sends a request to the run of a lab on this kernel; returns the values of all tunable parameters.
///
/// # Errors
/// If no flows run, or a change is invalid.
pub fn tune(lab: &LabName, request: &TuneRequest) -> Result<Tuned, TuneError> {
    let stream = connect(&socket(lab)).map_err(|source| TuneError::Unreachable {
        lab: lab.clone(),
        source,
    })?;
    let answer = ask(stream, request).map_err(|source| TuneError::NoAnswer {
        lab: lab.clone(),
        source,
    })?;
    match answer {
        Answer::Tuned(tuned) => Ok(tuned),
        Answer::Refused(reason) => Err(TuneError::Refused { reason }),
    }
}

/// Connects to a socket; retries when a signal interrupts the call.
fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            connected => return connected,
        }
    }
}

fn ask(mut stream: UnixStream, request: &TuneRequest) -> io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

/// Returns the path of the socket on which a lab's run accepts tune requests.
pub(super) fn socket(lab: &LabName) -> PathBuf {
    journal::directory(lab).join("tune.sock")
}

/// Tune request whose client is waiting for an answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub request: TuneRequest,
    answer: oneshot::Sender<Answer>,
}

impl PendingRequest {
    /// Sends the answer to the client; does nothing if the client has disconnected.
    pub(super) fn answer(self, result: Result<Tuned, String>) {
        let answer = result.map_or_else(Answer::Refused, Answer::Tuned);
        let _ = self.answer.send(answer);
    }
}

/// Listens on a socket at `path` and serves one request at a time until the receiver is dropped.
pub(super) fn listen(path: &Path) -> io::Result<mpsc::Receiver<PendingRequest>> {
    // An earlier run of this lab may have left its socket, which no longer has a listener.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    let (sender, requests) = mpsc::channel(1);
    thread::Builder::new()
        .name("tune".to_owned())
        .spawn(move || {
            for stream in listener.incoming() {
                // A client that sends an invalid request or disconnects does not affect other clients.
                let served = stream.and_then(|stream| serve(stream, &sender));
                if let Err(error) = served {
                    tracing::debug!(%error, "a request to tune was not answered");
                }
                if sender.is_closed() {
                    return;
                }
            }
        })?;
    Ok(requests)
}

fn serve(stream: UnixStream, requests: &mpsc::Sender<PendingRequest>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let request = serde_json::from_str(&line)?;
    let (answer, answered) = oneshot::channel();
    let gone = |_| io::ErrorKind::BrokenPipe;
    requests
        .blocking_send(PendingRequest { request, answer })
        .map_err(gone)?;
    let answer = answered
        .blocking_recv()
        .map_err(|_| io::ErrorKind::BrokenPipe)?;
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    (&stream).write_all(&text)
}

/// Returns `parameters` after `changes` have been made.
///
/// # Errors
/// If a parameter cannot be tuned, or a value is invalid.
pub(super) fn changed(
    parameters: &LcmpConfig,
    changes: &[ParameterChange],
) -> Result<LcmpConfig, String> {
    let mut parameters = parameters.clone();
    for ParameterChange { name, value } in changes {
        let Some(parameter) = declared().find(|parameter| parameter.name == name) else {
            let names = declared()
                .map(|parameter| parameter.name)
                .collect::<Vec<_>>()
                .join("`, `");
            return Err(format!(
                "`{name}` is not a tunable parameter (hint: tunable are `{names}`)"
            ));
        };
        parameters.set(parameter.name, Value::Number((*value).into()));
    }
    parameters.validate().map_err(|error| error.to_string())?;
    Ok(parameters)
}

/// Returns the names and values of the tunable parameters.
pub(super) fn tunable(parameters: &LcmpConfig) -> Tuned {
    declared()
        .filter_map(|parameter| match parameters.get(parameter.name)? {
            Value::Number(value) => Some((parameter.name.to_owned(), u8::try_from(value).ok()?)),
            _ => None,
        })
        .collect()
}

/// Returns the declarations of the tunable parameters. Not tunable are parameters that scale all paths together, and
/// intervals and tables that a running agent has already set up.
fn declared() -> impl Iterator<Item = &'static Parameter> {
    LcmpConfig::PARAMETERS
        .iter()
        .filter(|parameter| parameter.is_tunable)
}

/// Maximum time for which a client and the run wait for each other.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> ParameterChange {
        text.parse().unwrap()
    }

    #[test]
    fn a_change_is_a_name_and_a_byte() {
        let expected = ParameterChange {
            name: "w_ql".to_owned(),
            value: 255,
        };
        assert_eq!(change("w_ql=255"), expected);
        for text in [
            "alpha",
            "alpha=",
            "=1",
            "alpha=256",
            "alpha=-1",
            "alpha=1.5",
        ] {
            assert!(text.parse::<ParameterChange>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_what_is_named_changes_and_only_to_what_fits() {
        let before = LcmpConfig::artifact();
        let after = changed(&before, &[change("alpha=1"), change("beta=3")]).unwrap();
        assert_eq!((after.alpha, after.beta), (1, 3));
        let back = changed(&after, &[change("alpha=3"), change("beta=1")]).unwrap();
        assert_eq!(back, before);
        let error = changed(&before, &[change("low_water=250")]).unwrap_err();
        assert_eq!(
            error,
            "`low_water` is 250; it must be below `high_water`, which is 204"
        );
        let paths = ["w_dl=0", "w_lc=255", "s_path=16"].map(change);
        let after = changed(&before, &paths).unwrap();
        assert_eq!((after.w_dl, after.w_lc, after.s_path), (0, 255, 16));
        let error = changed(&before, &[change("s_path=17")]).unwrap_err();
        assert_eq!(error, "`s_path` is 17; it must be 0 to 16");
        let error = changed(&before, &[change("alpha=0"), change("beta=0")]).unwrap_err();
        assert!(
            error.starts_with("`alpha` and `beta` are both zero"),
            "{error}"
        );
        let error = changed(&before, &[change("alhpa=1")]).unwrap_err();
        assert!(
            error.starts_with(
                "`alhpa` is not a tunable parameter (hint: tunable are `alpha`, `beta`"
            )
        );
        assert_eq!(
            tunable(&before)[..2],
            [("alpha".to_owned(), 3), ("beta".to_owned(), 1)]
        );
    }

    #[test]
    fn a_request_is_answered_and_nonsense_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tune.sock");
        let mut requests = listen(&path).unwrap();
        let client = |text: &'static str| {
            let path = path.clone();
            thread::spawn(move || {
                let mut stream = UnixStream::connect(path).unwrap();
                stream.write_all(text.as_bytes()).unwrap();
                let mut answer = String::new();
                BufReader::new(stream).read_line(&mut answer).unwrap();
                answer
            })
        };
        assert_eq!(client("what?\n").join().unwrap(), "");
        let asked = client("{\"dc\":\"dc1\",\"changes\":[{\"name\":\"alpha\",\"value\":1}]}\n");
        let pending = requests.blocking_recv().unwrap();
        assert_eq!(
            (&*pending.request.dc, &*pending.request.changes),
            ("dc1", &[change("alpha=1")][..])
        );
        pending.answer(Ok(vec![("alpha".to_owned(), 1)]));
        assert_eq!(asked.join().unwrap(), "{\"tuned\":[[\"alpha\",1]]}\n");
    }
}
