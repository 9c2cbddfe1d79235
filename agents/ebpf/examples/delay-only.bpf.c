// User-defined policy: the live candidate of least one-way delay, regardless of its capacity and queue. All flows to a
// destination take one path until it dies.
//
// The control plane lists candidates by increasing delay, so the first live candidate has the least delay.

#include "switch.bpf.h"

static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record)
{
	__u64 alive = observe(destination, switch_table, record), seen = 0, port = 0;

	EACH_CANDIDATE(i) {
		OPAQUE(i);
		struct scored_candidate *row = &record->candidates[i];
		__u64 is_alive = row->flags & CANDIDATE_ALIVE;
		__u64 is_first = is_alive & equal(seen, 0);

		port |= row->port & -is_first;
		row->flags |= is_first * CANDIDATE_KEPT;
		seen += is_alive;
	}
	record->rule = RULE_OWN;
	record->port = port;
	return alive;
}
