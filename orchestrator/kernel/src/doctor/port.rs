//! The UDP port that SoftRoCE takes for all of a machine when its module is loaded.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    path::Path,
};

/// Of `RoCEv2`, by IANA.
pub(super) const ROCE: u16 = lab_abi::rows::ROCE_PORT;

/// Whether it is a program's, so that the module cannot take it: the kernel then says no more than
/// that there is no such device.
pub(super) fn is_a_programs() -> bool {
    !Path::new("/sys/module/rdma_rxe").exists() && is_taken(ROCE)
}

fn is_taken(port: u16) -> bool {
    let bound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port));
    bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_taken_while_a_program_listens_on_any_of_its_addresses() {
        let program = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = program.local_addr().unwrap().port();
        assert!(is_taken(port));
        drop(program);
        assert!(!is_taken(port));
    }
}
