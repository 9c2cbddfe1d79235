// PFC at a switch: a shared buffer, counted per ingress port, and pauses of the hosts that fill it.
//
// The buffer follows the rules of HPCC's NS-3 switch: a port has a reserve, then a share of the free bytes, and after a
// pause its headroom (orchestrator/sim/src/mmu.rs has the same rules). A packet leaves when its egress queue has sent all
// packets before it. This time is known on arrival, so a calendar counts the bytes that leave in each time slot. A pause
// lasts until the slot after which the sender may resume if nobody else sends. It is an IEEE 802.1Qbb frame, which the
// host's programs process. Only hosts can be paused.
//
// The program needs no locks, because all interfaces receive on one CPU.
#ifndef LAB_PFC_BPF_H
#define LAB_PFC_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "branch_free.bpf.h"

#define PAUSE_REQUEST 0x50460000U /* mark of a clone that becomes a pause; the low bits are its quanta */
#define MAX_QUANTA 0xffffU

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shared_buffer);
} buffers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALENDAR_SLOTS);
	__type(key, __u32);
	__type(value, struct calendar_slot);
} calendar SEC(".maps");

struct pfc_frame {
	struct ethhdr eth;
	__be16 opcode;
	__be16 priorities; /* bit n: the n-th time is valid */
	__be16 quanta[8];
	__u8 pad[ETH_ZLEN - sizeof(struct ethhdr) - 20];
} __attribute__((packed));

// Returns the switch's buffer; null if the switch has no PFC.
static __always_inline struct shared_buffer *shared_buffer(void)
{
	__u32 zero = 0;
	struct shared_buffer *buffer = bpf_map_lookup_elem(&buffers, &zero);

	return buffer && buffer->shared ? buffer : 0;
}

// Returns the slot of an ingress port, or the last slot for an unknown interface. The kernel verifies a global function
// once instead of once per path through its loop.
__noinline int ingress_slot(__u32 ifindex)
{
	__u32 slot, zero = 0;
	const struct shared_buffer *buffer = bpf_map_lookup_elem(&buffers, &zero);

	if (!buffer)
		return 0;
	for (slot = 0; slot < MAX_PORTS - 1; slot++)
		if (slot >= buffer->count || buffer->ports[slot].ifindex == ifindex)
			break;
	return slot;
}

static __always_inline __u64 beyond_reserve(__u64 bytes)
{
	return bytes - lesser(bytes, RESERVE_BYTES);
}

// Returns the number of shared bytes that a port may use.
static __always_inline __u64 share(__u64 shared, __u64 used, __u32 shift)
{
	return (shared > used ? shared - used : 0) >> (shift & 63);
}

// Counts a packet of an ingress port; returns 0 if the buffer has no room for it.
static __always_inline int admit(struct shared_buffer *buffer, struct ingress_port *port, __u64 bytes)
{
	__u64 limit = share(buffer->shared, buffer->used, port->threshold_shift);
	__u64 after = port->bytes + bytes, shared = beyond_reserve(after);

	if (port->headroom_bytes + bytes > port->headroom &&
	    beyond_reserve(port->bytes) + bytes > limit)
		return 0;
	if (shared > limit) {
		port->headroom_bytes += bytes;
	} else {
		port->bytes = after;
		buffer->used += shared < bytes ? shared : bytes;
	}
	return 1;
}

// Releases bytes of an ingress port: first bytes in its headroom, then shared bytes. Branch-free, because it runs for
// each port of a slot; all counts are below 2^63, as lesser() requires.
static __always_inline void release(__u64 *used, struct ingress_port *port, __u64 bytes)
{
	__u64 late = lesser(port->headroom_bytes, bytes), early = bytes - late;
	__u64 shared = lesser(beyond_reserve(port->bytes), early);

	port->headroom_bytes -= late;
	port->bytes -= early;
	*used -= lesser(*used, shared);
}

// Releases the bytes that leave in one slot of the calendar.
static long empty_slot(__u32 index, __u64 *from)
{
	__u32 slot = (*from + index) & (CALENDAR_SLOTS - 1), zero = 0;
	struct shared_buffer *buffer = bpf_map_lookup_elem(&buffers, &zero);
	struct calendar_slot *leaving = bpf_map_lookup_elem(&calendar, &slot);

	if (!buffer || !leaving)
		return 1;
	if (!leaving->total)
		return 0;
	for (__u32 port = 0; port < MAX_PORTS && port < buffer->count; port++) {
		release(&buffer->used, &buffer->ports[port], leaving->bytes[port]);
		leaving->bytes[port] = 0;
	}
	leaving->total = 0;
	return 0;
}

// Releases the bytes that have left by `now`.
static __always_inline void advance(struct shared_buffer *buffer, __u64 now)
{
	__u64 slot = now >> (buffer->slot_bits & 63), from = buffer->slot, passed = slot - from;

	if (!passed)
		return;
	bpf_loop(passed < CALENDAR_SLOTS ? passed : CALENDAR_SLOTS, empty_slot, &from, 0);
	buffer->slot = slot;
}

// Adds a counted packet that leaves after `wait` to the calendar.
static __always_inline void leave_after(struct shared_buffer *buffer, __u32 port, __u64 now, __u64 wait,
					__u32 bytes)
{
	__u64 slots = ((now + wait) >> (buffer->slot_bits & 63)) - buffer->slot;
	__u32 slot = (buffer->slot + (slots < CALENDAR_SLOTS ? slots : CALENDAR_SLOTS - 1)) &
		     (CALENDAR_SLOTS - 1);
	struct calendar_slot *leaving = bpf_map_lookup_elem(&calendar, &slot);

	if (!leaving)
		return;
	leaving->bytes[port & (MAX_PORTS - 1)] += bytes;
	leaving->total += bytes;
}

