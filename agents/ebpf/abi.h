// Generated from the crate lab-abi; do not edit.
// After a change of its rows: UPDATE_ABI_H=1 cargo test -p lab-abi --test abi_h
#ifndef LAB_ABI_H
#define LAB_ABI_H

#include <linux/types.h>

#define MAX_CANDIDATES 16
#define MAX_SIZE_THRESHOLDS 31
#define MAX_PORTS 64
#define MAX_DESTINATIONS 1024
#define MAX_TRANSITS 32768
#define MAX_FLOW_TABLE_ROWS 65536
#define RING_BYTES 1048576
#define RING_WAKE_BYTES 262144
#define RING_WAKE_STEP 16384
#define PORT_ALIVE 0x8000000000000000ULL
#define MECHANISM_BUCKETS 0
#define MECHANISM_LCMP 1
#define KEEP_HALF 0
#define KEEP_HALF_STRICT 1
#define KEEP_FLOOR 2
#define KEEP_FLOOR_OR_ALL 3
#define CANDIDATE_ALIVE 1
#define CANDIDATE_KEPT 2
#define NO_QP 0xffffffffU
#define WAIT_UNIT_BITS 6
#define ROCE_PORT 4791
#define LAB_NET 10
#define SLOT_BITS 0x00f00000U
#define ONE_Q30 0x40000000ULL
#define MAX_HYPER_STAGES 1048576
#define MAX_RAISES 8388608
#define REACTION_ALPHA 1
#define REACTION_CUT 2
#define CNP_QP 0x800000U
#define LAW_START 0
#define LAW_TIMER 1
#define LAW_SENT 2
#define LAW_CNP 3
#define LAW_MARKED 4
#define LAW_QUEUED 5
#define CALENDAR_SLOTS 512
#define RESERVE_BYTES 4096ULL
#define RESUME_OFFSET_BYTES 3072ULL
#define PFC_PRIORITY 3
#define MAC_CONTROL 0x8808
#define PFC_OPCODE 0x0101
#define PAUSE_RING_BYTES 4194304
#define TRIGGER_NEW_FLOW 0 // First packet of a flow.
#define TRIGGER_FAILOVER 1 // Packet of a flow whose pinned port is dead (fast failover).
#define TRIGGER_FLOW_AGEING 2 // Packet of a flow that passed a size threshold and whose next hop is no longer among the cheapest.
#define RULE_HASH 0 // Bucket policies: hash over the live candidates' buckets.
#define RULE_SCORED 1 // LCMP: hash over the cheaper half of the candidates.
#define RULE_LEAST_COST 2 // LCMP, `paper`: the cheapest candidate, because all are highly congested.
#define RULE_HASH_ALL 3 // LCMP, `artifact`: hash over all candidates, because the filter left no candidate.
#define RULE_STALE 4 // Hash over all candidates, because the tables or LCMP's congestion signals are stale.
#define RULE_OWN 5 // Choice of a user-defined policy.

// Five-tuple of a flow; the ports are 0 for fragments and for protocols without ports.
struct flow_key {
	// Source address, in network byte order.
	__u32 src;
	// Destination address, in network byte order.
	__u32 dst;
	// Source port, in network byte order.
	__u16 sport;
	// Destination port, in network byte order.
	__u16 dport;
	// IP protocol number, such as 17 for UDP.
	__u8 proto;
	__u8 pad[3];
};
_Static_assert(sizeof(struct flow_key) == 16, "flow_key");
_Static_assert(__builtin_offsetof(struct flow_key, src) == 0, "flow_key.src");
_Static_assert(__builtin_offsetof(struct flow_key, dst) == 4, "flow_key.dst");
_Static_assert(__builtin_offsetof(struct flow_key, sport) == 8, "flow_key.sport");
_Static_assert(__builtin_offsetof(struct flow_key, dport) == 10, "flow_key.dport");
_Static_assert(__builtin_offsetof(struct flow_key, proto) == 12, "flow_key.proto");
_Static_assert(__builtin_offsetof(struct flow_key, pad) == 13, "flow_key.pad");

// Flow table row, which pins a flow to an egress port. Key and row have 48 bytes; the paper (Sec. 4) counts 24.
// The key here is the whole five-tuple, and packets, bytes and decisions are counted for telemetry.
struct flow_entry {
	// Time of the latest packet, precise to one tick of the kernel's timer; exact if the packet caused a
	// decision.
	__u64 last_seen_ns;
	// Packets forwarded for the flow.
	__u64 packets;
	// Bytes forwarded for the flow, Ethernet headers included.
	__u64 bytes;
	// Index of the egress port in `SwitchTable::ports`.
	__u16 port;
	// 1-based row of `demands` that counts the flow's bytes; 0: not counted.
	__u16 demand;
	// Decisions made for the flow; more than 1 after a failover or flow ageing.
	__u32 decisions;
};
_Static_assert(sizeof(struct flow_entry) == 32, "flow_entry");
_Static_assert(__builtin_offsetof(struct flow_entry, last_seen_ns) == 0, "flow_entry.last_seen_ns");
_Static_assert(__builtin_offsetof(struct flow_entry, packets) == 8, "flow_entry.packets");
_Static_assert(__builtin_offsetof(struct flow_entry, bytes) == 16, "flow_entry.bytes");
_Static_assert(__builtin_offsetof(struct flow_entry, port) == 24, "flow_entry.port");
_Static_assert(__builtin_offsetof(struct flow_entry, demand) == 26, "flow_entry.demand");
_Static_assert(__builtin_offsetof(struct flow_entry, decisions) == 28, "flow_entry.decisions");

