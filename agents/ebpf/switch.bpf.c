// The switch program of one DCI switch: tc ingress of all its ports.
//
// A packet to a remote datacenter is forwarded by its flow's entry; a flow's first packet is decided
// (lab-policy is the reference) and the flow is pinned. All else is left to the kernel: ARP, IPv6,
// local destinations, packets whose TTL ends here, and destinations no table row covers.
//
// Decisions are branch-free. BPF has no conditional move, so every comparison would be a branch, and
// eight candidates' branches multiply past what the verifier walks; OPAQUE keeps the compiler from
// turning the arithmetic back into branches.
//
// ECN bits pass through untouched: nothing but TTL, checksum and Ethernet addresses is written.

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

// The hash over the buckets of those alive, or over those alive if all count alike; returns how many
// buckets there were.
static __always_inline __u64 decide_by_buckets(const struct destination *destination, __u64 alike,
					       struct decision_record *record)
{
	__u64 buckets[MAX_CANDIDATES], total = 0, begin = 0, port = 0, bucket;

	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 alive = record->candidates[i].flags & CANDIDATE_ALIVE;

		buckets[i] = alive * select(alike, 1, destination->candidates[i].buckets);
		total += buckets[i];
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

// The candidate of the lowest costs: lab-policy's lcmp::decide, of which there must be one alive.
//
// A candidate's rank is the number of those before it in order of (dead, cost, place), and those
// kept are always the first ones in that order, so their number is all that is to be found out.
static __always_inline void decide_lcmp(const struct switch_params *params, __u64 alive,
					struct decision_record *record)
{
	__u64 artifact = params->artifact, congested = 0, half, cut = 0, kept = 0, none, place;
	__u64 key[MAX_CANDIDATES], rank[MAX_CANDIDATES], port = 0;

	EACH_CANDIDATE(i) {
		OPAQUE(i);
		struct scored_candidate *row = &record->candidates[i];
		__u64 is_alive = row->flags & CANDIDATE_ALIVE;
		__u64 cost = (__u64)params->alpha * row->path +
			     (__u64)params->beta * row->congestion;
		__u64 shifted = cost >> 2;

		shifted = select(less(255, shifted), 255, shifted);
		cost = select(artifact, shifted, cost);
		row->cost = cost;
		key[i] = (is_alive ^ 1) << 40 | (cost & 0xffffffff) << 3 | i;
		congested += is_alive & (less(row->congestion, params->congested_threshold) ^ 1);
	}

	half = alive >> 1;
	half = select(artifact, select(less(half, 2), alive, half), (alive + 1) >> 1);
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 own = key[i], before = 0;

#pragma unroll
		for (int j = 0; j < MAX_CANDIDATES; j++)
			before += less(key[j], own);
		rank[i] = before;
		cut |= record->candidates[i].cost & -equal(before, half - 1);
	}
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		__u64 cost = record->candidates[i].cost;
		__u64 by_cut = less(cut, cost) ^ 1;
		__u64 by_half = less(rank[i], half) & less(cost, params->drop_threshold);

		kept += less(rank[i], alive) & select(artifact, by_half, by_cut);
	}
	none = select(artifact, equal(kept, 0), equal(congested, alive));
	kept = select(none, select(artifact, alive, 1), kept);
	record->rule = select(none, select(artifact, RULE_HASH_ALL, RULE_LEAST_COST), RULE_SCORED);

	place = record->hash % kept;
	EACH_CANDIDATE(i) {
		OPAQUE(i);
		port |= record->candidates[i].port & -equal(rank[i], place);
		record->candidates[i].flags |= less(rank[i], kept) * CANDIDATE_KEPT;
	}
	record->port = port;
}

// Fills the record; returns 0 if nothing that leads to the destination is alive.
static __always_inline __u64 decide(const struct switch_table *switch_table,
				    const struct destination *destination,
				    struct decision_record *record)
{
	const struct switch_params *params = &switch_table->params;
	__u64 sampled_at = *(volatile const __u64 *)&switch_table->sampled_at_ns;
	__u64 alive = observe(destination, switch_table, record);

	if (params->mechanism == MECHANISM_BUCKETS) {
		record->rule = RULE_HASH;
		return decide_by_buckets(destination, 0, record);
	}
	if (params->stale_after_ns && record->time_ns > sampled_at + params->stale_after_ns) {
		record->rule = RULE_STALE;
		return decide_by_buckets(destination, 1, record);
	}
	if (alive)
		decide_lcmp(params, alive, record);
	return alive;
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

// Hands the record to the agent, which comes by itself; it is woken only when the ring fills up.
static __always_inline void publish(const struct decision_record *record, struct counters *count)
{
	__u64 wake = bpf_ringbuf_query(&decisions, BPF_RB_AVAIL_DATA) >= RING_WAKE_BYTES
			     ? BPF_RB_FORCE_WAKEUP
			     : BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_output(&decisions, (void *)record, sizeof(*record), wake))
		count->records_lost++;
}

// Decides a flow's first packet and pins the flow, or moves a flow whose port has died.
//
// Returns the port's slot, or what the packet's fate is as a negative number.
#define LEFT_TO_KERNEL -1
#define UNREACHABLE -2
static __always_inline int pin(struct __sk_buff *skb, const struct flow_key *flow,
			       struct flow_entry *entry, const struct switch_table *switch_table,
			       struct counters *count, __u64 now)
{
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
	record->hash = flow_hash(flow, switch_table->params.seed);
	record->pad = 0;
	record->trigger = entry ? TRIGGER_FAILOVER : TRIGGER_NEW_FLOW;
	if (!decide(switch_table, destination, record)) {
		count->no_destination++;
		return UNREACHABLE;
	}
	record->dest_qp = dest_qp(skb, flow);

	if (entry) {
		entry->port = record->port;
		entry->decisions++;
		entry->last_seen_ns = now;
		__sync_fetch_and_add(&entry->packets, 1);
		__sync_fetch_and_add(&entry->bytes, skb->len);
		count->failovers++;
	} else {
		struct flow_entry first = {
			.last_seen_ns = now,
			.packets = 1,
			.bytes = skb->len,
			.port = record->port,
			.decisions = 1,
		};

		count->new_flows++;
		if (bpf_map_update_elem(&flows, flow, &first, BPF_ANY))
			count->not_pinned++;
	}
	if (record->rule >= RULE_LEAST_COST)
		count->fallbacks++;
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
	__u64 now;
	__u32 slot, check;

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

	now = bpf_ktime_get_ns();
	entry = bpf_map_lookup_elem(&flows, &flow);
	slot = entry ? entry->port & (MAX_PORTS - 1) : 0;
	if (entry && switch_table->ports[slot].state >> 63) {
		entry->last_seen_ns = now;
		__sync_fetch_and_add(&entry->packets, 1);
		__sync_fetch_and_add(&entry->bytes, skb->len);
		count->hits++;
	} else {
		int pinned = pin(skb, &flow, entry, switch_table, count, now);

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
