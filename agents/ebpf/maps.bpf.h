// Maps that a switch program shares with its agent.
#ifndef LAB_MAPS_BPF_H
#define LAB_MAPS_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "abi.h"

// Flow table. It has room for the flows that the agent keeps, and for those that arrive before the agent next evicts the
// least recently seen. BPF_MAP_TYPE_LRU_HASH would evict 128 flows of a CPU at once, some of them just seen
// (LOCAL_FREE_TARGET, kernel/bpf/bpf_lru_list.c).
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FLOW_TABLE_ROWS);
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

// Slots of the ports through which packets on tunnels leave. Rows are allocated as they are written, because most
// switches have few.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TRANSITS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct transit_key);
	__type(value, __u32);
} transits SEC(".maps");

// Parameters and ports. The agent maps this array into its memory and writes the ports' states there.
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

// Bytes from the datacenter's own hosts to each destination with counted demand.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_DESTINATIONS);
	__type(key, __u32);
	__type(value, __u64);
} demands SEC(".maps");

// Decision under construction, with the intermediate values of its candidates. It is not on the stack: the stack is too
// small, and the verifier tracks its contents, so it would verify each loop again for every state of these rows. Values
// of earlier decisions remain; only the first `record.count` rows are valid.
struct decision {
	struct decision_record record;
	// Order of the candidates under LCMP: the lowest key is the first.
	__u64 key[MAX_CANDIDATES];
	__u16 buckets[MAX_CANDIDATES];
	__u8 rank[MAX_CANDIDATES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct decision);
} scratch SEC(".maps");

_Static_assert(__builtin_offsetof(struct decision, record) == 0, "decision_of() casts");

// Returns the decision that `record` is a member of.
static __always_inline struct decision *decision_of(struct decision_record *record)
{
	return (struct decision *)record;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} decisions SEC(".maps");

#endif
