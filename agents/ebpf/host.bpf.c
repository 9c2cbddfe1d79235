// Host programs: congestion control for SoftRoCE, which has no congestion control of its own.
//
// `nic_ingress` and `nic_egress` are attached at every host's NIC. `pacer_egress` and `pacer_gate` are attached at the
// two ends of one veth pair, the pacer, whose first end has an fq qdisc:
//
//   sender     rxe ──> nic_egress ──> pacer_egress, fq ──veth──> pacer_gate ──> nic_egress ──> NIC
//   receiver   NIC ──> nic_ingress ──> rxe, and for a marked packet a CNP ──> nic_egress ──> NIC
//
// A QP's data packets are parked in fq until they are due by the QP's rate. fq releases a packet at the time that
// was set when it entered, but the rate may have changed since. The gate therefore checks each packet again and
// sends it back into fq if it is early or out of turn. The order of packets is given by a number in the packet's
// mark, which is set when the packet enters the pacer. No packet is dropped, and no packet overtakes another of its
// QP.
//
// The CNP is made from a clone of the marked packet and ends at the sender's NIC, so that rxe never receives it. Its
// destination QP is the receiver's own QP with the bit CNP_QP set: the receiver does not know the sender's QP, but the
// sender can identify the flow by the receiver's QP.
//
// A paused NIC holds its packets in the pacer (nic.bpf.h).
//
// The programs need no locks, because all interfaces receive and send on one CPU.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "address.bpf.h"
#include "dcqcn.bpf.h"
#include "nic.bpf.h"

#define PACED 0x80000000U	/* mark of a packet in the pacer: this bit plus its number */
#define NUMBER 0x7fffffffU
#define CNP_REQUEST 0x434e5001U /* mark of a clone that becomes a CNP */
#define CNP_READY 0x434e5002U	/* mark of a CNP */
#define NEAR 8			/* places checked again by the rate; later places by the target */
#define AGAIN_NS 20000		/* minimum time before a packet out of turn is checked again */
#define HASH_MULTIPLIER 2654435769U /* Knuth's constant: 2^32 over the golden ratio */
#define LOST_NS (60 * NSEC_PER_SEC) /* fq's horizon: a packet still missing by then is lost */

/* Base transport header. */
#define OP_LAST_REQUEST 0x0b	/* SEND and WRITE of reliable connections: 0x00 to 0x0b */
#define OP_FIRST_RESPONSE 0x0d	/* first READ response */
#define OP_LAST_RESPONSE 0x10
#define OP_SEND_LAST_INVALIDATE 0x16 /* last or only packet of a SEND that invalidates a key */
#define OP_SEND_ONLY_INVALIDATE 0x17
#define OP_CNP 0x81		/* RoCEv2, annex A17.9.3 */
#define BECN 0x40000000U
#define QP_BITS 0xffffffU

#define CNP_TOS (48 << 2)	/* network control class (CS6) */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct host_params);
} host SEC(".maps");

// Sending QPs. The loader clears this map between repetitions.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct qp_key);
	__type(value, struct paced_qp);
} senders SEC(".maps");

// Receiving QPs that have received marked packets.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct qp_key);
	__type(value, struct marked_qp);
} receivers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct host_counters);
} host_counts SEC(".maps");

struct roce_headers {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	__u8 opcode;
	__u8 flags;
	__be16 partition;
	__be32 dest_qp;
	__be32 psn;
} __attribute__((packed));

// Reads the headers of a RoCEv2 packet; returns 0 for any other packet.
static __always_inline int read_headers(struct __sk_buff *skb, struct roce_headers *headers)
{
	if (skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, 0, headers, sizeof(*headers)))
		return 0;
	return headers->ip.ihl == 5 && headers->ip.protocol == IPPROTO_UDP &&
	       headers->udp.dest == bpf_htons(ROCE_PORT);
}

static __always_inline int is_data(__u8 opcode)
{
	return opcode <= OP_LAST_REQUEST ||
	       (opcode >= OP_FIRST_RESPONSE && opcode <= OP_LAST_RESPONSE) ||
	       opcode == OP_SEND_LAST_INVALIDATE || opcode == OP_SEND_ONLY_INVALIDATE;
}

// Returns the key of a data packet's QP.
static __always_inline struct qp_key data_key(const struct roce_headers *headers)
{
	struct qp_key key = {
		.src = headers->ip.saddr,
		.dst = headers->ip.daddr,
		.dest_qp = bpf_ntohl(headers->dest_qp) & QP_BITS,
	};

	return key;
}

static __always_inline const struct host_params *params(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host, &zero);
}

static __always_inline struct host_counters *counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host_counts, &zero);
}

// Returns the transmission time of `bytes` at the QP's rate.
static __always_inline __u64 wire_time(const struct paced_qp *qp, __u64 bytes)
{
	return time_at(qp->point.rate_bps, bytes);
}

