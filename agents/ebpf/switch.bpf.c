// The agent's switch program: decides by hash buckets or by LCMP; lab-policy is the reference for both.

#include "switch.bpf.h"

// Bits of a candidate's index, the lowest ones of its key.
#define INDEX_BITS 4
_Static_assert(MAX_CANDIDATES <= 1 << INDEX_BITS, "an index needs more bits of a key");

// Decides by LCMP's total cost (Eq. 1 and section 3.4), as lcmp::decide in lab-policy. At least one candidate must be
// alive.
//
// A candidate's rank is the number of candidates before it in the order (dead, cost, index). The kept candidates are the
// first in this order, so only their number is computed.
static __always_inline void decide_lcmp(const struct switch_params *params, __u64 alive,
					struct decision_record *record)
{
	__u64 artifact = params->artifact, keep = params->keep;
	__u64 congested = 0, half, least, cut = 0, kept = 0, none, place;
	__u64 *key = decision_of(record)->key, port = 0;
	__u8 *rank = decision_of(record)->rank;

	EACH_USED(i, record) {
		OPAQUE(i);
		struct scored_candidate *row = &record->candidates[i];
		__u64 is_alive = row->flags & CANDIDATE_ALIVE;
		__u64 cost = (__u64)params->alpha * row->path +
			     (__u64)params->beta * row->congestion;
		__u64 shifted = cost >> 2;

		shifted = select(less(255, shifted), 255, shifted);
		cost = select(artifact, shifted, cost);
		row->cost = cost;
		key[i] = (is_alive ^ 1) << 40 | (cost & 0xffffffff) << INDEX_BITS | i;
		congested += is_alive & (less(row->congestion, params->congested_threshold) ^ 1);
	}

	half = (alive + less(keep, KEEP_FLOOR)) >> 1;
	least = select(equal(keep, KEEP_FLOOR_OR_ALL), 2, 1);
	half = select(less(half, least), select(equal(least, 2), alive, 1), half);
	EACH_USED(i, record) {
		OPAQUE(i);
		__u64 own = key[i], before = 0;

		EACH_USED(j, record) {
			OPAQUE(j);
			before += less(key[j], own);
		}
		rank[i] = before;
		cut |= record->candidates[i].cost & -equal(before, half - 1);
	}
	EACH_USED(i, record) {
		OPAQUE(i);
		__u64 cost = record->candidates[i].cost;
		__u64 is_tie = equal(keep, KEEP_HALF) & equal(cost, cut);
		__u64 is_cheap = less(cost, params->drop_threshold) | (artifact ^ 1);

		kept += less(rank[i], alive) & (less(rank[i], half) | is_tie) & is_cheap;
	}
	none = select(artifact, equal(kept, 0), equal(congested, alive));
	kept = select(none, select(artifact, alive, 1), kept);
	record->rule = select(none, select(artifact, RULE_HASH_ALL, RULE_LEAST_COST), RULE_SCORED);

	place = record->hash % kept;
	EACH_USED(i, record) {
		OPAQUE(i);
		port |= record->candidates[i].port & -equal(rank[i], place);
		record->candidates[i].flags |= less(rank[i], kept) * CANDIDATE_KEPT;
	}
	record->port = port;
}

// Decides by buckets or LCMP, as the parameters select; if tables or signals are stale, by a hash over all candidates.
static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record)
{
	const struct switch_params *params = &switch_table->params;
	__u64 sampled_at = READ_ONCE(switch_table->sampled_at_ns);
	__u64 alive = observe(destination, switch_table, record);
	__u64 by_buckets = params->mechanism == MECHANISM_BUCKETS;
	__u64 stale = tables_are_stale(switch_table, record->time_ns);

	if (!by_buckets && params->stale_after_ns)
		stale |= record->time_ns > sampled_at + params->stale_after_ns;
	if (stale || by_buckets) {
		record->rule = stale ? RULE_STALE : RULE_HASH;
		return decide_by_buckets(destination, stale, record);
	}
	if (alive)
		decide_lcmp(params, alive, record);
	return alive;
}
