// Generated from the crate lab-abi; do not edit.
// After a change of its rows: UPDATE_ABI_H=1 cargo test -p lab-abi --test abi_h
#ifndef LAB_ABI_H
#define LAB_ABI_H

#include <linux/types.h>

#define MAX_CANDIDATES 8
#define MAX_AGES 17
#define MAX_PORTS 64
#define MAX_DESTINATIONS 1024
#define MAX_FLOW_TABLE_ENTRIES 50000
#define RING_BYTES 524288
#define RING_WAKE_BYTES 131072
#define RING_WAKE_STEP 16384
#define PORT_ALIVE 0x8000000000000000ULL
#define MECHANISM_BUCKETS 0
#define MECHANISM_LCMP 1
#define CANDIDATE_ALIVE 1
#define CANDIDATE_KEPT 2
#define NO_QP 0xffffffffU
#define ROCE_PORT 4791
#define TRIGGER_NEW_FLOW 0 // It is the first of its flow.
#define TRIGGER_FAILOVER 1 // Its flow's port had died.
#define TRIGGER_AGE 2 // It has sent so much that its next hop is none of the cheapest any more.
#define RULE_HASH 0 // Buckets: the hash over the live candidates' buckets.
#define RULE_SCORED 1 // LCMP: the hash over the cheaper half.
#define RULE_LEAST_COST 2 // LCMP, `paper`: all highly congested, so the cheapest.
#define RULE_HASH_ALL 3 // LCMP, `artifact`: none left, so the hash over all.
#define RULE_STALE 4 // Without fresh tables, or LCMP without fresh signals: the hash over all.
#define RULE_OWN 5 // By a policy of the user's own.

// A flow: the five-tuple, ports 0 for a protocol without ports and for fragments.
struct flow_key {
	// Source address, in network byte order.
	__u32 src;
	// Destination address, in network byte order.
	__u32 dst;
	// Source port, in network byte order.
	__u16 sport;
	// Destination port, in network byte order.
	__u16 dport;
	// IP protocol.
	__u8 proto;
	// Zero.
	__u8 pad[3];
};
_Static_assert(sizeof(struct flow_key) == 16, "flow_key");
_Static_assert(__builtin_offsetof(struct flow_key, src) == 0, "flow_key.src");
_Static_assert(__builtin_offsetof(struct flow_key, dst) == 4, "flow_key.dst");
_Static_assert(__builtin_offsetof(struct flow_key, sport) == 8, "flow_key.sport");
_Static_assert(__builtin_offsetof(struct flow_key, dport) == 10, "flow_key.dport");
_Static_assert(__builtin_offsetof(struct flow_key, proto) == 12, "flow_key.proto");
_Static_assert(__builtin_offsetof(struct flow_key, pad) == 13, "flow_key.pad");

// Where a flow is pinned to: with its key 48 bytes, where the paper counts 24, for the key is
// the whole five-tuple and packets, bytes and decisions are counted for telemetry.
struct flow_entry {
	// Time of its latest packet, to a tick of the kernel's timer; a decision's is exact.
	__u64 last_seen_ns;
	// Packets forwarded.
	__u64 packets;
	// Bytes forwarded, Ethernet header included.
	__u64 bytes;
	// The egress port's slot.
	__u16 port;
	// The row of `demands` its bytes count in, from 1 on; 0: in none.
	__u16 demand;
	// Decisions made for it: more than one after a failover.
	__u32 decisions;
};
_Static_assert(sizeof(struct flow_entry) == 32, "flow_entry");
_Static_assert(__builtin_offsetof(struct flow_entry, last_seen_ns) == 0, "flow_entry.last_seen_ns");
_Static_assert(__builtin_offsetof(struct flow_entry, packets) == 8, "flow_entry.packets");
_Static_assert(__builtin_offsetof(struct flow_entry, bytes) == 16, "flow_entry.bytes");
_Static_assert(__builtin_offsetof(struct flow_entry, port) == 24, "flow_entry.port");
_Static_assert(__builtin_offsetof(struct flow_entry, demand) == 26, "flow_entry.demand");
_Static_assert(__builtin_offsetof(struct flow_entry, decisions) == 28, "flow_entry.decisions");

