// Flow-cache garbage collection (section 3.1.2), the program's part: the time a flow was last seen.
//
// The agent removes entries whose `last_seen_ns` is older than the idle timeout (lab-policy's flow_gc::is_idle), and
// the least recently seen entries of a full table: the time is exact, not a tick's.
#ifndef LAB_FLOW_GC_BPF_H
#define LAB_FLOW_GC_BPF_H

#include "abi.h"

// Refreshes a flow's entry, so that garbage collection keeps it.
static __always_inline void mark_seen(struct flow_entry *entry, __u64 now)
{
	entry->last_seen_ns = now;
}

#endif
