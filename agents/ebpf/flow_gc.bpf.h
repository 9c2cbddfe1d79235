// Flow-cache garbage collection (section 3.1.2), the program's part: it records when a flow was last seen.
//
// The agent removes entries whose `last_seen_ns` is older than the idle timeout (flow_gc::is_idle in lab-policy) and the
// least recently seen entries of a full table. The time is therefore exact, not rounded to a tick.
#ifndef LAB_FLOW_GC_BPF_H
#define LAB_FLOW_GC_BPF_H

#include "abi.h"

// Refreshes a flow's entry so that garbage collection keeps it.
static __always_inline void mark_seen(struct flow_entry *entry, __u64 now)
{
	entry->last_seen_ns = now;
}

#endif