// Destination prefix, in the layout of `BPF_MAP_TYPE_LPM_TRIE` keys.
struct prefix_key {
	// Prefix length in bits.
	__u32 bits;
	// Network address of the prefix, in network byte order.
	__u32 addr;
};
_Static_assert(sizeof(struct prefix_key) == 8, "prefix_key");
_Static_assert(__builtin_offsetof(struct prefix_key, bits) == 0, "prefix_key.bits");
_Static_assert(__builtin_offsetof(struct prefix_key, addr) == 4, "prefix_key.addr");

// Packets on one tunnel that arrive at a switch on its way; no two tunnels of a pair of datacenters share a link.
struct transit_key {
	// Network address of the source datacenter's prefix, in network byte order.
	__u32 src;
	// Network address of the destination datacenter's prefix, in network byte order.
	__u32 dst;
	// Index of the interface at which the packets arrive.
	__u32 ifindex;
};
_Static_assert(sizeof(struct transit_key) == 12, "transit_key");
_Static_assert(__builtin_offsetof(struct transit_key, src) == 0, "transit_key.src");
_Static_assert(__builtin_offsetof(struct transit_key, dst) == 4, "transit_key.dst");
_Static_assert(__builtin_offsetof(struct transit_key, ifindex) == 8, "transit_key.ifindex");

// DCQCN's congestion point: thresholds of an egress queue, in the unit of the queue length. eBPF programs require
// thresholds of at most 2^31, the simulator does not.
struct congestion_point {
	// Queue length up to which no packet is marked (Kmin).
	__u64 k_min;
	// Queue length above which every packet is marked (Kmax).
	__u64 k_max;
	// Share of packets marked at Kmax (Pmax), in units of 2^-32.
	__u64 p_max_q32;
};
_Static_assert(sizeof(struct congestion_point) == 24, "congestion_point");
_Static_assert(__builtin_offsetof(struct congestion_point, k_min) == 0, "congestion_point.k_min");
_Static_assert(__builtin_offsetof(struct congestion_point, k_max) == 8, "congestion_point.k_max");
_Static_assert(__builtin_offsetof(struct congestion_point, p_max_q32) == 16, "congestion_point.p_max_q32");

// Virtual queue of an egress port that marks packets: the bytes that would wait for a link at the port's rate,
// regardless of the bursts that the port's shaper lets through.
struct port_queue {
	// Time at which the virtual queue will be empty.
	__u64 busy_until_ns;
	// Packets that the port has marked so far.
	__u64 marks;
	// Serialisation time of one byte in ns, times 2^20; 0: the port does not mark packets.
	__u64 byte_time_q20;
	// Time in which a full queue drains, ns.
	__u64 max_wait_ns;
	// Marking thresholds as waiting times, in units of 2^WAIT_UNIT_BITS ns.
	struct congestion_point congestion;
};
_Static_assert(sizeof(struct port_queue) == 56, "port_queue");
_Static_assert(__builtin_offsetof(struct port_queue, busy_until_ns) == 0, "port_queue.busy_until_ns");
_Static_assert(__builtin_offsetof(struct port_queue, marks) == 8, "port_queue.marks");
_Static_assert(__builtin_offsetof(struct port_queue, byte_time_q20) == 16, "port_queue.byte_time_q20");
_Static_assert(__builtin_offsetof(struct port_queue, max_wait_ns) == 24, "port_queue.max_wait_ns");
_Static_assert(__builtin_offsetof(struct port_queue, congestion) == 32, "port_queue.congestion");

// Candidate next hop of a destination.
struct candidate {
	// Index of the egress port in `SwitchTable::ports`.
	__u32 port;
	// Number of the candidate's hash buckets, for the bucket mechanism.
	__u16 buckets;
	// Path cost C_path of the candidate, 0 to 255.
	__u8 path;
	__u8 pad;
};
_Static_assert(sizeof(struct candidate) == 8, "candidate");
_Static_assert(__builtin_offsetof(struct candidate, port) == 0, "candidate.port");
_Static_assert(__builtin_offsetof(struct candidate, buckets) == 4, "candidate.buckets");
_Static_assert(__builtin_offsetof(struct candidate, path) == 6, "candidate.path");
_Static_assert(__builtin_offsetof(struct candidate, pad) == 7, "candidate.pad");

// Cheapest candidates of a flow that has sent a given number of bytes (flow ageing). The number is split in two
// because the kernel's prefix table aligns rows to only four bytes.
struct size_threshold {
	// Lower 32 bits of the number of bytes sent.
	__u32 from_low;
	// Upper 32 bits of the number of bytes sent.
	__u32 from_high;
	// Bit n is set if candidate n is one of the cheapest.
	__u16 cheapest;
	__u16 pad;
};
_Static_assert(sizeof(struct size_threshold) == 12, "size_threshold");
_Static_assert(__builtin_offsetof(struct size_threshold, from_low) == 0, "size_threshold.from_low");
_Static_assert(__builtin_offsetof(struct size_threshold, from_high) == 4, "size_threshold.from_high");
_Static_assert(__builtin_offsetof(struct size_threshold, cheapest) == 8, "size_threshold.cheapest");
_Static_assert(__builtin_offsetof(struct size_threshold, pad) == 10, "size_threshold.pad");

