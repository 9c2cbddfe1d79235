// Fast failover (section 3.4), the kernel's part: a port is dead as soon as its link loses carrier.
//
// A program runs wherever the kernel turns off an interface's carrier, before the call that cuts the link
// returns. A kernel function calls at most 38 programs, so there are two of them at two functions: an agent attaches the
// second if the first function has no room (BPF_MAX_TRAMP_LINKS, include/linux/bpf.h). So neither a notification nor a wake-up of the agent lies between a cut and its first failover. Only the
// agent revives the port. On a kernel without BTF, neither can be loaded and only the agent marks dead
// ports.
#ifndef LAB_CARRIER_BPF_H
#define LAB_CARRIER_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "maps.bpf.h"

// Members of a kernel structure that are read, at the offsets of the running kernel.
struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	unsigned long state;
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

// Bit of an interface's state without carrier, __LINK_STATE_NOCARRIER.
// https://github.com/torvalds/linux/blob/v6.1/include/linux/netdevice.h#L303
#define NO_CARRIER (1UL << 2)

// Marks the port of an interface dead and empties its virtual queue, because the kernel purges the real queue.
static __always_inline void mark_dead(struct switch_table *switch_table, __u32 ifindex)
{
	for (int slot = 0; slot < MAX_PORTS; slot++) {
		struct port *port = &switch_table->ports[slot];

		if (port->ifindex == ifindex) {
			__sync_fetch_and_and(&port->state, ~PORT_ALIVE);
			switch_table->queues[slot].busy_until_ns = 0;
		}
	}
}

static __always_inline void lose_carrier(const struct net_device *device)
{
	__u32 zero = 0;
	struct switch_table *switch_table = bpf_map_lookup_elem(&table, &zero);

	if (switch_table && switch_table->netns == device->nd_net.net->ns.inum)
		mark_dead(switch_table, device->ifindex);
}

SEC("fentry/netif_carrier_off")
int carrier_off(__u64 *context)
{
	lose_carrier((const void *)context[0]);
	return 0;
}

// netif_carrier_off() and netif_carrier_on() call this function once they have changed the interface's state.
SEC("fentry/linkwatch_fire_event")
int carrier_event(__u64 *context)
{
	const struct net_device *device = (const void *)context[0];

	if (device->state & NO_CARRIER)
		lose_carrier(device);
	return 0;
}

#endif
