// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_TESTBED_TESTBED_H
#define WEFT_RUNTIME_TESTBED_TESTBED_H

// Labs: a fabric on this machine, a network namespace for each server and each switch.
//
//   plan, fabric in words, ring or switch of N ──► wiring ──► [lab] ──► sockets, faults, checks
//
// Lab NAME owns the namespaces that begin with "weft-NAME-" and two files in WEFT_LAB_FOLDER, and
// nothing else: no interface ever stands in the namespace of the machine, so that taking the
// namespaces away takes everything away, also after a kill at any moment.
//
//   weft-NAME-s<i>     server i: ports port0.. (interface 2 + p), its address on lo
//   weft-NAME-o<p>     optical switch p: the far end of port p of server i is p<i> (2 + i)
//   weft-NAME-switch   or instead of those one bridge with a port p<i> for each server
//   weft-NAME-w<j>     or packet switches that forward by routes, which are nodes behind the
//                      servers with ports and an address like theirs
//
// Addresses are those of `weft export --format ip-routes`.

#include "bpf/classes/classes_types.h"
#include "runtime/netlink/netlink.h"
#include "runtime/ocs/ocs.h"

#include "weft/base.h"
#include "weft/format.h"
#include "weft/plan.h"

#define WEFT_LAB_FOLDER "/run/weft/lab"
#define WEFT_LAB_DEFAULT "lab"
#define WEFT_LAB_SERVERS_MAX 512u
#define WEFT_LAB_PORTS_MAX 32u
#define WEFT_LAB_SWITCHES_MAX 65024 // nodes stand in two bytes of an address
enum { WEFT_LAB_NAME_MAX = 24 };

// ---- wirings ----

// A cable between two nodes, servers or switches, from port to port; of `width` ports' rate.
struct weft_lab_cable {
    uint32_t nodes[2];
    uint32_t ports[2];
    uint32_t width;
};