// Candidates of a destination, in order of increasing delay.
struct destination {
	// Number of candidates in use.
	__u32 count;
	// 1-based row of `demands` that counts the bytes from this datacenter's hosts to the destination; 0: not
	// counted.
	__u32 demand;
	struct candidate candidates[16];
	// Size thresholds of flow ageing in increasing order; unused rows hold thresholds that no flow reaches.
	struct size_threshold size_thresholds[31];
};
_Static_assert(sizeof(struct destination) == 508, "destination");
_Static_assert(__builtin_offsetof(struct destination, count) == 0, "destination.count");
_Static_assert(__builtin_offsetof(struct destination, demand) == 4, "destination.demand");
_Static_assert(__builtin_offsetof(struct destination, candidates) == 8, "destination.candidates");
_Static_assert(__builtin_offsetof(struct destination, size_thresholds) == 136, "destination.size_thresholds");

// Egress port of a switch: its state, its interface and its MAC addresses.
struct port {
	// Congestion and liveness in one word, which is read and written as a whole: queue level Q in the low byte,
	// then trend T, duration D and cost C_cong, and PORT_ALIVE in the top bit.
	__u64 state;
	// Index of the port's interface in the switch's network namespace.
	__u32 ifindex;
	// Source MAC address of frames sent through the port.
	__u8 src_mac[6];
	// Destination MAC address of frames sent through the port.
	__u8 dst_mac[6];
};
_Static_assert(sizeof(struct port) == 24, "port");
_Static_assert(__builtin_offsetof(struct port, state) == 0, "port.state");
_Static_assert(__builtin_offsetof(struct port, ifindex) == 8, "port.ifindex");
_Static_assert(__builtin_offsetof(struct port, src_mac) == 12, "port.src_mac");
_Static_assert(__builtin_offsetof(struct port, dst_mac) == 18, "port.dst_mac");

// Decision parameters; weights and thresholds may change while the program runs.
struct switch_params {
	// Maximum age of the congestion signals, ns; if they are older, LCMP hashes over all live candidates. 0: no
	// limit.
	__u64 stale_after_ns;
	// Maximum age of the tables, ns; if they are older, every policy hashes over all live candidates. 0: no limit.
	__u64 max_table_age_ns;
	// Weight α of the path cost (Eq. 1).
	__u32 alpha;
	// Weight β of the congestion cost (Eq. 1).
	__u32 beta;
	// Seed of the flow hash, which is the switch's id.
	__u32 seed;
	// Mechanism of the policy: MECHANISM_BUCKETS or MECHANISM_LCMP.
	__u32 mechanism;
	// 1 for the preset `artifact`, 0 for `paper`.
	__u32 artifact;
	// Rule for the number of candidates kept: KEEP_HALF, KEEP_HALF_STRICT, KEEP_FLOOR or
	// KEEP_FLOOR_OR_ALL.
	__u32 keep;
	// `paper`: C_cong from which a port counts as highly congested.
	__u32 congested_threshold;
	// `artifact`: cost from which a kept candidate is dropped.
	__u32 drop_threshold;
	// Network address of the datacenter's own hosts, in network byte order.
	__u32 local_addr;
	// Mask for `local_addr`, in network byte order.
	__u32 local_mask;
	// 1: flow ageing re-routes a flow past a size threshold if its next hop is no longer among the cheapest.
	__u32 flow_ageing;
	// 1: packets from other datacenters follow tunnels, for which there are rows in `transits`.
	__u32 tunnels;
};
_Static_assert(sizeof(struct switch_params) == 64, "switch_params");
_Static_assert(__builtin_offsetof(struct switch_params, stale_after_ns) == 0, "switch_params.stale_after_ns");
_Static_assert(__builtin_offsetof(struct switch_params, max_table_age_ns) == 8, "switch_params.max_table_age_ns");
_Static_assert(__builtin_offsetof(struct switch_params, alpha) == 16, "switch_params.alpha");
_Static_assert(__builtin_offsetof(struct switch_params, beta) == 20, "switch_params.beta");
_Static_assert(__builtin_offsetof(struct switch_params, seed) == 24, "switch_params.seed");
_Static_assert(__builtin_offsetof(struct switch_params, mechanism) == 28, "switch_params.mechanism");
_Static_assert(__builtin_offsetof(struct switch_params, artifact) == 32, "switch_params.artifact");
_Static_assert(__builtin_offsetof(struct switch_params, keep) == 36, "switch_params.keep");
_Static_assert(__builtin_offsetof(struct switch_params, congested_threshold) == 40, "switch_params.congested_threshold");
_Static_assert(__builtin_offsetof(struct switch_params, drop_threshold) == 44, "switch_params.drop_threshold");
_Static_assert(__builtin_offsetof(struct switch_params, local_addr) == 48, "switch_params.local_addr");
_Static_assert(__builtin_offsetof(struct switch_params, local_mask) == 52, "switch_params.local_mask");
_Static_assert(__builtin_offsetof(struct switch_params, flow_ageing) == 56, "switch_params.flow_ageing");
_Static_assert(__builtin_offsetof(struct switch_params, tunnels) == 60, "switch_params.tunnels");