// Predicted state of the buffer, used to search for the end of a pause.
struct outlook {
	__u64 from; /* current slot */
	__u64 shared;
	__u64 used;
	__u64 others_headroom; /* headroom bytes of the other ports */
	struct ingress_port port;
	__u32 place; /* slot of the port */
	__u32 slots; /* slots passed so far */
};

// Returns the sum of all ports' headroom bytes except those of `place`, which is below `count`. Subtracting instead of
// skipping saves the verifier a branch for each port. The kernel verifies a global function once.
__noinline __u64 others_headroom(__u32 place)
{
	__u32 slot, zero = 0;
	__u64 sum = 0;
	const struct shared_buffer *buffer = bpf_map_lookup_elem(&buffers, &zero);

	if (!buffer)
		return 0;
	for (slot = 0; slot < MAX_PORTS && slot < buffer->count; slot++)
		sum += buffer->ports[slot].headroom_bytes;
	return sum - buffer->ports[place & (MAX_PORTS - 1)].headroom_bytes;
}

// Advances the prediction by one slot; ends the search once the port's sender may resume.
static long look_ahead(__u32 index, struct outlook *outlook)
{
	__u32 slot = (outlook->from + index) & (CALENDAR_SLOTS - 1);
	const struct calendar_slot *leaving = bpf_map_lookup_elem(&calendar, &slot);
	struct ingress_port *port = &outlook->port;
	__u64 own, others, late, taken;

	if (!leaving)
		return 1;
	own = leaving->bytes[outlook->place & (MAX_PORTS - 1)];
	others = leaving->total - own; /* their reserves are small */
	release(&outlook->used, port, own);
	// Headrooms are released first, as in `release`: they are not part of the shared bytes.
	late = outlook->others_headroom < others ? outlook->others_headroom : others;
	outlook->others_headroom -= late;
	others -= late;
	outlook->used -= outlook->used < others ? outlook->used : others;
	outlook->slots = index + 1;
	taken = beyond_reserve(port->bytes);
	return !port->headroom_bytes &&
	       (!taken || taken + RESUME_OFFSET_BYTES <=
				  share(outlook->shared, outlook->used, port->threshold_shift));
}

// Returns the quanta for which the sender of `slot` must be paused from now; 0 if no new pause is needed.
static __always_inline __u32 pause_quanta(struct shared_buffer *buffer, __u32 slot, __u64 now,
					  struct counters *count)
{
	struct ingress_port *port = &buffer->ports[slot & (MAX_PORTS - 1)];
	struct outlook outlook = {
		.from = buffer->slot,
		.shared = buffer->shared,
		.used = buffer->used,
		.port = *port,
		.place = slot,
	};
	__u64 until, quanta;

	if (!port->headroom ||
	    (!port->headroom_bytes &&
	     beyond_reserve(port->bytes) <
		     share(buffer->shared, buffer->used, port->threshold_shift)))
		return 0;
	if (!port->quantum_ns) {
		count->not_paused++;
		return 0;
	}
	outlook.others_headroom = others_headroom(slot);
	bpf_loop(CALENDAR_SLOTS, look_ahead, &outlook, 0);
	until = (outlook.from + outlook.slots) << (buffer->slot_bits & 63);
	if (until <= port->paused_until_ns || until <= now)
		return 0;
	quanta = (until - now) / port->quantum_ns + 1;
	if (quanta > MAX_QUANTA)
		quanta = MAX_QUANTA;
	port->paused_until_ns = now + quanta * port->quantum_ns;
	count->pauses++;
	return quanta;
}

// Sends a pause back to the sender of `skb`. The packet's pointers are invalid afterwards.
static __always_inline void request_pause(struct __sk_buff *skb, __u32 quanta)
{
	skb->mark = PAUSE_REQUEST | quanta;
	bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	skb->mark = 0;
}

// Turns the clone of a packet into a pause, and sends it through the port at which the packet arrived. The source address
// of the frame is that of the port (IEEE 802.3, annex 31B).
static __always_inline int make_pause(struct __sk_buff *skb, const struct switch_table *switch_table)
{
	struct pfc_frame frame = {
		.eth = { .h_dest = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 },
			 .h_proto = bpf_htons(MAC_CONTROL) },
		.opcode = bpf_htons(PFC_OPCODE),
		.priorities = bpf_htons(1 << PFC_PRIORITY),
	};
	__u32 slot = ingress_slot(skb->ifindex) & (MAX_PORTS - 1);

	__builtin_memcpy(frame.eth.h_source, switch_table->ports[slot].src_mac, ETH_ALEN);
	frame.quanta[PFC_PRIORITY] = bpf_htons(skb->mark & MAX_QUANTA);
	if (bpf_skb_change_tail(skb, sizeof(frame), 0) ||
	    bpf_skb_store_bytes(skb, 0, &frame, sizeof(frame), 0))
		return TC_ACT_SHOT;
	skb->mark = 0;
	return bpf_redirect(skb->ifindex, 0);
}

static __always_inline int is_pause_request(const struct __sk_buff *skb)
{
	return (skb->mark & ~MAX_QUANTA) == PAUSE_REQUEST;
}

#endif