// A destination prefix, in the layout of `BPF_MAP_TYPE_LPM_TRIE` keys.
struct prefix_key {
	// Leading bits that count.
	__u32 bits;
	// The address, in network byte order.
	__u32 addr;
};
_Static_assert(sizeof(struct prefix_key) == 8, "prefix_key");
_Static_assert(__builtin_offsetof(struct prefix_key, bits) == 0, "prefix_key.bits");
_Static_assert(__builtin_offsetof(struct prefix_key, addr) == 4, "prefix_key.addr");

// A next hop of a destination.
struct candidate {
	// The egress port's slot.
	__u32 port;
	// Hash buckets of it, for the bucket mechanism.
	__u16 buckets;
	// C_path.
	__u8 path;
	// Zero.
	__u8 pad;
};
_Static_assert(sizeof(struct candidate) == 8, "candidate");
_Static_assert(__builtin_offsetof(struct candidate, port) == 0, "candidate.port");
_Static_assert(__builtin_offsetof(struct candidate, buckets) == 4, "candidate.buckets");
_Static_assert(__builtin_offsetof(struct candidate, path) == 6, "candidate.path");
_Static_assert(__builtin_offsetof(struct candidate, pad) == 7, "candidate.pad");

// From so many bytes on, a flow's cheapest next hops. The halves are apart for a row to need no
// more alignment than the kernel's prefix table gives.
struct age {
	// The lower half of the bytes a flow has sent.
	__u32 from_low;
	// The upper half.
	__u32 from_high;
	// Bit n: the candidate at n is one of them.
	__u8 cheapest;
	// Zero.
	__u8 pad[3];
};
_Static_assert(sizeof(struct age) == 12, "age");
_Static_assert(__builtin_offsetof(struct age, from_low) == 0, "age.from_low");
_Static_assert(__builtin_offsetof(struct age, from_high) == 4, "age.from_high");
_Static_assert(__builtin_offsetof(struct age, cheapest) == 8, "age.cheapest");
_Static_assert(__builtin_offsetof(struct age, pad) == 9, "age.pad");

// The next hops of a destination, nearest first.
struct destination {
	// Rows in use.
	__u32 count;
	// The row of `demands` that what this datacenter's hosts send there counts in, from 1 on; 0:
	// it is not counted.
	__u32 demand;
	// The next hops.
	struct candidate candidates[8];
	// Where flows age, the ages of one that goes there, in order; else, and behind the last, rows
	// that never begin.
	struct age ages[17];
};
_Static_assert(sizeof(struct destination) == 276, "destination");
_Static_assert(__builtin_offsetof(struct destination, count) == 0, "destination.count");
_Static_assert(__builtin_offsetof(struct destination, demand) == 4, "destination.demand");
_Static_assert(__builtin_offsetof(struct destination, candidates) == 8, "destination.candidates");
_Static_assert(__builtin_offsetof(struct destination, ages) == 72, "destination.ages");

// An egress port.
struct port {
	// The port's state in one word, so that it is read and written whole: Q in the low byte,
	// then T, D and C_cong, and PORT_ALIVE.
	__u64 state;
	// Its interface.
	__u32 ifindex;
	// Source address of frames leaving it.
	__u8 src_mac[6];
	// Destination address of frames leaving it.
	__u8 dst_mac[6];
};
_Static_assert(sizeof(struct port) == 24, "port");
_Static_assert(__builtin_offsetof(struct port, state) == 0, "port.state");
_Static_assert(__builtin_offsetof(struct port, ifindex) == 8, "port.ifindex");
_Static_assert(__builtin_offsetof(struct port, src_mac) == 12, "port.src_mac");
_Static_assert(__builtin_offsetof(struct port, dst_mac) == 18, "port.dst_mac");