// Parameters and ports of a switch in one value, so that the program needs one lookup.
struct switch_table {
	struct switch_params params;
	// Time of the latest congestion sample of the ports.
	__u64 sampled_at_ns;
	// Time at which the control plane last wrote or confirmed the destination rows; 0: never.
	__u64 tables_at_ns;
	// Idle flows that the agents' flow-cache garbage collection removed.
	__u64 expired;
	// Flows that the agents evicted because the flow table was full.
	__u64 evicted;
	// Inode of the ports' network namespace; 0: the kernel does not mark ports dead on its own.
	__u64 netns;
	struct port ports[64];
	// Virtual queues of the ports.
	struct port_queue queues[64];
};
_Static_assert(sizeof(struct switch_table) == 5224, "switch_table");
_Static_assert(__builtin_offsetof(struct switch_table, params) == 0, "switch_table.params");
_Static_assert(__builtin_offsetof(struct switch_table, sampled_at_ns) == 64, "switch_table.sampled_at_ns");
_Static_assert(__builtin_offsetof(struct switch_table, tables_at_ns) == 72, "switch_table.tables_at_ns");
_Static_assert(__builtin_offsetof(struct switch_table, expired) == 80, "switch_table.expired");
_Static_assert(__builtin_offsetof(struct switch_table, evicted) == 88, "switch_table.evicted");
_Static_assert(__builtin_offsetof(struct switch_table, netns) == 96, "switch_table.netns");
_Static_assert(__builtin_offsetof(struct switch_table, ports) == 104, "switch_table.ports");
_Static_assert(__builtin_offsetof(struct switch_table, queues) == 1640, "switch_table.queues");

// Packet and decision counters of a DCI switch: for one CPU in the switch program, summed over all CPUs in a
// report. The simulator's switches use the same counters.
struct counters {
	__u64 received;
	// Packets forwarded through the port to which their flow was already pinned, without a decision.
	__u64 hits;
	// Decisions for packets of flows without a row in the flow table, usually a flow's first packet.
	__u64 new_flows;
	// Decisions for packets of flows whose pinned port is dead.
	__u64 failovers;
	// Decisions that flow ageing caused.
	__u64 aged;
	// Decisions by a fallback rule, because the policy's own rule could not decide.
	__u64 fallbacks;
	// Decisions by the fallback for stale tables or signals.
	__u64 stale;
	// Frames passed to the kernel: not IPv4, with IP options, or to an unknown destination.
	__u64 passed;
	// Packets passed to the kernel because their TTL expired.
	__u64 ttl_expired;
	// Packets dropped because no candidate of their destination, or the next link of their tunnel, was alive.
	__u64 no_destination;
	// Decisions after which the flow was not pinned because the flow table had no room; the flow's next packet
	// needs another decision.
	__u64 not_pinned;
	// Decision records lost because the ring buffer was full.
	__u64 records_lost;
	// PFC pause frames sent to hosts.
	__u64 pauses;
	// Packets whose sender should have been paused but is not a host.
	__u64 not_paused;
	// Packets dropped because the shared buffer was full.
	__u64 buffer_drops;
};
_Static_assert(sizeof(struct counters) == 120, "counters");
_Static_assert(__builtin_offsetof(struct counters, received) == 0, "counters.received");
_Static_assert(__builtin_offsetof(struct counters, hits) == 8, "counters.hits");
_Static_assert(__builtin_offsetof(struct counters, new_flows) == 16, "counters.new_flows");
_Static_assert(__builtin_offsetof(struct counters, failovers) == 24, "counters.failovers");
_Static_assert(__builtin_offsetof(struct counters, aged) == 32, "counters.aged");
_Static_assert(__builtin_offsetof(struct counters, fallbacks) == 40, "counters.fallbacks");
_Static_assert(__builtin_offsetof(struct counters, stale) == 48, "counters.stale");
_Static_assert(__builtin_offsetof(struct counters, passed) == 56, "counters.passed");
_Static_assert(__builtin_offsetof(struct counters, ttl_expired) == 64, "counters.ttl_expired");
_Static_assert(__builtin_offsetof(struct counters, no_destination) == 72, "counters.no_destination");
_Static_assert(__builtin_offsetof(struct counters, not_pinned) == 80, "counters.not_pinned");
_Static_assert(__builtin_offsetof(struct counters, records_lost) == 88, "counters.records_lost");
_Static_assert(__builtin_offsetof(struct counters, pauses) == 96, "counters.pauses");
_Static_assert(__builtin_offsetof(struct counters, not_paused) == 104, "counters.not_paused");
_Static_assert(__builtin_offsetof(struct counters, buffer_drops) == 112, "counters.buffer_drops");

// Candidate with the state that a decision was based on.
struct scored_candidate {
	// Total cost C (Eq. 1); 0 if the rule does not compute it.
	__u32 cost;
	// Index of the egress port in `SwitchTable::ports`.
	__u8 port;
	// Path cost C_path of the candidate, 0 to 255.
	__u8 path;
	// Congestion cost C_cong of the egress port, 0 to 255.
	__u8 congestion;
	// Bit set of CANDIDATE_ALIVE and CANDIDATE_KEPT.
	__u8 flags;
};
_Static_assert(sizeof(struct scored_candidate) == 8, "scored_candidate");
_Static_assert(__builtin_offsetof(struct scored_candidate, cost) == 0, "scored_candidate.cost");
_Static_assert(__builtin_offsetof(struct scored_candidate, port) == 4, "scored_candidate.port");
_Static_assert(__builtin_offsetof(struct scored_candidate, path) == 5, "scored_candidate.path");
_Static_assert(__builtin_offsetof(struct scored_candidate, congestion) == 6, "scored_candidate.congestion");
_Static_assert(__builtin_offsetof(struct scored_candidate, flags) == 7, "scored_candidate.flags");

