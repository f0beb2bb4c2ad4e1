// SPDX-License-Identifier: Apache-2.0
// Queueing disciplines, classifiers and their counters by rtnetlink.
//
// Two shapers of one rate: TBF, and one class of HTB with a FIFO behind it; HTB may have queues of
// strict priority instead, whose handles are those that the classifier of bpf/classes says. Rates
// above 4 GB/s need
// 64-bit attributes beside the old structures, whose fields are 32 bits wide.

#include "bpf/classes/classes_types.h"
#include "message.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/tc_act/tc_mirred.h>
#include <string.h>

static const uint32_t root_handle = CLASSES_ROOT;

static struct tcmsg *begin(struct request *request, struct weft_netlink *netlink, uint16_t type,
                           uint16_t flags, uint32_t index, const char *kind)
{
    struct tcmsg *body =
        weft_request_begin(request, netlink, (struct request_head){type, flags, sizeof *body},
                           "%s of link %u", kind, index);
    body->tcm_family = AF_UNSPEC;
    body->tcm_ifindex = (int)index;
    mnl_attr_put_strz(request->header, TCA_KIND, kind);
    return body;
}

static struct tc_ratespec rate_of(const struct weft_shaper *shape)
{
    return (struct tc_ratespec){
        .rate = shape->rate_Bps >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)shape->rate_Bps,
        .linklayer = TC_LINKLAYER_ETHERNET,
    };
}

// A burst in the scheduler's ticks of 64 ns.
static uint32_t ticks_of(const struct weft_shaper *shape)
{
    double ticks = shape->burst_bytes / shape->rate_Bps * 1e9 / 64;
    return ticks >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)ticks + 1;
}

bool weft_qdisc_tbf(struct weft_netlink *netlink, uint32_t index, const struct weft_shaper *shape,
                    struct weft_error *error)
{
    struct request request;
    WEFT_ASSERT(shape->rate_Bps >= 1 && shape->burst_bytes > 0);
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, index, "tbf");
    // Without a handle the kernel replaces a root of another kind, too.
    body->tcm_parent = TC_H_ROOT;
    struct tc_tbf_qopt options = {.rate = rate_of(shape), .limit = shape->limit_bytes};
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put(request.header, TCA_TBF_PARMS, sizeof options, &options);
    mnl_attr_put_u32(request.header, TCA_TBF_BURST, shape->burst_bytes);
    if (shape->rate_Bps >= (double)UINT32_MAX) {
        mnl_attr_put_u64(request.header, TCA_TBF_RATE64, (uint64_t)shape->rate_Bps);
    }
    mnl_attr_nest_end(request.header, nest);
    return weft_request_send(&request, NULL, NULL, error);
}

// What matches no class goes to that of `minor`.
static bool htb_root(struct weft_netlink *netlink, uint32_t index, uint32_t minor,
                     struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, index, "htb");
    body->tcm_handle = root_handle;
    body->tcm_parent = TC_H_ROOT;
    struct tc_htb_glob options = {.version = 3, .rate2quantum = 10, .defcls = minor};
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put(request.header, TCA_HTB_INIT, sizeof options, &options);
    mnl_attr_nest_end(request.header, nest);
    return weft_request_send(&request, NULL, NULL, error);
}

// A class of HTB. It may send at `shape` as far as its parent does, and `is_own` says whether that
// much is its own: else nearly all is borrowed from the parent, by priority.
struct htb_place {
    uint32_t handle;
    uint32_t parent;
    uint32_t priority;
    bool is_own;
};

static bool htb_class(struct weft_netlink *netlink, uint32_t index, const struct htb_place *place,
                      const struct weft_shaper *shape, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWTCLASS, NLM_F_CREATE | NLM_F_EXCL, index, "htb");
    body->tcm_handle = place->handle;
    body->tcm_parent = place->parent;
    struct tc_htb_opt options = {
        .rate = rate_of(shape),
        .ceil = rate_of(shape),
        .buffer = ticks_of(shape),
        .cbuffer = ticks_of(shape),
        .quantum = shape->burst_bytes,
        .prio = place->priority,
    };
    if (!place->is_own) {
        // The least that HTB takes: a packet in a minute, the kernel's longest debt.
        options.rate.rate = 1;
        options.buffer = 1;
    }
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put(request.header, TCA_HTB_PARMS, sizeof options, &options);
    if (shape->rate_Bps >= (double)UINT32_MAX) {
        mnl_attr_put_u64(request.header, TCA_HTB_RATE64,
                         place->is_own ? (uint64_t)shape->rate_Bps : 1);
        mnl_attr_put_u64(request.header, TCA_HTB_CEIL64, (uint64_t)shape->rate_Bps);
    }
    mnl_attr_nest_end(request.header, nest);
    return weft_request_send(&request, NULL, NULL, error);
}

