// A switch program but for how it decides: maps, parsing, the flow table, forwarding, records.
//
// A program is one source that includes this and defines decide():
//
//	#include "switch.bpf.h"
//
//	static __always_inline __u64 decide(const struct switch_table *switch_table,
//					    const struct destination *destination,
//					    struct decision_record *record) { … }
//
// It is called for a flow's first packet, and for the first one after the flow's port has died; under
// UCMP also for one with which a flow outgrows its port.
// `record` has the time, the flow and its hash; decide() sets `rule` (a policy of a user's own sets
// RULE_OWN), sets `port` to the chosen candidate's slot, and returns how many candidates are alive:
// with 0 the packet is dropped. Three helpers do what most policies need:
//
//	observe()		copies the candidates into the record, with C_path, C_cong and whether
//				they are alive
//	decide_by_buckets()	the flow's hash over the candidates' buckets, or over all alike
//	tables_are_stale()	whether the destination's row is too old to be decided by
//
// switch.bpf.c is the agent's own program; examples/ has others. build.sh makes objects of them.
//
// A packet to a remote datacenter is forwarded by its flow's entry; a flow's first packet is decided
// and the flow is pinned. All else is left to the kernel: ARP, IPv6, local destinations, packets
// whose TTL ends here, and destinations no table row covers.
//
// Decisions are branch-free. BPF has no conditional move, so every comparison would be a branch, and
// eight candidates' branches multiply past what the verifier walks; OPAQUE keeps the compiler from
// turning the arithmetic back into branches.
//
// ECN bits pass through untouched: nothing but TTL, checksum and Ethernet addresses is written.
#ifndef LAB_SWITCH_BPF_H
#define LAB_SWITCH_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* Ethernet and IPv4 without options, then both ports. */
#define PARSED_BYTES (sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(__u32))
#define FRAGMENT_BITS 0x3fff /* more fragments, or an offset */
#define BTH_DEST_QP 4	     /* of the base transport header: one reserved byte, then 24 bits */

#define OPAQUE(x) asm volatile("" : "+r"(x))

// One pass over the candidates. Not unrolled, for eight copies of a body spill more than the stack
// holds; and with a counter the compiler cannot see through, or it would compare pointers instead,
// which the verifier cannot follow.
#define EACH_CANDIDATE(i) \
	_Pragma("clang loop unroll(disable)") \
	for (__u64 i = 0; i < MAX_CANDIDATES; i++)

// The least recently seen flow makes room for a new one when the table is full. With a plain hash
// table the new flow could not be pinned until the agent has cleaned up, and its packets would be
// spread over ports, which reorders them.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOW_TABLE_ENTRIES);
	__type(key, struct flow_key);
	__type(value, struct flow_entry);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_DESTINATIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix_key);
	__type(value, struct destination);
} destinations SEC(".maps");

// Mapped into the agent, which writes the ports' states there.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct switch_table);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

// Bytes that the datacenter's own hosts sent to each destination whose demand is counted.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_DESTINATIONS);
	__type(key, __u32);
	__type(value, __u64);
} demands SEC(".maps");

// Where a CPU makes up a decision: the stack is too small for it.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct decision_record);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} decisions SEC(".maps");

// Fills the record of a flow that is to be decided; returns 0 if nothing that leads to the
// destination is alive.
static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record);

// 1 if a < b, else 0, for a and b below 2^63.
static __always_inline __u64 less(__u64 a, __u64 b)
{
	__u64 borrow = (a - b) >> 63;

	OPAQUE(borrow);
	return borrow;
}

static __always_inline __u64 equal(__u64 a, __u64 b)
{
	return less(a ^ b, 1);
}

// a where bit is 1, b where it is 0.
static __always_inline __u64 select(__u64 bit, __u64 a, __u64 b)
{
	return b ^ ((a ^ b) & -bit);
}

static __always_inline __u32 rotate_left(__u32 value, int bits)
{
	return value << bits | value >> (32 - bits);
}

static __always_inline __u32 murmur3_word(__u32 hash, __u32 word)
{
	word *= 0xcc9e2d51;
	word = rotate_left(word, 15);
	word *= 0x1b873593;
	hash ^= word;
	hash = rotate_left(hash, 13);
	return hash * 5 + 0xe6546b64;
}

