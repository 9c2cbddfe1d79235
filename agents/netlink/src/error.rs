//! Errors of netlink requests.

use std::{fmt, io};

use netlink_packet_core::{NLM_F_ACK_TLVS, NLM_F_CAPPED, NetlinkBuffer, NlasIterator};

/// Error that the kernel reports for one message: an error number and, if given, its text.
#[derive(Debug)]
pub struct KernelError {
    errno: i32,
    text: Option<String>,
}

/// Failure of a netlink request, reported by the socket or by the kernel.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    #[error("netlink socket: {0}")]
    Socket(#[from] io::Error),
    /// The kernel refused the request.
    #[error("{0}")]
    Kernel(#[from] KernelError),
    #[error("cannot read the kernel's netlink answer: {0}")]
    Answer(String),
}

impl From<NetlinkError> for io::Error {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Socket(error) => error,
            error => Self::other(error),
        }
    }
}

impl KernelError {
    /// Returns the positive error number, as in `errno`.
    #[must_use]
    pub const fn errno(&self) -> i32 {
        self.errno
    }

    /// Parses an error or acknowledgement message; `None` for an acknowledgement.
    ///
    /// The payload is an error number, the refused message's header (the whole message unless capped), and attributes:
    /// <https://docs.kernel.org/userspace-api/netlink/intro.html#ext-ack>.
    pub(crate) fn of_message(message: &NetlinkBuffer<&[u8]>) -> Option<Self> {
        let refused = message
            .payload()
            .get(4..8)
            .and_then(<[u8]>::first_chunk)
            .map_or(HEADER, |n| u32::from_ne_bytes(*n) as usize);
        let skip = match message.flags() & NLM_F_CAPPED {
            0 => 4 + refused.next_multiple_of(4),
            _ => 4 + HEADER,
        };
        Self::parse(message, skip)
    }

    /// Parses the message that ends a listing; `None` if the listing is complete.
    ///
    /// The payload is a number, which is negative if the kernel aborted the listing, and attributes:
    /// <https://github.com/torvalds/linux/blob/v6.1/net/netlink/af_netlink.c>, `netlink_dump_done`.
    pub(crate) fn of_done(message: &NetlinkBuffer<&[u8]>) -> Option<Self> {
        Self::parse(message, 4)
    }

    /// Parses a message whose attributes start at the offset `attributes`; `None` if the message's number is 0, which
    /// means success.
    fn parse(message: &NetlinkBuffer<&[u8]>, attributes: usize) -> Option<Self> {
        let payload = message.payload();
        let number = payload.first_chunk().map_or(0, |n| i32::from_ne_bytes(*n));
        if number == 0 {
            return None;
        }
        let attributes = match message.flags() & NLM_F_ACK_TLVS {
            0 => &[][..],
            _ => payload.get(attributes..).unwrap_or_default(),
        };
        let text = NlasIterator::new(attributes)
            .flatten()
            .find(|attribute| attribute.kind() == NLMSGERR_ATTR_MSG)
            .map(|attribute| c_string(attribute.value()));
        Some(Self {
            errno: -number,
            text,
        })
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.errno).fmt(f)?;
        match &self.text {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for KernelError {}

/// Returns the text of an attribute up to its first zero byte.
#[must_use]
pub fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

const NLMSGERR_ATTR_MSG: u16 = 1;
/// Length of a message header.
const HEADER: usize = 16;
