// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_COORDINATOR_H
#define WEFT_RUNTIME_PROCESS_COORDINATOR_H

// A coordinator and its peers: processes that work together, which one starts, orders and ends.
//
//   coordinator ──fork or TCP──► peer 0 .. n-1 ──[connections]──► one another
//
// The coordinator sends and gathers small messages in step with its peers; a peer that fails
// says so in one line, one that dies is seen by its closed end. Whatever the end, no peer
// outlives the coordinator: those that it forked get SIGKILL with it, those that came by TCP see
// their end closed.
//
// Peers that are not forked prove the run's key and hear the proof of the coordinator before they
// get a seat (handshake.h). What a peer says is checked all the same: messages are of the length
// that is due and never above LAB_MESSAGE_MAX, a failure's code is one of ours, its text one
// printable line.

#include "handshake.h"
#include "rendezvous.h"
#include "runtime/clock.h"

#include <sys/types.h>

enum lab_message {
    LAB_MESSAGE_HELLO = 1, // peer: the address and port where it listens
    LAB_MESSAGE_TABLE,     // coordinator: the same of all peers, by rank
    LAB_MESSAGE_READY,     // peer: nothing; connected with its peers
    LAB_MESSAGE_GO,        // coordinator: nothing, or what to do next
    LAB_MESSAGE_RESULT,    // peer: what it measured
    LAB_MESSAGE_FAIL,      // peer: struct lab_failure
    LAB_MESSAGE_ALIVE,     // peer: nothing; something moved since the last one
    LAB_MESSAGE_END,       // coordinator: nothing; the peer is to end
};

// ---- a peer's end ----

struct lab_peer {
    uint32_t rank;
    uint32_t count;     // of all peers
    struct lab_key key; // of this run's streams, so that strangers are told from peers
    int control;        // to the coordinator
    uint32_t timeout_ms;
    uint64_t alive_ns; // when it last said so
    uint32_t blamed;   // the peer that its failure is about; WEFT_NONE = none
};

// Blocking. They fail with IO when the coordinator has gone.
bool lab_peer_send(struct lab_peer *self, enum lab_message kind, const void *data, size_t length,
                   struct weft_error *error) WEFT_MUST_USE;
// Waits for a message of this kind with exactly `length` bytes; END gives false with code WEFT_OK.
bool lab_peer_receive(struct lab_peer *self, enum lab_message kind, void *data, size_t length,
                      struct weft_error *error) WEFT_MUST_USE;
// Memory of a peer's process, zeroed and of one element more than `count`, or `old` grown; without
// it the peer fails as a whole (weft_raise).
void *lab_zeroed(size_t count, size_t size);
void *lab_grow(void *old, size_t count, size_t size);
// Says that it failed; nothing more is expected of it.
void lab_peer_fail(struct lab_peer *self, const struct weft_error *error);
// Moves the process into a network namespace, for good; before it opens sockets.
bool lab_peer_enter(const char *netns, struct weft_error *error) WEFT_MUST_USE;
// Tells the coordinator once a second that something moves, if `moved` since.
bool lab_peer_alive(struct lab_peer *self, struct weft_error *error) WEFT_MUST_USE;

// ---- the coordinator's end ----

struct lab_peer_record {
    pid_t pid;   // 0 = came by TCP
    int control; // -1 = closed
    bool failed;
    bool ended;    // waited for
    int status;    // as waitpid gave it
    char *pending; // bytes of messages not yet complete
    size_t pending_bytes;
    size_t pending_room;
    uint64_t heard_ns;
    uint64_t fail_ns; // when it said that it failed; by the peers' clock
    uint64_t died_ns; // when its end was seen to be closed
    uint32_t blamed;  // the peer that this was about; WEFT_NONE = none
    struct weft_error error;
};

struct lab_coordinator {
    uint32_t count;
    struct lab_key key; // of the streams between peers
    uint32_t timeout_ms;
    struct lab_peer_record *peers; // by rank
    // What ended the run: failures that were told, and the first rank that died.
    bool failed;
    struct weft_error error; // where no rank told it
    uint32_t deaths;
    struct weft_error death;
    bool deaf;      // deaths are not noticed, but what others tell
    bool at_once;   // the first failure that is told ends a gathering; others are not waited for
    weft_stop stop; // a request to stop ends a gathering, too, which then fails; or NULL
    void (*idle)(void *context); // called several times a second while gathering; or NULL
    void *idle_context;
};

// What a forked peer does; its return value is the exit status of its process.
typedef int (*lab_peer_main)(struct lab_peer *self, void *context);

// Who works together and on what.
struct lab_peers {
    uint32_t count;
    uint32_t timeout_ms;
    lab_peer_main run;
    void *context; // of `run`
};
// Forks all peers. Fails with IO; then none is left.
bool lab_coordinator_fork(struct lab_coordinator *coordinator, const struct lab_peers *peers,
                          struct weft_error *error) WEFT_MUST_USE;
// Forks peer `own` alone and lets the others come to the rendezvous, which is over when all have
// come, or timeout_ms have passed, whatever strangers do there.
bool lab_coordinator_serve(struct lab_coordinator *coordinator, const struct lab_peers *peers,
                           uint32_t own, const struct lab_rendezvous *rendezvous,
                           struct weft_error *error) WEFT_MUST_USE;
// The other side of that: connects to the coordinator until timeout_ms have passed.
bool lab_peer_join(struct lab_peer *self, const struct lab_rendezvous *rendezvous,
                   struct weft_error *error) WEFT_MUST_USE;

// Waits until every peer has sent one message of this kind of exactly item_bytes, which go to
// items[rank]. False: a peer failed or died, or nothing was heard of one for the timeout and 5 s
// more; coordinator->error then names it. timeout_ms 0: the coordinator's.
bool lab_coordinator_gather(struct lab_coordinator *coordinator, enum lab_message kind, void *items,
                            size_t item_bytes, struct weft_error *error) WEFT_MUST_USE;
bool lab_coordinator_send(struct lab_coordinator *coordinator, enum lab_message kind,
                          const void *data, size_t length, struct weft_error *error) WEFT_MUST_USE;
// Ends all peers (END, then SIGKILL to those that it forked and that still live) and waits for
// them. Safe to call more than once, and after a failed fork.
void lab_coordinator_close(struct lab_coordinator *coordinator);

#endif