// Returns the time from which the QP's next packet may leave.
static __always_inline __u64 due_time(const struct paced_qp *qp)
{
	return qp->last_tx_ns + wire_time(qp, qp->last_bytes);
}

// Drops a packet and counts it.
static __always_inline int dropped(void)
{
	struct host_counters *count = counts();

	if (count)
		count->dropped++;
	return TC_ACT_SHOT;
}

// Turns the clone of a marked packet into a CNP, and sends it again, so that queues account for its new length.
static __always_inline int make_cnp(struct __sk_buff *skb, const struct roce_headers *data)
{
	struct {
		struct roce_headers headers;
		__u8 reserved[16];
		__be32 icrc; /* never read: rxe does not receive CNPs */
	} __attribute__((packed)) cnp = {};
	struct roce_headers *headers = &cnp.headers;
	__u32 qp = bpf_ntohl(data->dest_qp) & QP_BITS, sum = 0;
	union {
		struct iphdr header;
		__u16 words[10];
	} ip = {
		.header = {
			.version = 4,
			.ihl = 5,
			.tos = CNP_TOS,
			.tot_len = bpf_htons(sizeof(cnp) - sizeof(struct ethhdr)),
			.frag_off = bpf_htons(0x4000), /* do not fragment */
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.saddr = data->ip.daddr,
			.daddr = data->ip.saddr,
		},
	};

	for (int word = 0; word < 10; word++)
		sum += ip.words[word];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip.header.check = ~sum;
	__builtin_memcpy(headers->eth.h_dest, data->eth.h_source, ETH_ALEN);
	__builtin_memcpy(headers->eth.h_source, data->eth.h_dest, ETH_ALEN);
	headers->eth.h_proto = bpf_htons(ETH_P_IP);
	headers->ip = ip.header;
	// Both directions of a connection use the same source port, so that switches send CNPs over the path of the ACKs:
	// https://github.com/torvalds/linux/blob/v6.1/include/rdma/ib_verbs.h, rdma_get_udp_sport
	headers->udp.source = data->udp.source;
	headers->udp.dest = bpf_htons(ROCE_PORT);
	headers->udp.len = bpf_htons(sizeof(cnp) - sizeof(struct ethhdr) - sizeof(struct iphdr));
	headers->opcode = OP_CNP;
	headers->partition = 0xffff;
	headers->dest_qp = bpf_htonl(BECN | CNP_QP | qp);
	if (bpf_skb_change_tail(skb, sizeof(cnp), 0) ||
	    bpf_skb_store_bytes(skb, 0, &cnp, sizeof(cnp), 0)) {
		struct host_counters *count = counts();

		if (count)
			count->lost_cnps++;
		return TC_ACT_SHOT;
	}
	skb->mark = CNP_READY;
	return bpf_redirect(skb->ifindex, 0);
}

// Returns the row of a sending QP, created at the QP's first packet; null if the map is full.
static __always_inline struct paced_qp *find_sender(struct __sk_buff *skb, const struct qp_key *key,
						    const struct host_params *params)
{
	struct paced_qp *qp = bpf_map_lookup_elem(&senders, key);
	struct paced_qp first = {};
	__u32 ifindex = skb->ifindex;
	const struct nic *nic;

	if (qp)
		return qp;
	nic = bpf_map_lookup_elem(&nics, &ifindex);
	if (!nic)
		return 0;
	dcqcn_start(&first.point, &params->law, nic->line_bps);
	first.nic = ifindex;
	if (bpf_map_update_elem(&senders, key, &first, BPF_NOEXIST))
		return 0;
	return bpf_map_lookup_elem(&senders, key);
}

// Egress of a NIC: redirects data packets through the pacer first.
SEC("classifier")
int nic_egress(struct __sk_buff *skb)
{
	const struct host_params *host_params = params();
	struct host_counters *count = counts();
	struct roce_headers headers;
	struct qp_key key;

	if (!host_params || !count || skb->mark & PACED || skb->mark == CNP_READY ||
	    !read_headers(skb, &headers))
		return TC_ACT_OK;
	if (skb->mark == CNP_REQUEST)
		return make_cnp(skb, &headers);
	if (!is_data(headers.opcode))
		return TC_ACT_OK;
	key = data_key(&headers);
	if (!find_sender(skb, &key, host_params)) {
		count->unpaced++;
		return TC_ACT_OK;
	}
	return bpf_redirect(host_params->pacer, 0);
}

// Returns `addr` in the form that is hashed; both are in network byte order.
static __always_inline __be32 hashed(__be32 addr)
{
	return bpf_htonl(without_slot(bpf_ntohl(addr)));
}

