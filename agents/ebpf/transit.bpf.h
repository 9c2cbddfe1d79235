// Packets on tunnels: only the first switch chooses, all others follow.
#ifndef LAB_TRANSIT_BPF_H
#define LAB_TRANSIT_BPF_H

#include "abi.h"
#include "flow_table.bpf.h"
#include "maps.bpf.h"

// Returns 1 if another datacenter's switch has chosen the tunnel of a packet.
static __always_inline int is_in_transit(const struct switch_params *params,
					 const struct flow_key *flow)
{
	return params->tunnels && !is_local(params, flow);
}

// Finds the egress port of a packet in transit. The link over which it arrives names its tunnel.
//
// Returns the slot of the port, UNREACHABLE or LEFT_TO_KERNEL.
static __always_inline int follow(struct __sk_buff *skb, const struct flow_key *flow,
				  const struct switch_table *switch_table, struct counters *count)
{
	struct transit_key key = {
		.src = flow->src & switch_table->params.local_mask,
		.dst = flow->dst & switch_table->params.local_mask,
		.ifindex = skb->ifindex,
	};
	struct prefix_key prefix = { .bits = 32, .addr = flow->dst };
	const __u32 *row = bpf_map_lookup_elem(&transits, &key);
	__u32 slot;

	if (!row && !bpf_map_lookup_elem(&destinations, &prefix)) {
		count->passed++;
		return LEFT_TO_KERNEL;
	}
	slot = row ? *row & (MAX_PORTS - 1) : 0;
	if (!row || is_dead(&switch_table->ports[slot])) {
		count->no_destination++;
		return UNREACHABLE;
	}
	return slot;
}

#endif