// Record of a decision in the ring buffer.
struct decision_record {
	__u64 time_ns;
	// Age of the ports' latest congestion sample at the time of the decision, ns.
	__u64 signal_age_ns;
	// Flow that the decision is for.
	struct flow_key flow;
	// Flow hash that the decision used.
	__u32 hash;
	// Destination QP of the packet's base transport header, or NO_QP.
	__u32 dest_qp;
	// Packet sequence number of the packet's base transport header, or NO_QP.
	__u32 psn;
	// Index of the chosen port in `SwitchTable::ports`.
	__u32 port;
	// Cause of the decision, one of TRIGGER_*.
	__u8 trigger;
	// Rule of the decision, one of RULE_*.
	__u8 rule;
	// Number of candidates in use.
	__u8 count;
	__u8 pad;
	// Under flow ageing, bit n is set if candidate n is one of the cheapest for the bytes that the flow has
	// sent; otherwise 0.
	__u16 cheapest;
	__u16 pad_end;
	// Candidates in the order of the destination's row.
	struct scored_candidate candidates[16];
};
_Static_assert(sizeof(struct decision_record) == 184, "decision_record");
_Static_assert(__builtin_offsetof(struct decision_record, time_ns) == 0, "decision_record.time_ns");
_Static_assert(__builtin_offsetof(struct decision_record, signal_age_ns) == 8, "decision_record.signal_age_ns");
_Static_assert(__builtin_offsetof(struct decision_record, flow) == 16, "decision_record.flow");
_Static_assert(__builtin_offsetof(struct decision_record, hash) == 32, "decision_record.hash");
_Static_assert(__builtin_offsetof(struct decision_record, dest_qp) == 36, "decision_record.dest_qp");
_Static_assert(__builtin_offsetof(struct decision_record, psn) == 40, "decision_record.psn");
_Static_assert(__builtin_offsetof(struct decision_record, port) == 44, "decision_record.port");
_Static_assert(__builtin_offsetof(struct decision_record, trigger) == 48, "decision_record.trigger");
_Static_assert(__builtin_offsetof(struct decision_record, rule) == 49, "decision_record.rule");
_Static_assert(__builtin_offsetof(struct decision_record, count) == 50, "decision_record.count");
_Static_assert(__builtin_offsetof(struct decision_record, pad) == 51, "decision_record.pad");
_Static_assert(__builtin_offsetof(struct decision_record, cheapest) == 52, "decision_record.cheapest");
_Static_assert(__builtin_offsetof(struct decision_record, pad_end) == 54, "decision_record.pad_end");
_Static_assert(__builtin_offsetof(struct decision_record, candidates) == 56, "decision_record.candidates");

// Parameters of DCQCN's reaction point and notification point, for both the published law and the artifact's
// variant. Times are in ns in eBPF programs and in ps in the simulator.
struct dcqcn_params {
	// Minimum time between two CNPs of one QP (N).
	__u64 cnp_interval;
	// Time without a CNP after which α decays (K); not 0.
	__u64 alpha_interval;
	// Time between two timer-driven rate raises (T); not 0.
	__u64 increase_interval;
	// Bytes sent between two rate raises by the byte counter (B); not 0.
	__u64 byte_counter;
	// Increase of the target rate per raise after fast recovery (R_AI), bit/s.
	__u64 additive_bps;
	// Increase of the target rate per stage once both timer and byte counter are past fast recovery (R_HAI),
	// bit/s.
	__u64 hyper_bps;
	// Minimum rate, bit/s; not 0.
	__u64 min_bps;
	// Weight of a new mark in the average α (g), Q30.
	__u32 gain_q30;
	// Number of raises in fast recovery (F).
	__u32 fast_recovery;
	// Minimum time between two rate cuts (D) in the artifact's variant. 0 selects the published law, in which
	// every CNP cuts the rate.
	__u64 decrease_interval;
	// Time from a QP's first CNP to its first rate cut, in the artifact's variant.
	__u64 first_decrease;
};
_Static_assert(sizeof(struct dcqcn_params) == 80, "dcqcn_params");
_Static_assert(__builtin_offsetof(struct dcqcn_params, cnp_interval) == 0, "dcqcn_params.cnp_interval");
_Static_assert(__builtin_offsetof(struct dcqcn_params, alpha_interval) == 8, "dcqcn_params.alpha_interval");
_Static_assert(__builtin_offsetof(struct dcqcn_params, increase_interval) == 16, "dcqcn_params.increase_interval");
_Static_assert(__builtin_offsetof(struct dcqcn_params, byte_counter) == 24, "dcqcn_params.byte_counter");
_Static_assert(__builtin_offsetof(struct dcqcn_params, additive_bps) == 32, "dcqcn_params.additive_bps");
_Static_assert(__builtin_offsetof(struct dcqcn_params, hyper_bps) == 40, "dcqcn_params.hyper_bps");
_Static_assert(__builtin_offsetof(struct dcqcn_params, min_bps) == 48, "dcqcn_params.min_bps");
_Static_assert(__builtin_offsetof(struct dcqcn_params, gain_q30) == 56, "dcqcn_params.gain_q30");
_Static_assert(__builtin_offsetof(struct dcqcn_params, fast_recovery) == 60, "dcqcn_params.fast_recovery");
_Static_assert(__builtin_offsetof(struct dcqcn_params, decrease_interval) == 64, "dcqcn_params.decrease_interval");
_Static_assert(__builtin_offsetof(struct dcqcn_params, first_decrease) == 72, "dcqcn_params.first_decrease");