// Returns a 24-bit hash that separates packets in the pacer; it is the same in every slot of a lab.
static __always_inline __u32 packet_hash(__u32 number, const struct qp_key *key)
{
	__u32 hash = number * HASH_MULTIPLIER ^ key->dest_qp;

	hash = hash * HASH_MULTIPLIER ^ hashed(key->src);
	return (hash * HASH_MULTIPLIER ^ hashed(key->dst)) * HASH_MULTIPLIER >> 8;
}

// Egress of the pacer, before its fq: sets the time until which the packet is parked.
//
// A packet's place is the number of its QP's packets before it. The first packet is due by the QP's rate. In the
// artifact's law the rate stays or falls until the timer's next raise, so packets are checked again when they are due, or
// at the raise. In the published law, bytes raise the rate too and the timer is fast: the next few packets are checked
// when they are due at the present rate, later packets when they are due at 9/8 of the target rate. The fewer packets are
// ahead, the sooner a packet is checked again, so that it misses a raise by at most a few timer intervals. No packet is
// checked before its turn at the NIC can come.
SEC("classifier")
int pacer_egress(struct __sk_buff *skb)
{
	const struct host_params *host_params = params();
	__u64 now, due, until, latest, place, unit, rate;
	struct roce_headers headers;
	const struct nic *nic;
	struct paced_qp *qp;
	struct qp_key key;
	int is_artifact;

	// Packets of the machine itself do not belong here.
	if (!host_params || !read_headers(skb, &headers))
		return TC_ACT_SHOT;
	key = data_key(&headers);
	qp = bpf_map_lookup_elem(&senders, &key);
	if (!qp || host_params->is_closing)
		return dropped();
	nic = bpf_map_lookup_elem(&nics, &qp->nic);
	if (!nic)
		return dropped();
	now = bpf_ktime_get_ns();
	dcqcn_on_timer(&qp->point, &host_params->law, now);
	due = due_time(qp);
	if (!(skb->mark & PACED)) {
		__u32 parked;

		skb->mark = PACED | (qp->next_in & NUMBER);
		qp->next_in++;
		parked = qp->next_in - qp->next_out;
		if (parked > qp->max_parked)
			qp->max_parked = parked;
	}
	is_artifact = dcqcn_is_artifact(&host_params->law);
	place = (skb->mark - qp->next_out) & NUMBER;
	until = due;
	if (place) {
		if (until < now) /* the first one is late */
			until = now;
		rate = is_artifact || place <= NEAR
			       ? qp->point.rate_bps
			       : qp->point.target_bps + (qp->point.target_bps >> 3);
		until += time_at(rate, place * skb->len);
	}
	if (is_artifact) {
		latest = qp->point.increase_due;
	} else {
		unit = host_params->law.increase_interval;
		if (unit < host_params->horizon_ns)
			unit = host_params->horizon_ns;
		latest = now + (place < NEAR ? place + 1 : NEAR) * unit;
	}
	if (until > latest)
		until = latest;
	if (qp->ticket) {
		__u64 turn = time_of_turn(nic, qp->ticket, place);

		// A QP keeps its ticket even if a CNP has delayed the packet's due time since then.
		if (until < turn || !place)
			until = turn;
	}
	if (place && until < now + AGAIN_NS)
		until = now + AGAIN_NS;
	if (until < now)
		until = now;
	skb->tstamp = until;
	// fq orders by flow: packets of one hash would wait for the earliest one queued. So each packet gets its own hash.
	bpf_set_hash(skb, packet_hash(skb->mark, &key));
	return TC_ACT_OK;
}

// Ingress at the pacer's other end: the packet leaves if it is due by the current rate, and in its turn.
SEC("classifier")
int pacer_gate(struct __sk_buff *skb)
{
	const struct host_params *host_params = params();
	struct host_counters *count = counts();
	struct roce_headers headers;
	struct paced_qp *qp;
	struct qp_key key;
	struct nic *nic;
	__u64 now, due, turn;
	__u32 place;

	// Packets of the machine itself do not belong here.
	if (!host_params || !count || !read_headers(skb, &headers))
		return TC_ACT_SHOT;
	key = data_key(&headers);
	qp = bpf_map_lookup_elem(&senders, &key);
	if (!qp || host_params->is_closing)
		return dropped();
	nic = bpf_map_lookup_elem(&nics, &qp->nic);
	if (!nic)
		return dropped();
	now = bpf_ktime_get_ns();
	dcqcn_on_timer(&qp->point, &host_params->law, now);
	due = due_time(qp);
	turn = qp->ticket ? time_of_ticket(nic, qp->ticket) : due;
	place = (skb->mark - qp->next_out) & NUMBER;
	if (place > NUMBER / 2) {
		// The code below gave this packet up as lost, and the receiver has requested it again.
		qp->out_of_order++;
		return bpf_redirect(qp->nic, 0);
	}
	if ((now < due && !qp->ticket) ||
	    (place && now < turn + LOST_NS + 2 * host_params->law.increase_interval) ||
	    (nic->quantum_ns && !may_leave(nic, qp, skb->len, now, count))) {
		qp->rounds++;
		return bpf_redirect(host_params->pacer, 0);
	}
	if (place) {
		qp->out_of_order++;
		qp->next_out += place;
	}
	// A timer delay below one packet's transmission time costs no rate; the wait for a turn or a pause does.
	qp->last_tx_ns = now - turn < wire_time(qp, skb->len) ? turn : now;
	qp->last_bytes = skb->len;
	qp->next_out++;
	qp->packets++;
	qp->bytes += skb->len;
	dcqcn_on_sent(&qp->point, &host_params->law, now, skb->len);
	return bpf_redirect(qp->nic, 0);
}

