//! The clients that have come in by the door.

use std::{collections::BTreeMap, io::Write, os::unix::net::UnixStream};

use super::{
    Knock,
    talk::{Answer, MAX_COMMANDS, Order},
};
use crate::wire::ToGuest;

/// Clients, by their commands' numbers.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    inside: BTreeMap<u32, Client>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// Its command was ordered.
    has_started: bool,
}

impl Clients {
    /// Whether no command is under way.
    pub(crate) fn is_idle(&self) -> bool {
        !self.inside.values().any(|client| client.has_started)
    }

    /// What the guest is to hear of what happened at the door. `obstacle` says why no command can
    /// be started, if so.
    pub(crate) fn knock(&mut self, knock: Knock, obstacle: Option<&str>) -> Option<ToGuest> {
        let (id, order) = match knock {
            Knock::Arrived(id, stream) => {
                let has_started = false;
                let client = Client {
                    stream,
                    has_started,
                };
                self.inside.insert(id, client);
                return None;
            }
            Knock::Wants(id, order) => (id, order),
            Knock::Left(id) => {
                let client = self.inside.remove(&id)?;
                let order = Order::Abandon;
                return client.has_started.then_some(ToGuest::Command { id, order });
            }
        };
        let commands = self.inside.values().filter(|client| client.has_started);
        let commands = commands.count();
        let client = self.inside.get_mut(&id)?;
        let refusal = match (&order, client.has_started) {
            (Order::Start(_), false) if commands >= MAX_COMMANDS => Some(format!(
                "{commands} commands run in the guest, which is the most"
            )),
            (Order::Start(_), false) => obstacle.map(ToOwned::to_owned),
            (Order::Start(_), true) => Some("a client has one command".to_owned()),
            (_, true) => None,
            (_, false) => Some("the first order is to start a command".to_owned()),
        };
        if let Some(reason) = refusal {
            self.answer(id, &Answer::Refused(reason));
            return None;
        }
        client.has_started = true;
        Some(ToGuest::Command { id, order })
    }

    /// Passes an answer on. What the guest is to hear when the client cannot be reached.
    pub(crate) fn answer(&mut self, id: u32, answer: &Answer) -> Option<ToGuest> {
        let client = self.inside.get_mut(&id)?;
        let reached = serde_json::to_vec(answer).is_ok_and(|mut line| {
            line.push(b'\n');
            client.stream.write_all(&line).is_ok()
        });
        if answer.is_last() {
            self.inside.remove(&id);
            return None;
        }
        if reached {
            return None;
        }
        self.inside.remove(&id);
        let order = Order::Abandon;
        Some(ToGuest::Command { id, order })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;
    use crate::exec::talk::{Bytes, Start};

    fn start() -> Order {
        Order::Start(Start {
            words: vec!["dc1".into()],
            cwd: "/".into(),
            terminal: None,
        })
    }

    fn enter(clients: &mut Clients, id: u32) -> BufReader<UnixStream> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert_eq!(clients.knock(Knock::Arrived(id, ours), None), None);
        BufReader::new(theirs)
    }

    fn hears(client: &mut BufReader<UnixStream>) -> Answer {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_command_is_under_way_from_its_start_to_its_last_answer() {
        let mut clients = Clients::default();
        let mut client = enter(&mut clients, 7);
        assert!(clients.is_idle());
        let order = start();
        let told = clients.knock(Knock::Wants(7, order.clone()), None);
        assert_eq!(told, Some(ToGuest::Command { id: 7, order }));
        assert!(!clients.is_idle());
        let output = Answer::Stdout(Bytes(b"x".to_vec()));
        assert_eq!(clients.answer(7, &output), None);
        assert_eq!(clients.answer(7, &Answer::Exit(3)), None);
        assert!(clients.is_idle());
        assert_eq!(hears(&mut client), output);
        assert_eq!(hears(&mut client), Answer::Exit(3));
        // That it leaves now is no news to the guest.
        assert_eq!(clients.knock(Knock::Left(7), None), None);
    }

    #[test]
    fn a_client_that_leaves_early_abandons_its_command() {
        let mut clients = Clients::default();
        let _client = enter(&mut clients, 1);
        clients.knock(Knock::Wants(1, start()), None);
        let order = Order::Abandon;
        let told = clients.knock(Knock::Left(1), None);
        assert_eq!(told, Some(ToGuest::Command { id: 1, order }));
        assert!(clients.is_idle());
    }

    #[test]
    fn a_client_that_reads_no_more_abandons_its_command() {
        let mut clients = Clients::default();
        drop(enter(&mut clients, 1));
        clients.knock(Knock::Wants(1, start()), None);
        let order = Order::Abandon;
        let told = clients.answer(1, &Answer::Stdout(Bytes(b"x".to_vec())));
        assert_eq!(told, Some(ToGuest::Command { id: 1, order }));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        let mut clients = Clients::default();
        let mut early = enter(&mut clients, 0);
        let wants = |id| Knock::Wants(id, start());
        assert_eq!(clients.knock(wants(0), Some("it boots")), None);
        assert_eq!(hears(&mut early), Answer::Refused("it boots".to_owned()));
        let mut hasty = enter(&mut clients, 1);
        clients.knock(Knock::Wants(1, Order::InputEnd), None);
        assert!(matches!(hears(&mut hasty), Answer::Refused(_)));
        let ids = 2..;
        let mut full: Vec<_> = ids
            .take(MAX_COMMANDS + 1)
            .map(|id| (id, enter(&mut clients, id)))
            .collect();
        let started = full
            .iter()
            .filter(|(id, _)| clients.knock(wants(*id), None).is_some())
            .count();
        assert_eq!(started, MAX_COMMANDS);
        let (_, last) = full.last_mut().unwrap();
        assert!(matches!(hears(last), Answer::Refused(_)));
    }
}
