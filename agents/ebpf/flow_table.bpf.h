// Flow table (section 3.1.2): counts packets of pinned flows, makes decisions for new flows and pins them.
#ifndef LAB_FLOW_TABLE_BPF_H
#define LAB_FLOW_TABLE_BPF_H

#include "abi.h"
#include "branch_free.bpf.h"
#include "failover.bpf.h"
#include "flow_ageing.bpf.h"
#include "flow_gc.bpf.h"
#include "maps.bpf.h"
#include "parse.bpf.h"

// Fills the decision record of a flow; returns 0 if no candidate is alive.
static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record);

// Calls decide(). The kernel verifies a global function once, and not for every state of its callers.
__noinline __u64 decide_verified_once(const struct switch_table *switch_table,
				      const struct destination *destination,
				      struct decision *decision)
{
	if (!switch_table || !destination || !decision)
		return 0;
	return decide(switch_table, destination, &decision->record);
}

// Submits the record to the agent, which polls the ring buffer. The agent is woken only when the ring fills up, and then
// once for many records: a wake-up is an interrupt, which costs more than a decision.
static __always_inline void publish(const struct decision_record *record, struct counters *count)
{
	__u64 filled = bpf_ringbuf_query(&decisions, BPF_RB_AVAIL_DATA);
	__u64 past_step = filled & (RING_WAKE_STEP - 1);
	__u64 wake = filled >= RING_WAKE_BYTES && past_step < sizeof(*record) + BPF_RINGBUF_HDR_SZ
			     ? BPF_RB_FORCE_WAKEUP
			     : BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&decisions, (void *)record, sizeof(*record), wake))
		count->records_lost++;
}

static __always_inline void count_demand(__u32 demand, __u64 bytes)
{
	__u32 row = demand - 1;
	__u64 *sum = bpf_map_lookup_elem(&demands, &row);

	if (sum)
		*sum += bytes;
}

// Counts a packet of a pinned flow.
static __always_inline void count_packet(struct flow_entry *entry, __u64 bytes, __u64 now)
{
	mark_seen(entry, now);
	__sync_fetch_and_add(&entry->packets, 1);
	__sync_fetch_and_add(&entry->bytes, bytes);
	if (entry->demand)
		count_demand(entry->demand, bytes);
}

// Returns the age of the latest sample of the ports' congestion; 0 if the sample was taken after `now`.
static __always_inline __u64 signal_age(const struct switch_table *switch_table, __u64 now)
{
	__u64 sampled_at = READ_ONCE(switch_table->sampled_at_ns);

	return (now - sampled_at) & -less(sampled_at, now);
}

#define LEFT_TO_KERNEL -1
#define UNREACHABLE -2

// Returns 1 if a packet comes from the datacenter's own hosts, whose demand is counted.
static __always_inline __u64 is_local(const struct switch_params *params, const struct flow_key *flow)
{
	return equal(flow->src & params->local_mask, params->local_addr);
}

// Forwards a packet to a destination with a single candidate, without a decision and without pinning the flow.
//
// Returns the slot of the port, or UNREACHABLE.
static __always_inline int forward_to_only(struct __sk_buff *skb, const struct flow_key *flow,
					   const struct destination *destination,
					   const struct switch_table *switch_table,
					   struct counters *count)
{
	__u32 slot = destination->candidates[0].port & (MAX_PORTS - 1);

	if (is_dead(&switch_table->ports[slot])) {
		count->no_destination++;
		return UNREACHABLE;
	}
	if (destination->demand && is_local(&switch_table->params, flow))
		count_demand(destination->demand, skb->len);
	return slot;
}

// Chooses a candidate for a packet and pins its flow. `entry` is null for a new flow; otherwise it is overwritten.
//
// Returns the slot of the port, UNREACHABLE or LEFT_TO_KERNEL.
static __always_inline int pin(struct __sk_buff *skb, const struct flow_key *flow,
			       struct flow_entry *entry, __u8 trigger,
			       const struct switch_table *switch_table, struct counters *count,
			       __u64 now)
{
	const struct switch_params *params = &switch_table->params;
	struct prefix_key prefix = { .bits = 32, .addr = flow->dst };
	struct destination *destination = bpf_map_lookup_elem(&destinations, &prefix);
	struct decision *decision;
	struct decision_record *record;
	__u32 zero = 0;

	if (!destination) {
		count->passed++;
		return LEFT_TO_KERNEL;
	}
	if (!entry && destination->count == 1)
		return forward_to_only(skb, flow, destination, switch_table, count);
	decision = bpf_map_lookup_elem(&scratch, &zero);
	if (!decision)
		return LEFT_TO_KERNEL;
	record = &decision->record;
	record->time_ns = now;
	record->signal_age_ns = signal_age(switch_table, now);
	record->flow = *flow;
	record->hash = flow_hash(flow, params->seed);
	record->trigger = trigger;
	record->cheapest = 0;
	if (params->flow_ageing)
		record->cheapest = threshold_reached(destination,
						     (entry ? entry->bytes : 0) + skb->len);
	if (!decide_verified_once(switch_table, destination, decision)) {
		count->no_destination++;
		return UNREACHABLE;
	}
	record->dest_qp = dest_qp(skb, flow);
	record->psn = psn(skb, flow);

	if (entry) {
		entry->port = record->port;
		entry->decisions++;
		count_packet(entry, skb->len, now);
		count->failovers += equal(trigger, TRIGGER_FAILOVER);
		count->aged += equal(trigger, TRIGGER_FLOW_AGEING);
	} else {
		struct flow_entry first = {
			.last_seen_ns = now,
			.packets = 1,
			.bytes = skb->len,
			.port = record->port,
			.demand = destination->demand & -is_local(params, flow),
			.decisions = 1,
		};

		count->new_flows++;
		if (first.demand)
			count_demand(first.demand, skb->len);
		if (bpf_map_update_elem(&flows, flow, &first, BPF_ANY))
			count->not_pinned++;
	}
	count->stale += equal(record->rule, RULE_STALE);
	count->fallbacks += equal(record->rule, RULE_LEAST_COST) |
			    equal(record->rule, RULE_HASH_ALL) | equal(record->rule, RULE_STALE);
	publish(record, count);
	return record->port;
}

#endif
