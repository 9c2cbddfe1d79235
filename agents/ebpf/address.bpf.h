// Addresses as they are hashed.
#ifndef LAB_ADDRESS_BPF_H
#define LAB_ADDRESS_BPF_H

#include "abi.h"
#include "branch_free.bpf.h"

// Returns the address that `addr` has in a lab in slot 0, both in host byte order: lab-abi's without_slot. An address
// outside the labs' block is returned unchanged.
//
// It has no branch, because the verifier would walk all code after the branch once for each side.
static __always_inline __u32 without_slot(__u32 addr)
{
	return addr & ~(SLOT_BITS & -(__u32)equal(addr >> 24, LAB_NET));
}

#endif
