// Addresses in the form that is hashed.
#ifndef LAB_ADDRESS_BPF_H
#define LAB_ADDRESS_BPF_H

#include "abi.h"
#include "branch_free.bpf.h"

// Returns the address that `addr` would have in a lab in slot 0, both in host byte order: without_slot in lab-abi. An
// address outside the labs' block is returned unchanged.
//
// There is no branch, because the verifier would check all code after the branch once for each side.
static __always_inline __u32 without_slot(__u32 addr)
{
	return addr & ~(SLOT_BITS & -(__u32)equal(addr >> 24, LAB_NET));
}

#endif
