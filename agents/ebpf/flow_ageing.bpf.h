// UCMP's flow ageing: a flow past a size threshold is re-routed if its next hop is no longer among the
// cheapest.
#ifndef LAB_FLOW_AGEING_BPF_H
#define LAB_FLOW_AGEING_BPF_H

#include "abi.h"
#include "branch_free.bpf.h"
#include "maps.bpf.h"

// Returns the highest size threshold that a flow has reached with `sent` bytes, packed into one word: bits 0 to 15 are
// the set of its cheapest candidates, the bits above are its number, counted from 1. Returns 0 if no threshold is
// reached. Not inlined, so that the kernel verifies it only once.
__noinline __u64 threshold_reached(const struct destination *destination, __u64 sent)
{
	__u64 reached = 0;

	if (!destination)
		return 0;
	_Pragma("clang loop unroll(disable)")
	for (__u64 i = 0; i < MAX_SIZE_THRESHOLDS; i++) {
		OPAQUE(i);
		const struct size_threshold *threshold = &destination->size_thresholds[i];

		if (sent < ((__u64)threshold->from_high << 32 | threshold->from_low))
			break;
		reached = (i + 1) << 16 | threshold->cheapest;
	}
	return reached;
}

// Returns true if a packet of `bytes` takes a pinned flow to a size threshold from which its next hop is not among the
// cheapest. All packets of a flow arrive at one port, hence on one CPU.
static __always_inline int must_reroute(const struct flow_key *flow, const struct flow_entry *entry,
					__u64 bytes)
{
	struct prefix_key prefix = { .bits = 32, .addr = flow->dst };
	const struct destination *destination = bpf_map_lookup_elem(&destinations, &prefix);
	__u64 reached, is_cheap = 0;

	if (!destination)
		return 0;
	reached = threshold_reached(destination, entry->bytes + bytes);
	if (reached == threshold_reached(destination, entry->bytes))
		return 0;
	EACH_USED(i, destination) {
		OPAQUE(i);
		__u64 is_own = equal(destination->candidates[i].port, entry->port);

		is_cheap |= is_own & reached >> i;
	}
	return !is_cheap;
}

#endif
