//! Handshake of a client and its server over TCP before and after the data, as pure logic without I/O.
//!
//! perftest's two sides send in turns, and the client sends first. Recorded from version 6.06 (Debian 12's package
//! 4.5+0.17):
//!
//! ```text
//! client  server
//!  16      16      the version, as text padded with zeros
//!   4       4      path MTU, inline size (both big-endian), and "5\0": three short messages each
//! 108     108      keys: "%04x:%04x:%06x:%06x:%08x:%016llx:" then 16 times "%02x:" and "%08x:\0",
//!                  which are lid, reads, QP, PSN, rkey, address, GID, SRQ; ib_send_bw exchanges
//!                  them four times, ib_write_bw and ib_read_bw three times
//!                  -- here the client posts its messages, waits for them, calibrates its clock --
//! 108     108      keys again
//! 5 × 8   5 × 8    write and read only: size, iterations, peak, average, message rate, the last
//!                  three as big-endian doubles; then keys once more
//!   5       5      "done\0"
//! ```
//!
//! All key messages of one side are equal, so the last one before the data is found by counting. The counts per tool
//! are known for the recorded version. For other versions the gate holds back the first reply with keys, before which
//! no data can flow. The rest of the handshake then follows the start trigger over the loopback interface, which
//! delays the flow by a fraction of a millisecond and has no other effect.

use std::net::Ipv6Addr;

use lab_units::{Side, Tool};

use super::version::KNOWN_VERSION;
use crate::contract::{HandshakeError, QpAddress, QpNumber};

/// Handshake messages of both sides, up to the message that starts the data transfer.
#[derive(Debug)]
pub(crate) struct Handshake {
    tool: Tool,
    client: Transcript,
    server: Transcript,
}

/// Treatment of handshake bytes by the gate, the TCP proxy between client and server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// The bytes are forwarded to the other side.
    Forward,
    /// The bytes are kept, because the message that starts the data is incomplete.
    Keep,
    /// The bytes are kept, and the message that starts the data is complete.
    Ready,
}

/// Completed handshake, up to the message that starts the data.
#[derive(Clone, Debug)]
pub(crate) struct ReadyPair {
    pub(crate) client_qp: QpAddress,
    pub(crate) server_qp: QpAddress,
    /// Message that starts the data transfer, held back by the gate; the client is waiting for it.
    pub(crate) held: Vec<u8>,
    /// True if the client posts its messages as soon as it receives `held`, as the known version of perftest does.
    pub(crate) exact: bool,
}

/// Messages of the handshake that one side has sent so far.
#[derive(Debug, Default)]
struct Transcript {
    version: Option<Vec<u8>>,
    short_messages: u32,
    exchanges: u32,
    address: Option<QpAddress>,
    /// Last complete key line (perftest's text form of a QP address) that this side has sent.
    line: Vec<u8>,
    /// Bytes received since the last complete message.
    unfinished: Vec<u8>,
}

impl Handshake {
    pub(crate) fn new(tool: Tool) -> Self {
        Self {
            tool,
            client: Transcript::default(),
            server: Transcript::default(),
        }
    }

    /// Processes bytes sent by `from`.
    ///
    /// # Errors
    /// The bytes do not belong to this handshake.
    pub(crate) fn receive(&mut self, from: Side, bytes: &[u8]) -> Result<Action, HandshakeError> {
        let last = self.last_exchange();
        let awaiting_last_reply = self.client.exchanges == last;
        match from {
            Side::Client if awaiting_last_reply => Err(unexpected(from, bytes)),
            Side::Client => {
                self.client.receive(from, bytes)?;
                Ok(Action::Forward)
            }
            Side::Server => {
                self.server.receive(from, bytes)?;
                Ok(match (awaiting_last_reply, self.server.exchanges == last) {
                    (true, true) => Action::Ready,
                    (true, false) => Action::Keep,
                    (false, _) => Action::Forward,
                })
            }
        }
    }

    /// Returns both QP addresses and the bytes that start the data; `None` before [`Action::Ready`] has been returned.
    pub(crate) fn into_ready(self) -> Option<ReadyPair> {
        let exact = self.version_is_known();
        let server_qp = self.server.address?;
        Some(ReadyPair {
            client_qp: self.client.address?,
            server_qp,
            held: self.server.line,
            exact,
        })
    }