// Answers a marked packet with a CNP, unless its QP sent one within the last interval.
static __always_inline void notify(struct __sk_buff *skb, const struct qp_key *key,
				   const struct host_params *host_params,
				   struct host_counters *count)
{
	struct marked_qp *qp = bpf_map_lookup_elem(&receivers, key);

	if (!qp) {
		struct marked_qp first = {};

		bpf_map_update_elem(&receivers, key, &first, BPF_NOEXIST);
		qp = bpf_map_lookup_elem(&receivers, key);
		if (!qp) {
			count->lost_cnps++;
			return;
		}
	}
	qp->marked++;
	if (!dcqcn_on_marked(&qp->next_cnp, &host_params->law, bpf_ktime_get_ns()))
		return;
	qp->cnps++;
	skb->mark = CNP_REQUEST;
	if (bpf_clone_redirect(skb, skb->ifindex, 0))
		count->lost_cnps++;
	skb->mark = 0;
}

// Ingress of a NIC: marked data packets cause CNPs; an arriving CNP cuts its QP's rate and ends here, as does a pause.
SEC("classifier")
int nic_ingress(struct __sk_buff *skb)
{
	const struct host_params *host_params = params();
	struct host_counters *count = counts();
	struct roce_headers headers;
	struct qp_key key;

	if (!host_params || !count)
		return TC_ACT_OK;
	if (skb->protocol == bpf_htons(MAC_CONTROL)) {
		hear_pause(skb, bpf_ktime_get_ns(), count);
		return TC_ACT_SHOT;
	}
	if (!read_headers(skb, &headers))
		return TC_ACT_OK;
	if (headers.opcode == OP_CNP) {
		struct paced_qp *qp;

		key.src = headers.ip.daddr;
		key.dst = headers.ip.saddr;
		key.dest_qp = bpf_ntohl(headers.dest_qp) & QP_BITS & ~CNP_QP;
		qp = bpf_map_lookup_elem(&senders, &key);
		if (qp) {
			qp->cnps++;
			dcqcn_on_cnp(&qp->point, &host_params->law, bpf_ktime_get_ns());
		} else {
			count->stray_cnps++;
		}
		return TC_ACT_SHOT;
	}
	if (is_data(headers.opcode) && (headers.ip.tos & 3) == ECN_CE) {
		key = data_key(&headers);
		notify(skb, &key, host_params, count);
	}
	return TC_ACT_OK;
}

// Returns the hash of a paced packet, whose number and QP the packet itself contains. For a test; never attached.
SEC("classifier")
int hash_step(struct __sk_buff *skb)
{
	struct {
		struct qp_key key;
		__u32 number;
		__u32 hash;
	} step;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &step, sizeof(step)))
		return TC_ACT_SHOT;
	step.hash = packet_hash(step.number, &step.key);
	if (bpf_skb_store_bytes(skb, ETH_HLEN, &step, sizeof(step), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

// Performs one step of the law on a state that the packet carries in and out. For the self-test; never attached.
SEC("classifier")
int law_step(struct __sk_buff *skb)
{
	struct law_step step;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &step, sizeof(step)))
		return TC_ACT_SHOT;
	switch (step.event) {
	case LAW_START:
		dcqcn_start(&step.point, &step.params, step.point.line_bps);
		break;
	case LAW_TIMER:
		dcqcn_on_timer(&step.point, &step.params, step.now);
		break;
	case LAW_SENT:
		dcqcn_on_sent(&step.point, &step.params, step.now, step.bytes);
		break;
	case LAW_CNP:
		dcqcn_on_cnp(&step.point, &step.params, step.now);
		break;
	case LAW_MARKED:
		step.cnps += dcqcn_on_marked(&step.next_cnp, &step.params, step.now);
		break;
	case LAW_QUEUED:
		step.is_marked = dcqcn_marks(&step.congestion, step.queue, step.dice);
		break;
	}
	if (bpf_skb_store_bytes(skb, ETH_HLEN, &step, sizeof(step), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