// How to decide; the weights and thresholds may be written while the program is at work.
struct switch_params {
	// With signals older than this LCMP falls back to a hash over all; 0: they never age.
	__u64 stale_after_ns;
	// With tables older than this, or none yet, every policy falls back to a hash over all; 0:
	// they never age.
	__u64 max_table_age_ns;
	// α.
	__u32 alpha;
	// β.
	__u32 beta;
	// Seed of the flow hash.
	__u32 seed;
	// MECHANISM_BUCKETS or MECHANISM_LCMP.
	__u32 mechanism;
	// 1 for the preset `artifact`.
	__u32 artifact;
	// `paper`: C_cong from which a port counts as highly congested.
	__u32 congested_threshold;
	// `artifact`: cost from which a kept candidate is dropped.
	__u32 drop_threshold;
	// The first address of the datacenter's own hosts, in network byte order.
	__u32 local_addr;
	// The bits of an address that say whether it is one of them, in network byte order.
	__u32 local_mask;
	// 1: a flow that has outgrown its next hop is decided again, by the destination's ages.
	__u32 ageing;
};
_Static_assert(sizeof(struct switch_params) == 56, "switch_params");
_Static_assert(__builtin_offsetof(struct switch_params, stale_after_ns) == 0, "switch_params.stale_after_ns");
_Static_assert(__builtin_offsetof(struct switch_params, max_table_age_ns) == 8, "switch_params.max_table_age_ns");
_Static_assert(__builtin_offsetof(struct switch_params, alpha) == 16, "switch_params.alpha");
_Static_assert(__builtin_offsetof(struct switch_params, beta) == 20, "switch_params.beta");
_Static_assert(__builtin_offsetof(struct switch_params, seed) == 24, "switch_params.seed");
_Static_assert(__builtin_offsetof(struct switch_params, mechanism) == 28, "switch_params.mechanism");
_Static_assert(__builtin_offsetof(struct switch_params, artifact) == 32, "switch_params.artifact");
_Static_assert(__builtin_offsetof(struct switch_params, congested_threshold) == 36, "switch_params.congested_threshold");
_Static_assert(__builtin_offsetof(struct switch_params, drop_threshold) == 40, "switch_params.drop_threshold");
_Static_assert(__builtin_offsetof(struct switch_params, local_addr) == 44, "switch_params.local_addr");
_Static_assert(__builtin_offsetof(struct switch_params, local_mask) == 48, "switch_params.local_mask");
_Static_assert(__builtin_offsetof(struct switch_params, ageing) == 52, "switch_params.ageing");

// All of a switch but its flows and destinations: one value, so that one lookup finds it.
struct switch_table {
	// How to decide.
	struct switch_params params;
	// When the ports' congestion was last sampled.
	__u64 sampled_at_ns;
	// When the control plane last said that the destinations' rows are right; 0: never.
	__u64 tables_at_ns;
	// Flows that agents took out of the flow table because they were idle.
	__u64 expired;
	// Flows that the kernel evicted from a full flow table, as agents found.
	__u64 evicted;
	// The ports by slot.
	struct port ports[64];
};
_Static_assert(sizeof(struct switch_table) == 1624, "switch_table");
_Static_assert(__builtin_offsetof(struct switch_table, params) == 0, "switch_table.params");
_Static_assert(__builtin_offsetof(struct switch_table, sampled_at_ns) == 56, "switch_table.sampled_at_ns");
_Static_assert(__builtin_offsetof(struct switch_table, tables_at_ns) == 64, "switch_table.tables_at_ns");
_Static_assert(__builtin_offsetof(struct switch_table, expired) == 72, "switch_table.expired");
_Static_assert(__builtin_offsetof(struct switch_table, evicted) == 80, "switch_table.evicted");
_Static_assert(__builtin_offsetof(struct switch_table, ports) == 88, "switch_table.ports");