    fn version_is_known(&self) -> bool {
        let known = |side: &Transcript| {
            side.version.as_deref().is_some_and(|version| {
                version.split(|byte| *byte == 0).next() == Some(KNOWN_VERSION.as_bytes())
            })
        };
        known(&self.client) && known(&self.server)
    }

    /// Returns the 1-based number of the QP address exchange in which the gate, the TCP proxy between client and
    /// server, holds back the server's reply.
    fn last_exchange(&self) -> u32 {
        match self.tool {
            _ if !self.version_is_known() => 1,
            Tool::SendBw => 4,
            Tool::WriteBw | Tool::ReadBw | Tool::Verbs => 3,
        }
    }
}

impl Transcript {
    fn receive(&mut self, side: Side, bytes: &[u8]) -> Result<(), HandshakeError> {
        self.unfinished.extend_from_slice(bytes);
        match keys(&self.unfinished) {
            Keys::Unfinished => return Ok(()),
            Keys::Line(address) => {
                self.exchanges += 1;
                self.address = Some(address);
                self.line = std::mem::take(&mut self.unfinished);
            }
            Keys::Not => {
                let message = std::mem::take(&mut self.unfinished);
                self.short_messages += 1;
                if self.exchanges > 0
                    || message.len() > MAX_SHORT_MESSAGE_BYTES
                    || self.short_messages > MAX_SHORT_MESSAGES
                {
                    return Err(unexpected(side, &message));
                }
                self.version.get_or_insert(message);
            }
        }
        Ok(())
    }
}

/// Interpretation of received bytes as a key line, perftest's text form of a QP address.
enum Keys {
    /// The bytes are a complete key line with this QP address.
    Line(QpAddress),
    /// The bytes are the beginning of a key line.
    Unfinished,
    /// The bytes are neither a key line nor the beginning of one.
    Not,
}