// DCQCN's reaction point: state of a sending QP.
struct reaction_point {
	// Current rate (R_C), bit/s.
	__u64 rate_bps;
	// Target rate (R_T), bit/s.
	__u64 target_bps;
	// Line rate of the NIC, bit/s.
	__u64 line_bps;
	// Time of the next α update, applied at the next CNP or cut; `u64::MAX`: never.
	__u64 alpha_due;
	// Time of the timer's next raise; `u64::MAX`: never.
	__u64 increase_due;
	// Time of the next check for a cut, in the artifact's variant.
	__u64 decrease_due;
	// Bytes to send until the byte counter raises the rate.
	__u64 bytes_left;
	// Congestion estimate (α), Q30.
	__u32 alpha_q30;
	// Timer-driven raises since the last cut.
	__u32 timer_stage;
	// Byte-counter raises since the last cut.
	__u32 byte_stage;
	// CNPs that have not taken effect yet: a bit set of REACTION_*, in the artifact's variant.
	__u32 pending;
};
_Static_assert(sizeof(struct reaction_point) == 72, "reaction_point");
_Static_assert(__builtin_offsetof(struct reaction_point, rate_bps) == 0, "reaction_point.rate_bps");
_Static_assert(__builtin_offsetof(struct reaction_point, target_bps) == 8, "reaction_point.target_bps");
_Static_assert(__builtin_offsetof(struct reaction_point, line_bps) == 16, "reaction_point.line_bps");
_Static_assert(__builtin_offsetof(struct reaction_point, alpha_due) == 24, "reaction_point.alpha_due");
_Static_assert(__builtin_offsetof(struct reaction_point, increase_due) == 32, "reaction_point.increase_due");
_Static_assert(__builtin_offsetof(struct reaction_point, decrease_due) == 40, "reaction_point.decrease_due");
_Static_assert(__builtin_offsetof(struct reaction_point, bytes_left) == 48, "reaction_point.bytes_left");
_Static_assert(__builtin_offsetof(struct reaction_point, alpha_q30) == 56, "reaction_point.alpha_q30");
_Static_assert(__builtin_offsetof(struct reaction_point, timer_stage) == 60, "reaction_point.timer_stage");
_Static_assert(__builtin_offsetof(struct reaction_point, byte_stage) == 64, "reaction_point.byte_stage");
_Static_assert(__builtin_offsetof(struct reaction_point, pending) == 68, "reaction_point.pending");

// One step of the DCQCN self-test: an event, and the state before it, which the program overwrites with the state
// after it.
struct law_step {
	// Event that the step applies, one of LAW_*.
	__u32 event;
	// Size of the sent packet on the wire, bytes.
	__u32 bytes;
	// Time at which the event occurs.
	__u64 now;
	// Earliest time at which the receiver may send its next CNP.
	__u64 next_cnp;
	// CNPs that the receiver has sent.
	__u64 cnps;
	struct dcqcn_params params;
	struct reaction_point point;
	struct congestion_point congestion;
	// Queue length when the packet arrives.
	__u64 queue;
	// Uniform random number that decides whether the packet is marked.
	__u32 dice;
	// 1: the packet was marked; 0: it was not.
	__u32 is_marked;
};
_Static_assert(sizeof(struct law_step) == 224, "law_step");
_Static_assert(__builtin_offsetof(struct law_step, event) == 0, "law_step.event");
_Static_assert(__builtin_offsetof(struct law_step, bytes) == 4, "law_step.bytes");
_Static_assert(__builtin_offsetof(struct law_step, now) == 8, "law_step.now");
_Static_assert(__builtin_offsetof(struct law_step, next_cnp) == 16, "law_step.next_cnp");
_Static_assert(__builtin_offsetof(struct law_step, cnps) == 24, "law_step.cnps");
_Static_assert(__builtin_offsetof(struct law_step, params) == 32, "law_step.params");
_Static_assert(__builtin_offsetof(struct law_step, point) == 112, "law_step.point");
_Static_assert(__builtin_offsetof(struct law_step, congestion) == 184, "law_step.congestion");
_Static_assert(__builtin_offsetof(struct law_step, queue) == 208, "law_step.queue");
_Static_assert(__builtin_offsetof(struct law_step, dice) == 216, "law_step.dice");
_Static_assert(__builtin_offsetof(struct law_step, is_marked) == 220, "law_step.is_marked");

struct host_params {
	// Parameters of DCQCN; times in nanoseconds.
	struct dcqcn_params law;
	// Minimum time until the pacer checks a held packet again, ns; under the published law, DCQCN's timer interval
	// applies instead if it is longer.
	__u64 horizon_ns;
	// Index of the interface through which packets enter the pacer.
	__u32 pacer;
	// 1: the pacer drops all packets that it holds, because the flows are being aborted.
	__u32 is_closing;
};
_Static_assert(sizeof(struct host_params) == 96, "host_params");
_Static_assert(__builtin_offsetof(struct host_params, law) == 0, "host_params.law");
_Static_assert(__builtin_offsetof(struct host_params, horizon_ns) == 80, "host_params.horizon_ns");
_Static_assert(__builtin_offsetof(struct host_params, pacer) == 88, "host_params.pacer");
_Static_assert(__builtin_offsetof(struct host_params, is_closing) == 92, "host_params.is_closing");