// Packets and decisions of one CPU.
struct counters {
	// Frames received.
	__u64 received;
	// Packets forwarded by their flow's entry.
	__u64 hits;
	// Flows decided for the first time.
	__u64 new_flows;
	// Flows decided again because their port had died.
	__u64 failovers;
	// Flows decided again because they had outgrown their port.
	__u64 outgrown;
	// Decisions by a fallback rule.
	__u64 fallbacks;
	// Those of them for want of fresh tables or signals.
	__u64 stale;
	// Frames left to the kernel: not IPv4, with IP options, or to no known destination.
	__u64 passed;
	// Packets left to the kernel because their TTL ends here.
	__u64 ttl_expired;
	// Packets dropped because their destination had no live candidate.
	__u64 no_destination;
	// Flows that could not be entered in the flow table; each of their packets is decided.
	__u64 not_pinned;
	// Decisions the ring buffer had no room for.
	__u64 records_lost;
};
_Static_assert(sizeof(struct counters) == 96, "counters");
_Static_assert(__builtin_offsetof(struct counters, received) == 0, "counters.received");
_Static_assert(__builtin_offsetof(struct counters, hits) == 8, "counters.hits");
_Static_assert(__builtin_offsetof(struct counters, new_flows) == 16, "counters.new_flows");
_Static_assert(__builtin_offsetof(struct counters, failovers) == 24, "counters.failovers");
_Static_assert(__builtin_offsetof(struct counters, outgrown) == 32, "counters.outgrown");
_Static_assert(__builtin_offsetof(struct counters, fallbacks) == 40, "counters.fallbacks");
_Static_assert(__builtin_offsetof(struct counters, stale) == 48, "counters.stale");
_Static_assert(__builtin_offsetof(struct counters, passed) == 56, "counters.passed");
_Static_assert(__builtin_offsetof(struct counters, ttl_expired) == 64, "counters.ttl_expired");
_Static_assert(__builtin_offsetof(struct counters, no_destination) == 72, "counters.no_destination");
_Static_assert(__builtin_offsetof(struct counters, not_pinned) == 80, "counters.not_pinned");
_Static_assert(__builtin_offsetof(struct counters, records_lost) == 88, "counters.records_lost");

// A candidate as it was seen by a decision.
struct scored_candidate {
	// C, the total cost; 0 where the rule does not compute it.
	__u32 cost;
	// The egress port's slot.
	__u8 port;
	// C_path.
	__u8 path;
	// C_cong.
	__u8 congestion;
	// CANDIDATE_ALIVE, CANDIDATE_KEPT.
	__u8 flags;
};
_Static_assert(sizeof(struct scored_candidate) == 8, "scored_candidate");
_Static_assert(__builtin_offsetof(struct scored_candidate, cost) == 0, "scored_candidate.cost");
_Static_assert(__builtin_offsetof(struct scored_candidate, port) == 4, "scored_candidate.port");
_Static_assert(__builtin_offsetof(struct scored_candidate, path) == 5, "scored_candidate.path");
_Static_assert(__builtin_offsetof(struct scored_candidate, congestion) == 6, "scored_candidate.congestion");
_Static_assert(__builtin_offsetof(struct scored_candidate, flags) == 7, "scored_candidate.flags");

// A decision, as the ring buffer carries it.
struct decision_record {
	// When.
	__u64 time_ns;
	// For which flow.
	struct flow_key flow;
	// The flow's hash.
	__u32 hash;
	// The destination QP of the deciding packet's base transport header, or NO_QP.
	__u32 dest_qp;
	// The port decided for.
	__u32 port;
	// TRIGGER_*.
	__u8 trigger;
	// RULE_*.
	__u8 rule;
	// Candidates in use.
	__u8 count;
	// Where flows age, bit n: the candidate at n is one of the cheapest for what the flow has
	// sent; else 0.
	__u8 cheapest;
	// The candidates.
	struct scored_candidate candidates[8];
};
_Static_assert(sizeof(struct decision_record) == 104, "decision_record");
_Static_assert(__builtin_offsetof(struct decision_record, time_ns) == 0, "decision_record.time_ns");
_Static_assert(__builtin_offsetof(struct decision_record, flow) == 8, "decision_record.flow");
_Static_assert(__builtin_offsetof(struct decision_record, hash) == 24, "decision_record.hash");
_Static_assert(__builtin_offsetof(struct decision_record, dest_qp) == 28, "decision_record.dest_qp");
_Static_assert(__builtin_offsetof(struct decision_record, port) == 32, "decision_record.port");
_Static_assert(__builtin_offsetof(struct decision_record, trigger) == 36, "decision_record.trigger");
_Static_assert(__builtin_offsetof(struct decision_record, rule) == 37, "decision_record.rule");
_Static_assert(__builtin_offsetof(struct decision_record, count) == 38, "decision_record.count");
_Static_assert(__builtin_offsetof(struct decision_record, cheapest) == 39, "decision_record.cheapest");
_Static_assert(__builtin_offsetof(struct decision_record, candidates) == 40, "decision_record.candidates");

#endif