// The FIFO behind a class; handle 0: the kernel's choice.
static bool htb_leaf(struct weft_netlink *netlink, uint32_t index, const struct htb_place *place,
                     uint32_t limit_bytes, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, index, "bfifo");
    body->tcm_handle = place->handle;
    body->tcm_parent = place->parent;
    struct tc_fifo_qopt options = {.limit = limit_bytes};
    mnl_attr_put(request.header, TCA_OPTIONS, sizeof options, &options);
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_qdisc_htb(struct weft_netlink *netlink, uint32_t index, const struct weft_shaper *shape,
                    struct weft_error *error)
{
    const struct htb_place all = {root_handle | 1, root_handle, 0, true};
    const struct htb_place leaf = {.parent = root_handle | 1};
    WEFT_ASSERT(shape->rate_Bps >= 1 && shape->burst_bytes > 0);
    // HTB's parameters cannot be changed in place: the root is made anew.
    return weft_qdisc_delete(netlink, index, error) && htb_root(netlink, index, 1, error) &&
           htb_class(netlink, index, &all, shape, error) &&
           htb_leaf(netlink, index, &leaf, shape->limit_bytes, error);
}

// One class has the rate of all; those of the queues borrow it, which HTB grants in the order of
// their priorities.
bool weft_qdisc_queues(struct weft_netlink *netlink, uint32_t index,
                       const struct weft_shaper *shape, uint32_t queue_count,
                       struct weft_error *error)
{
    const struct htb_place all = {root_handle | 1, root_handle, 0, true};
    WEFT_ASSERT(shape->rate_Bps >= 1 && shape->burst_bytes > 0);
    WEFT_ASSERT(queue_count >= 1 && queue_count <= TC_HTB_NUMPRIO);
    static_assert(CLASSES_QUEUES_MAX + 1 == TC_HTB_NUMPRIO, "control's queue and the others");
    if (!weft_qdisc_delete(netlink, index, error) ||
        !htb_root(netlink, index, CLASSES_MINOR + queue_count - 1, error) ||
        !htb_class(netlink, index, &all, shape, error)) {
        return false;
    }
    for (uint32_t i = 0; i < queue_count; i++) {
        const struct htb_place queue = {root_handle | (CLASSES_MINOR + i), root_handle | 1, i,
                                        false};
        const struct htb_place leaf = {.handle = CLASSES_LEAF + (i << 16), .parent = queue.handle};
        if (!htb_class(netlink, index, &queue, shape, error) ||
            !htb_leaf(netlink, index, &leaf, shape->limit_bytes, error)) {
            return false;
        }
    }
    return true;
}

bool weft_qdisc_delete(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        weft_request_begin(&request, netlink, (struct request_head){RTM_DELQDISC, 0, sizeof *body},
                           "removing the qdisc of link %u", index);
    body->tcm_family = AF_UNSPEC;
    body->tcm_ifindex = (int)index;
    body->tcm_parent = TC_H_ROOT;
    request.absent = ENOENT;
    return weft_request_send(&request, NULL, NULL, error);
}

bool weft_qdisc_clsact(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, index, "clsact");
    body->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
    body->tcm_parent = TC_H_CLSACT;
    request.absent = EEXIST;
    return weft_request_send(&request, NULL, NULL, error);
}

