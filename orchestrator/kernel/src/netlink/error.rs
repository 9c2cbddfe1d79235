//! What the kernel answers when it refuses.

use std::{fmt, io};

use rtnetlink::packet_core::{NLM_F_ACK_TLVS, NLM_F_CAPPED, NetlinkBuffer, NlasIterator};

/// The kernel's refusal of a message: an error number and, where it gives one, its own sentence.
#[derive(Debug)]
pub struct KernelError {
    errno: i32,
    text: Option<String>,
}

/// Why a conversation with the kernel failed.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// Sending or receiving failed.
    #[error("netlink socket: {0}")]
    Socket(#[from] io::Error),
    /// The kernel refused.
    #[error("{0}")]
    Kernel(#[from] KernelError),
    /// An answer that cannot be read.
    #[error("netlink answer cannot be read: {0}")]
    Answer(String),
}

impl KernelError {
    /// The number, as in `errno`.
    pub(crate) const fn errno(&self) -> i32 {
        self.errno
    }

    /// What an error or acknowledgement message says; `None` if it says that all is well.
    ///
    /// The message is a number, the refused message's header (all of the message unless capped),
    /// and attributes:
    /// <https://docs.kernel.org/userspace-api/netlink/intro.html#ext-ack>.
    pub(crate) fn of_message(message: &NetlinkBuffer<&[u8]>) -> Option<Self> {
        let payload = message.payload();
        let number = payload.first_chunk().map_or(0, |n| i32::from_ne_bytes(*n));
        if number == 0 {
            return None;
        }
        let refused = payload.get(4..8).and_then(<[u8]>::first_chunk);
        let refused = refused.map_or(HEADER, |n| u32::from_ne_bytes(*n) as usize);
        let skip = match message.flags() & NLM_F_CAPPED {
            0 => 4 + refused.next_multiple_of(4),
            _ => 4 + HEADER,
        };
        let attributes = match message.flags() & NLM_F_ACK_TLVS {
            0 => &[][..],
            _ => payload.get(skip..).unwrap_or_default(),
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

fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

const NLMSGERR_ATTR_MSG: u16 = 1;
/// Length of a message's header.
const HEADER: usize = 16;