// MurmurHash3 over the numbers that addresses and ports stand for.
static __always_inline __u32 flow_hash(const struct flow_key *flow, __u32 seed)
{
	__u32 hash = seed;

	hash = murmur3_word(hash, bpf_ntohl(flow->src));
	hash = murmur3_word(hash, bpf_ntohl(flow->dst));
	hash = murmur3_word(hash, bpf_ntohs(flow->sport) | (__u32)bpf_ntohs(flow->dport) << 16);
	hash ^= 12;
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

// Copies the candidates into the record, with their ports' congestion and liveness; returns how many
// are alive.
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
		__u64 state = *(volatile const __u64 *)&switch_table->ports[port].state;
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

// The hash over the buckets of those alive, which are one for each of the cheapest where flows age, or
// over those alive if all count alike or none of them has buckets; returns how many there were.
static __always_inline __u64 decide_by_buckets(const struct destination *destination, __u64 alike,
					       struct decision_record *record)
{
	__u64 buckets[MAX_CANDIDATES], total = 0, begin = 0, port = 0, bucket, none;

	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 alive = record->candidates[i].flags & CANDIDATE_ALIVE;

		__u64 weight = select(equal(record->cheapest, 0), destination->candidates[i].buckets,
				      record->cheapest >> i & 1);

		buckets[i] = alive * select(alike, 1, weight);
		total += buckets[i];
	}
	none = equal(total, 0);
	record->rule = select(none, RULE_HASH_ALL, record->rule);
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 alive = record->candidates[i].flags & CANDIDATE_ALIVE;

		buckets[i] = select(none, alive, buckets[i]);
		total += none * alive;
	}
	if (!total)
		return 0;
	bucket = record->hash % total;
	EACH_CANDIDATE(i) {
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

// How many ages a flow to the destination that has sent so much has begun, and the candidates that are
// the cheapest for it, as bits.
static __always_inline __u64 age_of(const struct destination *destination, __u64 sent,
				    __u64 *cheapest)
{
	__u64 begun = 0;

	*cheapest = 0;
	_Pragma("clang loop unroll(disable)")
	for (__u64 i = 0; i < MAX_AGES; i++) {
		OPAQUE(i);
		const struct age *age = &destination->ages[i];
		__u64 has_begun = less(sent, (__u64)age->from_high << 32 | age->from_low) ^ 1;

		begun += has_begun;
		*cheapest = select(has_begun, age->cheapest, *cheapest);
	}
	return begun;
}

// Whether a pinned flow begins an age with a packet of so many bytes, and its next hop is none of the
// cheapest then. A flow's packets come in by one port, hence on one CPU, one after the other.
static __always_inline int has_outgrown(const struct flow_key *flow, const struct flow_entry *entry,
					__u64 bytes)
{
	struct prefix_key prefix = { .bits = 32, .addr = flow->dst };
	const struct destination *destination = bpf_map_lookup_elem(&destinations, &prefix);
	__u64 cheapest, is_cheap = 0;

	if (!destination)
		return 0;
	if (age_of(destination, entry->bytes, &cheapest) ==
	    age_of(destination, entry->bytes + bytes, &cheapest))
		return 0;
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 is_own = equal(destination->candidates[i].port, entry->port);

		is_cheap |= is_own & less(i, destination->count) & cheapest >> i;
	}
	return !is_cheap;
}

// Whether the control plane has not said for too long that the destinations' rows are right.
static __always_inline int tables_are_stale(const struct switch_table *switch_table, __u64 now)
{
	__u64 tables_at = *(volatile const __u64 *)&switch_table->tables_at_ns;
	__u64 most = switch_table->params.max_table_age_ns;

	return most && (!tables_at || now > tables_at + most);
}

// The destination QP of a RoCEv2 packet: it names the flow in the controller's terms.
static __always_inline __u32 dest_qp(struct __sk_buff *skb, const struct flow_key *flow)
{
	__u32 offset = sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr);
	__be32 qp;

	if (flow->proto != IPPROTO_UDP || flow->dport != bpf_htons(ROCE_PORT))
		return NO_QP;
	if (bpf_skb_load_bytes(skb, offset + BTH_DEST_QP, &qp, sizeof(qp)))
		return NO_QP;
	return bpf_ntohl(qp) & 0xffffff;
}

// Hands the record to the agent, which comes by itself; it is woken only when the ring fills up, and
// then once in many records: waking takes an interrupt, which costs more than the decision.
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

// Notes a packet of a pinned flow.
static __always_inline void see(struct flow_entry *entry, __u64 bytes, __u64 now)
{
	entry->last_seen_ns = now;
	__sync_fetch_and_add(&entry->packets, 1);
	__sync_fetch_and_add(&entry->bytes, bytes);
	if (entry->demand)
		count_demand(entry->demand, bytes);
}