/// Parses a key line, perftest's text form of a QP address. Its length and form are fixed: every field is zero-padded
/// to its width, and no value can exceed that width (a QP number has 24 bits, an address 64).
fn keys(bytes: &[u8]) -> Keys {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'x' => byte.is_ascii_hexdigit(),
        other => byte == other,
    };
    if bytes.len() > KEYS_FORM.len() || !bytes.iter().zip(KEYS_FORM).all(fits) {
        return Keys::Not;
    }
    let field = |range: std::ops::Range<usize>| {
        let digits = str::from_utf8(bytes.get(range)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let gid_octet = |index: usize| {
        let start = GID_START + 3 * index;
        u8::try_from(field(start..start + 2)?).ok()
    };
    let mut gid = [0; 16];
    for (index, octet) in gid.iter_mut().enumerate() {
        match gid_octet(index) {
            Some(value) => *octet = value,
            None => return Keys::Unfinished,
        }
    }
    match field(QP_FIELD) {
        Some(qp) if bytes.len() == KEYS_FORM.len() => Keys::Line(QpAddress {
            qp: QpNumber(qp),
            gid: Ipv6Addr::from(gid),
        }),
        _ => Keys::Unfinished,
    }
}

fn unexpected(side: Side, bytes: &[u8]) -> HandshakeError {
    HandshakeError::Unexpected {
        side,
        len: bytes.len(),
        start: bytes[..bytes.len().min(QUOTED_BYTES)]
            .escape_ascii()
            .to_string(),
    }
}

/// Form of a key line, perftest's text form of a QP address, where `x` stands for any hexadecimal digit.
const KEYS_FORM: &[u8; KEYS_LEN] = b"xxxx:xxxx:xxxxxx:xxxxxx:xxxxxxxx:xxxxxxxxxxxxxxxx:\
    xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xx:xxxxxxxx:\0";

/// Length in bytes of a key line, perftest's text form of a QP address.
pub(crate) const KEYS_LEN: usize = 108;
const QP_FIELD: std::ops::Range<usize> = 10..16;
const GID_START: usize = 50;

/// Length in bytes of the version message, the longest message before the QP addresses.
const MAX_SHORT_MESSAGE_BYTES: usize = 16;
/// Maximum number of messages from one side before the QP addresses: version 6.06 sends four, and later versions may
/// send more.
const MAX_SHORT_MESSAGES: u32 = 16;
/// Maximum number of bytes that an error quotes from an unexpected message.
const QUOTED_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &[u8] = b"0000:0001:000011:128bbe:00000000:000055993c725e20:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:01:01:01:00000000:\0";
    const SERVER: &[u8] = b"0000:0001:000012:79d2ae:00000000:0000564b3d735e20:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:02:01:01:00000000:\0";
    const SHORT: [&[u8]; 3] = [b"\0\0\x10\0", b"\0\0\0@", b"5\0"];

    /// Returns a handshake in which both sides have sent `version`.
    fn begun(tool: Tool, version: &str) -> Handshake {
        let mut handshake = Handshake::new(tool);
        let mut message = version.as_bytes().to_vec();
        message.resize(16, 0);
        exchange(&mut handshake, &message);
        handshake
    }

    fn exchange(handshake: &mut Handshake, message: &[u8]) {
        for side in [Side::Client, Side::Server] {
            assert_eq!(handshake.receive(side, message), Ok(Action::Forward));
        }
    }

    /// Runs a handshake in which both sides take turns; returns the number of QP address exchanges until the handshake
    /// was ready, and the resulting [`ReadyPair`].
    fn run(tool: Tool, version: &str) -> (u32, ReadyPair) {
        let mut handshake = begun(tool, version);
        for message in SHORT {
            exchange(&mut handshake, message);
        }
        for exchange in 1..10 {
            assert_eq!(handshake.receive(Side::Client, CLIENT), Ok(Action::Forward));
            match handshake.receive(Side::Server, SERVER).unwrap() {
                Action::Forward => {}
                Action::Ready => return (exchange, handshake.into_ready().unwrap()),
                Action::Keep => panic!("the message was complete"),
            }
        }
        panic!("the handshake never became ready");
    }

    #[test]
    fn data_begins_after_the_exchange_that_was_recorded_for_each_tool() {
        for (tool, version, exchanges, is_exact) in [
            (Tool::SendBw, "6.06", 4, true),
            (Tool::WriteBw, "6.06", 3, true),
            (Tool::ReadBw, "6.06", 3, true),
            // For other versions, the reply is held back at the first keys.
            (Tool::SendBw, "6.20", 1, false),
        ] {
            let (at, ready) = run(tool, version);
            assert_eq!((at, ready.exact), (exchanges, is_exact), "{tool} {version}");
            assert_eq!(ready.held, SERVER);
        }
    }

    #[test]
    fn queue_pairs_and_gids_are_read_from_the_keys() {
        let (_, ready) = run(Tool::SendBw, "6.06");
        let address = |qp, gid: &str| QpAddress {
            qp: QpNumber(qp),
            gid: gid.parse().unwrap(),
        };
        assert_eq!(ready.client_qp, address(0x11, "::ffff:10.1.1.1"));
        assert_eq!(ready.server_qp, address(0x12, "::ffff:10.2.1.1"));
    }

    #[test]
    fn a_message_may_come_in_pieces() {
        let mut handshake = begun(Tool::ReadBw, "6.06");
        for _ in 0..2 {
            handshake.receive(Side::Client, CLIENT).unwrap();
            handshake.receive(Side::Server, SERVER).unwrap();
        }
        for half in CLIENT.chunks(50) {
            assert_eq!(handshake.receive(Side::Client, half), Ok(Action::Forward));
        }
        let (last, first) = SERVER.split_last().unwrap();
        for byte in first.chunks(1) {
            assert_eq!(handshake.receive(Side::Server, byte), Ok(Action::Keep));
        }
        assert_eq!(handshake.receive(Side::Server, &[*last]), Ok(Action::Ready));
        assert_eq!(handshake.into_ready().unwrap().held, SERVER);
    }

    #[test]
    fn garbage_is_named_with_its_sender() {
        let mut handshake = Handshake::new(Tool::SendBw);
        let garbage = b"HTTP/1.0 400 Bad Request\r\n";
        let error = handshake.receive(Side::Server, garbage).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unexpected handshake from the server: 26 bytes beginning with \
             `HTTP/1.0 400 Bad Request\\r\\n` (hint: the supported version of perftest is 6.06)"
        );
    }

    #[test]
    fn messages_out_of_turn_or_form_are_refused() {
        let mut out_of_turn = begun(Tool::SendBw, "1.0");
        out_of_turn.receive(Side::Client, CLIENT).unwrap();
        assert!(out_of_turn.receive(Side::Client, CLIENT).is_err());

        let mut endless = Handshake::new(Tool::SendBw);
        let error = (0..100).find_map(|_| endless.receive(Side::Client, b"\0").err());
        assert!(error.is_some());

        let mut longer = Handshake::new(Tool::SendBw);
        let keys = [CLIENT, b"x"].concat();
        assert!(longer.receive(Side::Client, &keys).is_err());
    }
}