static uint32_t hook_of(bool egress)
{
    return TC_H_MAKE(TC_H_CLSACT, egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
}

bool weft_filter_bpf(struct weft_netlink *netlink, uint32_t index, const struct weft_filter *filter,
                     struct weft_error *error)
{
    struct request request;
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, index, "bpf");
    body->tcm_parent = hook_of(filter->egress);
    body->tcm_handle = 1;
    body->tcm_info = TC_H_MAKE(filter->priority << 16, htons(ETH_P_ALL));
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put_u32(request.header, TCA_BPF_FD, (uint32_t)filter->program_fd);
    mnl_attr_put_strz(request.header, TCA_BPF_NAME, filter->name);
    mnl_attr_put_u32(request.header, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
    mnl_attr_nest_end(request.header, nest);
    return weft_request_send(&request, NULL, NULL, error);
}

// A filter that any frame meets (u32 with a key of no bits), and its one action: out by that link.
bool weft_filter_redirect(struct weft_netlink *netlink, uint32_t index, uint32_t output,
                          uint32_t priority, struct weft_error *error)
{
    struct request request;
    const struct tc_mirred parameters = {
        .action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = output};
    _Alignas(struct tc_u32_sel) char all[sizeof(struct tc_u32_sel) + sizeof(struct tc_u32_key)] = {
        0};
    *(struct tc_u32_sel *)(void *)all = (struct tc_u32_sel){.flags = TC_U32_TERMINAL, .nkeys = 1};
    struct tcmsg *body =
        begin(&request, netlink, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, index, "u32");
    body->tcm_parent = hook_of(false);
    body->tcm_info = TC_H_MAKE(priority << 16, htons(ETH_P_ALL));
    struct nlattr *nest = mnl_attr_nest_start(request.header, TCA_OPTIONS);
    mnl_attr_put(request.header, TCA_U32_SEL, sizeof all, all);
    struct nlattr *actions = mnl_attr_nest_start(request.header, TCA_U32_ACT);
    struct nlattr *first = mnl_attr_nest_start(request.header, 1);
    mnl_attr_put_strz(request.header, TCA_ACT_KIND, "mirred");
    struct nlattr *options = mnl_attr_nest_start(request.header, TCA_ACT_OPTIONS);
    mnl_attr_put(request.header, TCA_MIRRED_PARMS, sizeof parameters, &parameters);
    mnl_attr_nest_end(request.header, options);
    mnl_attr_nest_end(request.header, first);
    mnl_attr_nest_end(request.header, actions);
    mnl_attr_nest_end(request.header, nest);
    return weft_request_send(&request, NULL, NULL, error);
}

// The attribute of that type in a nest; NULL = none.
static const struct nlattr *find_nested(const struct nlattr *nest, uint16_t type)
{
    const struct nlattr *attribute = NULL;
    if (nest == NULL) {
        return NULL;
    }
    WEFT_EACH_NESTED(attribute, nest)
    {
        if (mnl_attr_get_type(attribute) == type) {
            return attribute;
        }
    }
    return NULL;
}

static int take_redirection(const struct nlmsghdr *header, void *context)
{
    uint32_t *output = context;
    const struct nlattr *attribute = NULL;
    WEFT_EACH_ATTRIBUTE(attribute, header, sizeof(struct tcmsg))
    {
        if (mnl_attr_get_type(attribute) != TCA_OPTIONS) {
            continue;
        }
        const struct nlattr *action = find_nested(find_nested(attribute, TCA_U32_ACT), 1);
        const struct nlattr *found =
            find_nested(find_nested(action, TCA_ACT_OPTIONS), TCA_MIRRED_PARMS);
        if (found != NULL && mnl_attr_get_payload_len(found) >= sizeof(struct tc_mirred)) {
            struct tc_mirred parameters;
            memcpy(&parameters, mnl_attr_get_payload(found), sizeof parameters);
            *output = parameters.ifindex;
        }
    }
    return MNL_CB_OK;
}

static bool dump_filters(struct weft_netlink *netlink, uint32_t index, bool egress, mnl_cb_t take,
                         void *context, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body = weft_request_begin(
        &request, netlink, (struct request_head){RTM_GETTFILTER, NLM_F_DUMP, sizeof *body},
        "filters of link %u", index);
    body->tcm_family = AF_UNSPEC;
    body->tcm_ifindex = (int)index;
    body->tcm_parent = hook_of(egress);
    return weft_request_send(&request, take, context, error);
}

bool weft_filter_redirected(uint32_t *output, struct weft_netlink *netlink, uint32_t index,
                            struct weft_error *error)
{
    *output = 0;
    return dump_filters(netlink, index, false, take_redirection, output, error);
}

struct wanted_program {
    const char *name;
    uint32_t id;
};

static int take_program(const struct nlmsghdr *header, void *context)
{
    struct wanted_program *wanted = context;
    const struct nlattr *attribute = NULL;
    WEFT_EACH_ATTRIBUTE(attribute, header, sizeof(struct tcmsg))
    {
        if (mnl_attr_get_type(attribute) != TCA_OPTIONS) {
            continue;
        }
        const struct nlattr *name = find_nested(attribute, TCA_BPF_NAME);
        const struct nlattr *id = find_nested(attribute, TCA_BPF_ID);
        if (name != NULL && id != NULL && mnl_attr_get_payload_len(id) >= sizeof wanted->id &&
            strncmp(mnl_attr_get_payload(name), wanted->name, mnl_attr_get_payload_len(name)) ==
                0) {
            memcpy(&wanted->id, mnl_attr_get_payload(id), sizeof wanted->id);
        }
    }
    return MNL_CB_OK;
}

bool weft_filter_program(uint32_t *id, struct weft_netlink *netlink, uint32_t index, bool egress,
                         const char *name, struct weft_error *error)
{
    struct wanted_program wanted = {.name = name};
    if (!dump_filters(netlink, index, egress, take_program, &wanted, error)) {
        return false;
    }
    *id = wanted.id;
    return true;
}

bool weft_filter_delete(struct weft_netlink *netlink, uint32_t index, bool egress,
                        uint32_t priority, struct weft_error *error)
{
    struct request request;
    struct tcmsg *body = weft_request_begin(&request, netlink,
                                            (struct request_head){RTM_DELTFILTER, 0, sizeof *body},
                                            "removing a filter of link %u", index);
    body->tcm_family = AF_UNSPEC;
    body->tcm_ifindex = (int)index;
    body->tcm_parent = hook_of(egress);
    body->tcm_info = TC_H_MAKE(priority << 16, htons(ETH_P_ALL));
    request.absent = ENOENT;
    return weft_request_send(&request, NULL, NULL, error);
}

// ---- counters ----

// Counters of a queueing discipline from its nested attributes. Newer kernels tell the number of
// packets in 64 bits beside the 32 of the basic structure; the larger one is right.
static void take_stats(const struct nlattr *nest, struct weft_qdisc_counters *counters)
{
    const struct nlattr *attribute = NULL;
    WEFT_EACH_NESTED(attribute, nest)
    {
        const void *payload = mnl_attr_get_payload(attribute);
        size_t size = mnl_attr_get_payload_len(attribute);
        uint16_t type = mnl_attr_get_type(attribute);
        if (type == TCA_STATS_QUEUE && size >= sizeof(struct gnet_stats_queue)) {
            struct gnet_stats_queue queue;
            memcpy(&queue, payload, sizeof queue);
            counters->dropped_packets = queue.drops;
            counters->overlimits = queue.overlimits;
            counters->backlog_bytes = queue.backlog;
            counters->backlog_packets = queue.qlen;
        } else if (type == TCA_STATS_BASIC && size >= sizeof(struct gnet_stats_basic)) {
            struct gnet_stats_basic basic;
            memcpy(&basic, payload, sizeof basic);
            counters->sent_bytes = basic.bytes;
            if (counters->sent_packets < basic.packets) {
                counters->sent_packets = basic.packets;
            }
        } else if (type == TCA_STATS_PKT64 && size >= sizeof(uint64_t)) {
            memcpy(&counters->sent_packets, payload, sizeof(uint64_t));
        }
    }
}

// What is asked for: a link's root, or the classes of its queues.
struct wanted {
    uint32_t index;
    uint32_t queue_count; // 0: the root
    struct weft_qdisc_counters *counters;
};

static int take_counters(const struct nlmsghdr *header, void *context)
{
    const struct wanted *wanted = context;
    const struct tcmsg *body = mnl_nlmsg_get_payload(header);
    uint32_t queue = body->tcm_handle - (root_handle | CLASSES_MINOR);
    if ((uint32_t)body->tcm_ifindex != wanted->index ||
        (wanted->queue_count == 0 ? body->tcm_parent != TC_H_ROOT : queue >= wanted->queue_count)) {
        return MNL_CB_OK;
    }
    const struct nlattr *attribute = NULL;
    WEFT_EACH_ATTRIBUTE(attribute, header, sizeof *body)
    {
        if (mnl_attr_get_type(attribute) == TCA_STATS2) {
            take_stats(attribute, &wanted->counters[wanted->queue_count == 0 ? 0 : queue]);
        }
    }
    return MNL_CB_OK;
}

static bool dump_counters(const struct wanted *wanted, struct weft_netlink *netlink, uint16_t type,
                          struct weft_error *error)
{
    struct request request;
    struct wanted copy = *wanted;
    struct tcmsg *body =
        weft_request_begin(&request, netlink, (struct request_head){type, NLM_F_DUMP, sizeof *body},
                           "counters of link %u", wanted->index);
    body->tcm_family = AF_UNSPEC;
    body->tcm_ifindex = (int)wanted->index;
    return weft_request_send(&request, take_counters, &copy, error);
}

bool weft_qdisc_counters(struct weft_qdisc_counters *counters, struct weft_netlink *netlink,
                         uint32_t index, struct weft_error *error)
{
    struct weft_qdisc_counters found = {0};
    if (!dump_counters(&(struct wanted){index, 0, &found}, netlink, RTM_GETQDISC, error)) {
        return false;
    }
    *counters = found;
    return true;
}

bool weft_qdisc_queue_counters(struct weft_qdisc_counters *counters, struct weft_netlink *netlink,
                               uint32_t index, uint32_t queue_count, struct weft_error *error)
{
    WEFT_ASSERT(queue_count >= 1);
    memset(counters, 0, queue_count * sizeof counters[0]);
    return dump_counters(&(struct wanted){index, queue_count, counters}, netlink, RTM_GETTCLASS,
                         error);
}
