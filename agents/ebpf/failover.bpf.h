// Fast failover (section 3.4): lab-policy's failover::trigger.
//
// One bit of a dead port's state is cleared, by carrier.bpf.h or the agent. Each flow pinned to the port is decided again by its
// own next packet, and its entry is overwritten in place; nothing is done per flow when the port dies.
#ifndef LAB_FAILOVER_BPF_H
#define LAB_FAILOVER_BPF_H

#include "abi.h"

// Returns true if the port is dead: flows pinned to it must be decided again.
static __always_inline int is_dead(const struct port *port)
{
	return !(port->state >> 63);
}

#endif
