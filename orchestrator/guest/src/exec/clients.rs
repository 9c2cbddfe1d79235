//! Clients that are connected to the exec socket.

use std::{collections::BTreeMap, io::Write, os::unix::net::UnixStream};

use super::{ExecReply, ExecRequest, MAX_SESSIONS};
use crate::wire::ToGuest;

/// Event from a client of the exec socket.
#[derive(Debug)]
pub(crate) enum ClientEvent {
    /// New connection, with the number of the client's exec session.
    Connected(u32, UnixStream),
    /// Request that a client sent.
    Requested(u32, ExecRequest),
    /// End of a connection: the client has disconnected or sent an invalid line.
    Disconnected(u32),
}

/// Connected clients, by the numbers of their exec sessions.
#[derive(Debug, Default)]
pub(crate) struct Clients(BTreeMap<u32, Client>);

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// True if the client's start request has been sent to the guest.
    has_started: bool,
}

impl Clients {
    /// Returns true if no exec session has started.
    pub(crate) fn is_idle(&self) -> bool {
        self.started() == 0
    }

    fn started(&self) -> usize {
        self.0.values().filter(|client| client.has_started).count()
    }

    /// Handles an event from a client and returns the message for the guest, if there is one. `obstacle` is the reason
    /// for which no session can be started now.
    pub(crate) fn handle(&mut self, event: ClientEvent, obstacle: Option<&str>) -> Option<ToGuest> {
        let (id, request) = match event {
            ClientEvent::Connected(id, stream) => {
                let has_started = false;
                self.0.insert(
                    id,
                    Client {
                        stream,
                        has_started,
                    },
                );
                return None;
            }
            ClientEvent::Requested(id, request) => (id, request),
            ClientEvent::Disconnected(id) => {
                let client = self.0.remove(&id)?;
                return client.has_started.then(|| abandon(id));
            }
        };
        let sessions = self.started();
        let client = self.0.get_mut(&id)?;
        let refusal = match (&request, client.has_started) {
            (ExecRequest::Start(_), false) if sessions >= MAX_SESSIONS => Some(format!(
                "{sessions} commands already run in the guest, which is the maximum"
            )),
            (ExecRequest::Start(_), false) => obstacle.map(ToOwned::to_owned),
            (ExecRequest::Start(_), true) => Some("a client may start only one command".to_owned()),
            (_, true) => None,
            (_, false) => Some("the first request must start a command".to_owned()),
        };
        if let Some(reason) = refusal {
            self.reply(id, &ExecReply::Refused(reason));
            return None;
        }
        client.has_started = true;
        Some(ToGuest::Exec { id, request })
    }

    /// Sends a reply to the client of session `id`. If the client cannot be reached, returns the message that ends the
    /// session in the guest.
    pub(crate) fn reply(&mut self, id: u32, reply: &ExecReply) -> Option<ToGuest> {
        let client = self.0.get_mut(&id)?;
        let is_sent = serde_json::to_vec(reply).is_ok_and(|mut line| {
            line.push(b'\n');
            client.stream.write_all(&line).is_ok()
        });
        if is_sent && !reply.is_last() {
            return None;
        }
        self.0.remove(&id);
        (!reply.is_last()).then(|| abandon(id))
    }
}

const fn abandon(id: u32) -> ToGuest {
    let request = ExecRequest::Abandon;
    ToGuest::Exec { id, request }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;
    use crate::exec::{Bytes, Start};

    fn start(id: u32) -> ClientEvent {
        let start = Start {
            words: vec!["dc1".into()],
            cwd: "/".into(),
            terminal: None,
        };
        ClientEvent::Requested(id, ExecRequest::Start(start))
    }

    fn connect(clients: &mut Clients, id: u32) -> BufReader<UnixStream> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert_eq!(clients.handle(ClientEvent::Connected(id, ours), None), None);
        BufReader::new(theirs)
    }

    fn read(client: &mut BufReader<UnixStream>) -> ExecReply {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_session_lasts_from_its_start_to_its_last_reply() {
        let mut clients = Clients::default();
        let mut client = connect(&mut clients, 7);
        assert!(clients.is_idle());
        let message = clients.handle(start(7), None);
        let Some(ToGuest::Exec { id, request }) = message else {
            panic!("no message");
        };
        assert!(id == 7 && matches!(request, ExecRequest::Start(_)));
        assert!(!clients.is_idle());
        let output = ExecReply::Stdout(Bytes(b"x".to_vec()));
        assert_eq!(clients.reply(7, &output), None);
        assert_eq!(clients.reply(7, &ExecReply::Exit(3)), None);
        assert!(clients.is_idle());
        assert_eq!(read(&mut client), output);
        assert_eq!(read(&mut client), ExecReply::Exit(3));
        // The session has already ended in the guest, so the guest gets no message.
        assert_eq!(clients.handle(ClientEvent::Disconnected(7), None), None);
    }

    #[test]
    fn a_client_that_disconnects_or_stops_reading_abandons_its_command() {
        let mut clients = Clients::default();
        let _client = connect(&mut clients, 1);
        clients.handle(start(1), None);
        let message = clients.handle(ClientEvent::Disconnected(1), None);
        assert_eq!(message, Some(abandon(1)));
        assert!(clients.is_idle());

        drop(connect(&mut clients, 2));
        clients.handle(start(2), None);
        let message = clients.reply(2, &ExecReply::Stdout(Bytes(b"x".to_vec())));
        assert_eq!(message, Some(abandon(2)));
    }

    #[test]
    fn an_impossible_request_is_refused_with_the_reason() {
        let mut clients = Clients::default();
        let mut early = connect(&mut clients, 0);
        assert_eq!(clients.handle(start(0), Some("it boots")), None);
        assert_eq!(read(&mut early), ExecReply::Refused("it boots".to_owned()));
        let mut hasty = connect(&mut clients, 1);
        clients.handle(ClientEvent::Requested(1, ExecRequest::InputEnd), None);
        assert!(matches!(read(&mut hasty), ExecReply::Refused(_)));
        let ids = (2..).take(MAX_SESSIONS + 1);
        let mut full: Vec<_> = ids.map(|id| (id, connect(&mut clients, id))).collect();
        let started = full
            .iter()
            .filter(|(id, _)| clients.handle(start(*id), None).is_some());
        assert_eq!(started.count(), MAX_SESSIONS);
        let (_, last) = full.last_mut().unwrap();
        assert!(matches!(read(last), ExecReply::Refused(_)));
    }
}
