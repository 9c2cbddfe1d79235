// Fast failover (section 3.4): mirrors failover::trigger in lab-policy.
//
// A port dies when carrier.bpf.h or the agent clears one bit of its state. The next packet of each flow pinned to the
// port causes a new decision and overwrites the flow's entry in place; no work is done per flow when the port dies.
#ifndef LAB_FAILOVER_BPF_H
#define LAB_FAILOVER_BPF_H

#include "abi.h"

// Returns true if the port is dead, so that flows pinned to it need a new decision.
static __always_inline int is_dead(const struct port *port)
{
	return !(port->state >> 63);
}

#endif
