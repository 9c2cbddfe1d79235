// Packet source and sink of the forwarding benchmark.
//
// `source` runs on frames that the kernel generates (BPF_PROG_TEST_RUN with live frames) and passes them
// on as received by its interface. A frame is reused as its last run left it, so every field that
// forwarding changes is written again. `sink` counts and drops frames at the other end, before the
// kernel spends time on them.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

#define HEADERS (sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr))

struct source {
	__u8 frame[48]; /* HEADERS of it count */
	__u64 flows; /* number of source ports used in turn, from the frame's on */
	__u64 sent;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct source);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} arrived SEC(".maps");

SEC("xdp")
int source(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0;
	struct source *from = bpf_map_lookup_elem(&sources, &zero);
	struct udphdr *udp;

	if (!from || data + HEADERS > end)
		return XDP_ABORTED;
	__builtin_memcpy(data, from->frame, HEADERS);
	udp = data + sizeof(struct ethhdr) + sizeof(struct iphdr);
	if (from->flows > 1)
		udp->source = bpf_htons(bpf_ntohs(udp->source) + from->sent % from->flows);
	from->sent++;
	return XDP_PASS;
}

// Makes the interface one that live frames may come from; drops the frames of its neighbour.
SEC("xdp")
int drop_received(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_DROP;
}

SEC("classifier")
int sink(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct udphdr *udp = (void *)(ip + 1);
	__u32 zero = 0;
	__u64 *count;

	// Neighbour discovery of the interfaces is not counted.
	if (skb->protocol != bpf_htons(ETH_P_IP) || (void *)(udp + 1) > end ||
	    ip->protocol != IPPROTO_UDP || udp->dest != bpf_htons(ROCE_PORT))
		return TC_ACT_OK;
	count = bpf_map_lookup_elem(&arrived, &zero);
	if (count)
		(*count)++;
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "GPL";