// Decides a flow's first packet and pins the flow, or moves a flow whose port has died or that has
// outgrown it.
//
// Returns the port's slot, or what the packet's fate is as a negative number.
#define LEFT_TO_KERNEL -1
#define UNREACHABLE -2
static __always_inline int pin(struct __sk_buff *skb, const struct flow_key *flow,
			       struct flow_entry *entry, __u8 trigger,
			       const struct switch_table *switch_table, struct counters *count)
{
	const struct switch_params *params = &switch_table->params;
	__u64 now = bpf_ktime_get_ns();
	struct prefix_key prefix = { .bits = 32, .addr = flow->dst };
	struct destination *destination = bpf_map_lookup_elem(&destinations, &prefix);
	struct decision_record *record;
	__u32 zero = 0;

	if (!destination) {
		count->passed++;
		return LEFT_TO_KERNEL;
	}
	record = bpf_map_lookup_elem(&scratch, &zero);
	if (!record)
		return LEFT_TO_KERNEL;
	record->time_ns = now;
	record->flow = *flow;
	record->hash = flow_hash(flow, params->seed);
	record->trigger = trigger;
	record->cheapest = 0;
	if (params->ageing) {
		__u64 cheapest;

		age_of(destination, (entry ? entry->bytes : 0) + skb->len, &cheapest);
		record->cheapest = cheapest;
	}
	if (!decide(switch_table, destination, record)) {
		count->no_destination++;
		return UNREACHABLE;
	}
	record->dest_qp = dest_qp(skb, flow);

	if (entry) {
		entry->port = record->port;
		entry->decisions++;
		see(entry, skb->len, now);
		count->failovers += equal(trigger, TRIGGER_FAILOVER);
		count->outgrown += equal(trigger, TRIGGER_AGE);
	} else {
		__u64 is_local = equal(flow->src & params->local_mask, params->local_addr);
		struct flow_entry first = {
			.last_seen_ns = now,
			.packets = 1,
			.bytes = skb->len,
			.port = record->port,
			.demand = destination->demand & -is_local,
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

SEC("classifier")
int switch_ingress(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct switch_table *switch_table = bpf_map_lookup_elem(&table, &zero);
	struct counters *count = bpf_map_lookup_elem(&counters, &zero);
	void *data, *end;
	struct ethhdr *eth;
	struct iphdr *ip;
	struct flow_entry *entry;
	struct flow_key flow = {};
	const struct port *port;
	__u32 slot, check;
	__u8 trigger = TRIGGER_NEW_FLOW;

	if (!switch_table || !count)
		return TC_ACT_OK;
	count->received++;
	if (skb->protocol != bpf_htons(ETH_P_IP))
		goto pass;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (data + PARSED_BYTES > end) {
		// Not all of it is in the linear part, or the packet ends before.
		bpf_skb_pull_data(skb, skb->len < PARSED_BYTES ? skb->len : PARSED_BYTES);
		data = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
	}
	eth = data;
	ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5)
		goto pass;
	if (ip->ttl <= 1) {
		count->ttl_expired++;
		return TC_ACT_OK;
	}

	flow.src = ip->saddr;
	flow.dst = ip->daddr;
	flow.proto = ip->protocol;
	if ((flow.proto == IPPROTO_UDP || flow.proto == IPPROTO_TCP) &&
	    !(ip->frag_off & bpf_htons(FRAGMENT_BITS))) {
		__be16 *ports = (void *)(ip + 1);

		if ((void *)(ports + 2) > end)
			goto pass;
		flow.sport = ports[0];
		flow.dport = ports[1];
	}

	entry = bpf_map_lookup_elem(&flows, &flow);
	slot = entry ? entry->port & (MAX_PORTS - 1) : 0;
	if (entry) {
		if (!(switch_table->ports[slot].state >> 63))
			trigger = TRIGGER_FAILOVER;
		else if (switch_table->params.ageing && has_outgrown(&flow, entry, skb->len))
			trigger = TRIGGER_AGE;
	}
	if (entry && trigger == TRIGGER_NEW_FLOW) {
		// A tick is fine enough to tell who is idle, and costs a third of the exact time.
		see(entry, skb->len, bpf_ktime_get_coarse_ns());
		count->hits++;
	} else {
		int pinned = pin(skb, &flow, entry, trigger, switch_table, count);

		if (pinned < 0)
			return pinned == UNREACHABLE ? TC_ACT_SHOT : TC_ACT_OK;
		slot = pinned & (MAX_PORTS - 1);
	}
	port = &switch_table->ports[slot];

	// One hop: the checksum is updated for the TTL alone (RFC 1141).
	check = ip->check + bpf_htons(0x0100);
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	__builtin_memcpy(eth->h_source, port->src_mac, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, port->dst_mac, ETH_ALEN);
	return bpf_redirect(port->ifindex, 0);

pass:
	count->passed++;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";

#endif
