// User-defined policy after DRILL (Ghorbani et al., SIGCOMM '17) with d = 2 and m = 0: the flow's hash selects two live
// candidates, and the one whose egress port is less congested is chosen.
//
// DRILL decides for each packet within a datacenter's fabric. Between datacenters flows are pinned, so this program
// decides once per flow. It selects candidates like the Rust policy of the same name, which compares the times in which
// queues drain; this program compares C_cong, which the agent computes for every port.

#include "switch.bpf.h"

static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record)
{
	__u64 alive = observe(destination, switch_table, record), seen = 0;
	__u64 best = ~0ULL >> 1, port = 0, first, second;

	if (!alive)
		return 0;
	// The second candidate is selected among the others, so that two different candidates are compared if possible.
	first = record->hash % alive;
	second = alive > 1 ? (first + 1 + record->hash / alive % (alive - 1)) % alive : first;
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		struct scored_candidate *row = &record->candidates[i];
		__u64 is_alive = row->flags & CANDIDATE_ALIVE;
		__u64 is_first = is_alive & equal(seen, first);
		__u64 is_drawn = is_first | (is_alive & equal(seen, second));
		// If both are equally congested, the first selected one is chosen.
		__u64 score = row->congestion << 1 | (is_first ^ 1);
		__u64 is_better = is_drawn & less(score, best);

		best = select(is_better, score, best);
		port = select(is_better, row->port, port);
		row->cost = row->congestion;
		row->flags |= is_drawn * CANDIDATE_KEPT;
		seen += is_alive;
	}
	record->rule = RULE_OWN;
	record->port = port;
	return alive;
}