// One direction of a QP, identified by the addresses and the destination QP of its data packets.
struct qp_key {
	// Source address of data packets, in network byte order.
	__u32 src;
	// Destination address of data packets, in network byte order.
	__u32 dst;
	// Destination QP of data packets.
	__u32 dest_qp;
};
_Static_assert(sizeof(struct qp_key) == 12, "qp_key");
_Static_assert(__builtin_offsetof(struct qp_key, src) == 0, "qp_key.src");
_Static_assert(__builtin_offsetof(struct qp_key, dst) == 4, "qp_key.dst");
_Static_assert(__builtin_offsetof(struct qp_key, dest_qp) == 8, "qp_key.dest_qp");

// Sending QP: its reaction point and its state in the pacer.
struct paced_qp {
	struct reaction_point point;
	// Transmission time of the latest packet, from which the due time of the next packet is computed, ns.
	__u64 last_tx_ns;
	// CNPs received for this QP.
	__u64 cnps;
	// Time on the NIC's clock from which the QP's next packet may leave, if the NIC can be paused; 0: that packet
	// is not in the NIC's queue yet.
	__u64 ticket;
	// Packets that have left the pacer.
	__u64 packets;
	// Bytes that have left the pacer, Ethernet headers included.
	__u64 bytes;
	// Number of times that a packet was sent through the pacer again because it was early or out of turn.
	__u64 rounds;
	// Size of the latest packet that left the pacer, bytes.
	__u32 last_bytes;
	// Index of the host's NIC interface.
	__u32 nic;
	// Sequence number of the next packet that enters the pacer.
	__u32 next_in;
	// Sequence number of the next packet that leaves the pacer.
	__u32 next_out;
	// Largest number of packets held in the pacer at once.
	__u32 max_parked;
	// Packets released out of order: those sent ahead of a packet that was given up as lost, and such a packet if
	// it arrives late.
	__u32 out_of_order;
};
_Static_assert(sizeof(struct paced_qp) == 144, "paced_qp");
_Static_assert(__builtin_offsetof(struct paced_qp, point) == 0, "paced_qp.point");
_Static_assert(__builtin_offsetof(struct paced_qp, last_tx_ns) == 72, "paced_qp.last_tx_ns");
_Static_assert(__builtin_offsetof(struct paced_qp, cnps) == 80, "paced_qp.cnps");
_Static_assert(__builtin_offsetof(struct paced_qp, ticket) == 88, "paced_qp.ticket");
_Static_assert(__builtin_offsetof(struct paced_qp, packets) == 96, "paced_qp.packets");
_Static_assert(__builtin_offsetof(struct paced_qp, bytes) == 104, "paced_qp.bytes");
_Static_assert(__builtin_offsetof(struct paced_qp, rounds) == 112, "paced_qp.rounds");
_Static_assert(__builtin_offsetof(struct paced_qp, last_bytes) == 120, "paced_qp.last_bytes");
_Static_assert(__builtin_offsetof(struct paced_qp, nic) == 124, "paced_qp.nic");
_Static_assert(__builtin_offsetof(struct paced_qp, next_in) == 128, "paced_qp.next_in");
_Static_assert(__builtin_offsetof(struct paced_qp, next_out) == 132, "paced_qp.next_out");
_Static_assert(__builtin_offsetof(struct paced_qp, max_parked) == 136, "paced_qp.max_parked");
_Static_assert(__builtin_offsetof(struct paced_qp, out_of_order) == 140, "paced_qp.out_of_order");

// Receiving QP that has received marked packets: its notification point.
struct marked_qp {
	// Earliest time of the next CNP, ns.
	__u64 next_cnp;
	// Marked packets that this QP has received.
	__u64 marked;
	// CNPs sent for this QP's marked packets.
	__u64 cnps;
};
_Static_assert(sizeof(struct marked_qp) == 24, "marked_qp");
_Static_assert(__builtin_offsetof(struct marked_qp, next_cnp) == 0, "marked_qp.next_cnp");
_Static_assert(__builtin_offsetof(struct marked_qp, marked) == 8, "marked_qp.marked");
_Static_assert(__builtin_offsetof(struct marked_qp, cnps) == 16, "marked_qp.cnps");

// Counters of the host programs.
struct host_counters {
	// Data packets that were not paced because their QP has no row.
	__u64 unpaced;
	// Marked packets whose CNP could not be sent.
	__u64 lost_cnps;
	// CNPs that arrived for QPs without a row.
	__u64 stray_cnps;
	// Packets that the pacer dropped: all packets while it closes, and packets of QPs without a row.
	__u64 dropped;
	// Pauses of the NIC that could not be recorded because the ring buffer was full.
	__u64 lost_pauses;
};
_Static_assert(sizeof(struct host_counters) == 40, "host_counters");
_Static_assert(__builtin_offsetof(struct host_counters, unpaced) == 0, "host_counters.unpaced");
_Static_assert(__builtin_offsetof(struct host_counters, lost_cnps) == 8, "host_counters.lost_cnps");
_Static_assert(__builtin_offsetof(struct host_counters, stray_cnps) == 16, "host_counters.stray_cnps");
_Static_assert(__builtin_offsetof(struct host_counters, dropped) == 24, "host_counters.dropped");
_Static_assert(__builtin_offsetof(struct host_counters, lost_pauses) == 32, "host_counters.lost_pauses");

