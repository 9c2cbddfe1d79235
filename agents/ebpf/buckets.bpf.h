// Candidates of a decision, and the hash over their buckets, used by ECMP, WCMP, UCMP and traffic engineering.
#ifndef LAB_BUCKETS_BPF_H
#define LAB_BUCKETS_BPF_H

#include "abi.h"
#include "branch_free.bpf.h"
#include "maps.bpf.h"

// Copies the candidates, with the congestion and liveness of their ports, into the record; returns the number of live
// candidates.
static __always_inline __u64 observe(const struct destination *destination,
				     const struct switch_table *switch_table,
				     struct decision_record *record)
{
	__u64 count = destination->count, total = 0;

	record->count = count;
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		const struct candidate *candidate = &destination->candidates[i];
		struct scored_candidate *row = &record->candidates[i];
		__u32 port = candidate->port & (MAX_PORTS - 1);
		__u64 state = READ_ONCE(switch_table->ports[port].state);
		__u64 present = less(i, count);
		__u64 alive = present & state >> 63;

		total += alive;
		row->cost = 0;
		row->port = port & -present;
		row->path = candidate->path & -present;
		row->congestion = state >> 24 & 0xff & -present;
		row->flags = alive * CANDIDATE_ALIVE;
	}
	return total;
}

// Hashes over the buckets of the live candidates; under flow ageing each of the cheapest has one bucket. If `alike`
// is 1, or no live candidate has buckets, all live candidates have one bucket each. Returns the total number of
// buckets.
static __always_inline __u64 decide_by_buckets(const struct destination *destination, __u64 alike,
					       struct decision_record *record)
{
	__u16 *buckets = decision_of(record)->buckets;
	__u64 total = 0, begin = 0, port = 0, bucket, none;

	EACH_USED(i, record) {
		OPAQUE(i);
		__u64 alive = record->candidates[i].flags & CANDIDATE_ALIVE;

		__u64 weight = select(equal(record->cheapest, 0), destination->candidates[i].buckets,
				      record->cheapest >> i & 1);

		buckets[i] = alive * select(alike, 1, weight);
		total += buckets[i];
	}
	none = equal(total, 0);
	record->rule = select(none, RULE_HASH_ALL, record->rule);
	EACH_USED(i, record) {
		OPAQUE(i);
		__u64 alive = record->candidates[i].flags & CANDIDATE_ALIVE;

		buckets[i] = select(none, alive, buckets[i]);
		total += none * alive;
	}
	if (!total)
		return 0;
	bucket = record->hash % total;
	EACH_USED(i, record) {
		OPAQUE(i);
		__u64 end = begin + buckets[i];
		__u64 chosen = less(bucket, end) & (less(bucket, begin) ^ 1);

		port |= record->candidates[i].port & -chosen;
		record->candidates[i].flags |= less(begin, end) * CANDIDATE_KEPT;
		begin = end;
	}
	record->port = port;
	return total;
}

// Returns true if the control plane has not written or confirmed the tables for too long (section 5).
static __always_inline int tables_are_stale(const struct switch_table *switch_table, __u64 now)
{
	__u64 tables_at = READ_ONCE(switch_table->tables_at_ns);
	__u64 max_age = switch_table->params.max_table_age_ns;

	return max_age && (!tables_at || now > tables_at + max_age);
}

#endif