// Which ports are joined and what every kernel routes by.
struct weft_lab_wiring {
    uint32_t server_count;
    uint32_t port_count;             // of a server
    const uint32_t *planes;          // port_count * server_count, as a topology's; NULL = switches
    struct weft_pair_hops next_hops; // of one switch none
    double rate_Bps;                 // planned, of a port; 0 = not planned
    // Packet switches that forward by routes; 0 = circuits, or one switch.
    uint32_t switch_count;
    uint32_t cable_count;
    const struct weft_lab_cable *cables;
};
// That of a plan. Fails with UNSUPPORTED beyond the maxima above, and as weft_routing_next_hops
// does.
bool weft_lab_wire_plan(struct weft_lab_wiring *wiring, const struct weft_plan *plan,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
// A ring both ways of 3 servers or more, two ports each, the shorter way round.
bool weft_lab_wire_ring(struct weft_lab_wiring *wiring, uint32_t server_count,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;
// One switch, one port a server.
bool weft_lab_wire_switch(struct weft_lab_wiring *wiring, uint32_t server_count,
                          struct weft_error *error) WEFT_MUST_USE;

// A reference fabric with switches: each switch is one of the lab's, each of its links a cable.
struct weft_lab_fabric {
    const char *name; // of weft_fabric_references
    uint32_t server_count;
    uint32_t degree;
    uint32_t radix;  // 0 = as the fabric's builder chooses
    double rate_Bps; // planned, of a port; 0 = not planned
};
// Routes are all shortest ones, in every kernel by ECMP. Fails with UNSUPPORTED beyond the maxima
// above, 128 servers or 127 ports of a switch, with INPUT where the fabric has no switches or
// cannot be built. O(servers^2 * links).
bool weft_lab_wire_fabric(struct weft_lab_wiring *wiring, const struct weft_lab_fabric *fabric,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error) WEFT_MUST_USE;

// ---- a lab ----

struct weft_lab {
    char name[WEFT_LAB_NAME_MAX];
    bool is_up;          // false: being raised, or left by a run that was killed
    char fabric[16];     // "plan", "ring", "switch", "leaf-spine", ...
    char plan_path[256]; // of the plan's file when it was raised; "" = none
    uint32_t server_count;
    uint32_t port_count;     // of a server
    double rate_Bps;         // of a port, as shaped
    double planned_rate_Bps; // 0 = not planned
    uint32_t mtu_bytes;
    uint32_t burst_bytes;
    uint32_t buffer_bytes;
    uint32_t mark_packets; // ports mark what finds so many waiting; 0 = never
    uint32_t marks_id;     // of the map that counts marks
    // Ports sort gradients and drop by importance; no queues: they do not.
    struct classes_settings classes;
    uint32_t classes_id; // of the map that counts classes
    bool htb;            // instead of TBF
    bool offloads;
    uint64_t dark_ns;
    uint32_t switch_count; // packet switches that forward by routes
    uint32_t degree;       // of a fabric with such switches, and
    uint32_t radix;        // as they were asked for
    uint32_t ocs_count;    // port_count, or 0 with packet switches
    struct weft_bpf_ocs ocs[WEFT_LAB_PORTS_MAX];
};

// What a user may say; 0 = a default.
struct weft_lab_options {
    const char *name;
    const char *fabric;
    const char *plan_path;
    uint32_t degree; // of a fabric with switches, by which the lab is wired again
    uint32_t radix;
    double rate_Bps;
    uint32_t mtu_bytes;
    uint32_t burst_bytes;
    uint32_t buffer_bytes;
    uint32_t mark_packets;
    // Queues of strict priority by layer, early drops and marks at a threshold, on all ports
    // (bpf/classes/classes.h); the shaper is HTB then, and mark_packets 0.
    struct classes_settings classes;
    bool htb;
    bool offloads;
    uint64_t dark_ns;
    struct weft_tally *tally; // servers and switches that stand, of all; NULL = nobody looks
    weft_stop stop;
};

// Queues (1 to 7), layers and packets of a long queue: "4:16:20". INPUT.
bool weft_lab_classes_parse(struct classes_settings *classes, const char *text,
                            struct weft_error *error) WEFT_MUST_USE;

// Names of labs are 1 to 16 small letters and digits. INPUT.
bool weft_lab_check_name(const char *name, struct weft_error *error) WEFT_MUST_USE;
const char *weft_lab_server_netns(char buffer[WEFT_NETNS_NAME_MAX], const char *lab,
                                  uint32_t server);
// A server, or behind the servers a switch that forwards by routes.
const char *weft_lab_node_netns(char buffer[WEFT_NETNS_NAME_MAX], const struct weft_lab *lab,
                                uint32_t node);
// Optical switch `plane`, or the one switch of a lab without.
const char *weft_lab_switch_netns(char buffer[WEFT_NETNS_NAME_MAX], const struct weft_lab *lab,
                                  uint32_t plane);
// Addresses and interfaces by number.
uint32_t weft_lab_server_address(uint32_t server);
uint32_t weft_lab_port_address(uint32_t server, uint32_t port);
void weft_lab_port_mac(uint8_t mac[6], uint32_t server, uint32_t port);
uint32_t weft_lab_port_index(uint32_t port);    // in the server's namespace
uint32_t weft_lab_cable_index(uint32_t server); // in the switch's namespace

// One process at a time changes a lab; the claim ends with the process, however it ends. Fails with
// IO, naming the process, when another has it. Not inherited by children.
struct weft_lab_claim {
    int fd;
    bool abandoned; // the lab stands, and who worked on it last was killed
};
bool weft_lab_claim(struct weft_lab_claim *claim, const char *name, struct weft_error *error)
    WEFT_MUST_USE;
// Whether there is a claim, held or left by a killed process.
bool weft_lab_has_claim(const char *name);
void weft_lab_unclaim(struct weft_lab_claim *claim, const char *name);

// Goes on in user, network, mount and process namespaces of the caller's own, where any user is
// root over what is made in them, without optical switches or marks as programs of the kernel. The
// call returns twice: inside, as process 1 with a private /run, and outside once that has ended,
// with its exit code. The caller has one thread and has flushed its streams. Fails with UNSUPPORTED
// where the kernel forbids it, naming the setting; with IO where process 1 was killed.
struct weft_lab_rootless {
    bool inside;
    int exit_code; // outside
};
bool weft_lab_rootless(struct weft_lab_rootless *where, struct weft_error *error) WEFT_MUST_USE;

// Raises a lab: namespaces, cables, rates, addresses, circuits, routes. On failure everything is
// taken away again. Fails with IO when it is up or leftovers stand in the way, with UNSUPPORTED
// where the kernel lacks something or the user is not root, with INFEASIBLE when planes are no
// matchings. The caller has the claim.
bool weft_lab_up(struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                 const struct weft_lab_options *options, struct weft_arena scratch,
                 struct weft_error *error) WEFT_MUST_USE;

// Takes away whatever a lab of that name left, complete or not, with the processes in its
// namespaces.
struct weft_lab_removed {
    uint32_t namespace_count;
    uint32_t process_count;
};
bool weft_lab_down(struct weft_lab_removed *removed, const char *name, struct weft_arena scratch,
                   struct weft_error *error) WEFT_MUST_USE;
// The names of labs of which anything stands, sorted.
bool weft_lab_list(const char *const **names, uint32_t *count, struct weft_arena *arena,
                   struct weft_error *error) WEFT_MUST_USE;

// The state of a lab that is up. Fails with IO when there is none, or leftovers only.
bool weft_lab_load(struct weft_lab *lab, const char *name, struct weft_arena scratch,
                   struct weft_error *error) WEFT_MUST_USE;
bool weft_lab_save(const struct weft_lab *lab, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;

// The wiring of a lab that is up: of its plan's file, its ring or its switch.
bool weft_lab_rewire(struct weft_lab_wiring *wiring, const struct weft_lab *lab,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
// Whether its optical switches are programs in the kernel; else, where the kernel or the user does
// not permit that, they are filters of the kernel's own, and a change lasts for the dark time.
bool weft_lab_has_programs(const struct weft_lab *lab);
// The switch of a plane. INPUT when there is none.
bool weft_lab_open_ocs(struct weft_ocs *ocs, const struct weft_lab *lab, uint32_t plane,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Neighbors and routes of all servers as wired; what an earlier wiring left is removed.
bool weft_lab_route(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// Circuits of all planes, then (if asked for) routes, of another wiring of as many servers and
// ports. Nothing moves unless every plane is a matching (INFEASIBLE).
struct weft_lab_move {
    struct weft_ocs_change circuits; // of all planes together
    double circuits_s;               // from the first command to the last circuit set
    double routes_s;
};
bool weft_lab_apply(struct weft_lab_move *move, const struct weft_lab *lab,
                    const struct weft_lab_wiring *wiring, bool with_routes,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