// Buffer occupancy of an ingress port.
struct ingress_port {
	// Size of the headroom for packets in flight when a pause is sent, bytes; 0: the port drops packets instead
	// of pausing.
	__u64 headroom;
	// Buffered bytes of the port's packets in the port's reserve and in its share of the shared buffer.
	__u64 bytes;
	// Buffered bytes of the port's packets in the port's headroom.
	__u64 headroom_bytes;
	// End of the sender's latest pause, ns.
	__u64 paused_until_ns;
	// Length of a pause quantum, ns; 0: the sender is not a host and ignores pauses.
	__u64 quantum_ns;
	// Index of the port's interface in the switch's network namespace.
	__u32 ifindex;
	// Exponent of the port's share of the shared buffer: at most 2^-threshold_shift times the free bytes.
	__u32 threshold_shift;
};
_Static_assert(sizeof(struct ingress_port) == 48, "ingress_port");
_Static_assert(__builtin_offsetof(struct ingress_port, headroom) == 0, "ingress_port.headroom");
_Static_assert(__builtin_offsetof(struct ingress_port, bytes) == 8, "ingress_port.bytes");
_Static_assert(__builtin_offsetof(struct ingress_port, headroom_bytes) == 16, "ingress_port.headroom_bytes");
_Static_assert(__builtin_offsetof(struct ingress_port, paused_until_ns) == 24, "ingress_port.paused_until_ns");
_Static_assert(__builtin_offsetof(struct ingress_port, quantum_ns) == 32, "ingress_port.quantum_ns");
_Static_assert(__builtin_offsetof(struct ingress_port, ifindex) == 40, "ingress_port.ifindex");
_Static_assert(__builtin_offsetof(struct ingress_port, threshold_shift) == 44, "ingress_port.threshold_shift");

// Shared buffer of a switch: its size, its occupancy and its ingress ports.
struct shared_buffer {
	// Size of the part of the buffer that all ports share, bytes; 0: the switch has no PFC.
	__u64 shared;
	// Bytes of the shared part that are in use.
	__u64 used;
	// Calendar slot of the latest packet: the packet's time divided by 2^slot_bits ns.
	__u64 slot;
	// Base-2 logarithm of a calendar slot's length in ns.
	__u32 slot_bits;
	// Number of ports with a row in `ports`.
	__u32 count;
	struct ingress_port ports[64];
};
_Static_assert(sizeof(struct shared_buffer) == 3104, "shared_buffer");
_Static_assert(__builtin_offsetof(struct shared_buffer, shared) == 0, "shared_buffer.shared");
_Static_assert(__builtin_offsetof(struct shared_buffer, used) == 8, "shared_buffer.used");
_Static_assert(__builtin_offsetof(struct shared_buffer, slot) == 16, "shared_buffer.slot");
_Static_assert(__builtin_offsetof(struct shared_buffer, slot_bits) == 24, "shared_buffer.slot_bits");
_Static_assert(__builtin_offsetof(struct shared_buffer, count) == 28, "shared_buffer.count");
_Static_assert(__builtin_offsetof(struct shared_buffer, ports) == 32, "shared_buffer.ports");

// Buffered bytes that leave in one slot of the calendar.
struct calendar_slot {
	// Bytes that leave in the slot, by ingress port.
	__u32 bytes[64];
	// Sum of the bytes of all ports.
	__u64 total;
};
_Static_assert(sizeof(struct calendar_slot) == 264, "calendar_slot");
_Static_assert(__builtin_offsetof(struct calendar_slot, bytes) == 0, "calendar_slot.bytes");
_Static_assert(__builtin_offsetof(struct calendar_slot, total) == 256, "calendar_slot.total");

// NIC of a host; its transmission clock stops while it is paused.
struct nic {
	// Line rate in bit/s, which is also the initial rate of the NIC's QPs.
	__u64 line_bps;
	// Length of a pause quantum, ns; 0: the NIC is never paused.
	__u64 quantum_ns;
	// Start of the current pause, ns; 0: not paused.
	__u64 paused_at_ns;
	// End of the current pause, ns.
	__u64 paused_until_ns;
	// Total duration of the finished pauses, ns.
	__u64 stopped_ns;
	// Time on the NIC's clock at which all packets so far will have left, ns.
	__u64 busy_until;
};
_Static_assert(sizeof(struct nic) == 48, "nic");
_Static_assert(__builtin_offsetof(struct nic, line_bps) == 0, "nic.line_bps");
_Static_assert(__builtin_offsetof(struct nic, quantum_ns) == 8, "nic.quantum_ns");
_Static_assert(__builtin_offsetof(struct nic, paused_at_ns) == 16, "nic.paused_at_ns");
_Static_assert(__builtin_offsetof(struct nic, paused_until_ns) == 24, "nic.paused_until_ns");
_Static_assert(__builtin_offsetof(struct nic, stopped_ns) == 32, "nic.stopped_ns");
_Static_assert(__builtin_offsetof(struct nic, busy_until) == 40, "nic.busy_until");

// Finished pause of a NIC, a record of the ring buffer.
struct pause_record {
	__u64 from_ns;
	__u64 until_ns;
	// Index of the NIC's interface.
	__u32 ifindex;
	__u32 pad;
};
_Static_assert(sizeof(struct pause_record) == 24, "pause_record");
_Static_assert(__builtin_offsetof(struct pause_record, from_ns) == 0, "pause_record.from_ns");
_Static_assert(__builtin_offsetof(struct pause_record, until_ns) == 8, "pause_record.until_ns");
_Static_assert(__builtin_offsetof(struct pause_record, ifindex) == 16, "pause_record.ifindex");
_Static_assert(__builtin_offsetof(struct pause_record, pad) == 20, "pause_record.pad");

#endif
