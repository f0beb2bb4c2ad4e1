// SPDX-License-Identifier: Apache-2.0
// The loop of a rank: one thread that takes what came, begins what waited for it, sends what may go
// and waits for the next instant at which something is due.

#include "runtime/process/connections.h"
#include "wire.h"

#include <string.h>
#include <time.h>

static uint64_t now_ps(void)
{
    return lab_now_ns() * 1000;
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Says where this rank is, and hears where the others are.
static bool meet(struct lab_mlt *mlt, uint32_t port, struct weft_error *error)
{
    const uint32_t *addresses = mlt->options.addresses;
    const struct lab_place own = {addresses != NULL ? addresses[mlt->rank] : INADDR_LOOPBACK, port};
    struct weft_arena scratch = mlt->scratch;
    struct lab_place *table = WEFT_NEW(&scratch, struct lab_place, mlt->rank_count);
    if (!lab_connections_exchange(table, mlt->self, &own, error)) {
        return false;
    }
    for (uint32_t p = 0; p < mlt->rank_count; p++) {
        struct sockaddr_in *address = &mlt->peers[p].address;
        address->sin_family = AF_INET;
        address->sin_port = htons((uint16_t)table[p].port);
        address->sin_addr.s_addr = htonl(table[p].ip);
    }
    return lab_peer_send(mlt->self, LAB_MESSAGE_READY, NULL, 0, error);
}

bool lab_mlt_open(struct lab_mlt **mlt, struct lab_peer *self,
                  const struct lab_mlt_options *options, struct weft_error *error)
{
    uint32_t port;
    struct lab_mlt *made;
    if (!lab_mlt_build(&made, self, options, now_ps(), error)) {
        return weft_wrap(error, "rank %u", self->rank);
    }
    const uint32_t ip = options->addresses != NULL ? options->addresses[self->rank] : 0;
    if (!lab_mlt_wire_open(made, ip, &port, error) || !meet(made, port, error)) {
        lab_mlt_close(made);
        return false;
    }
    *mlt = made;
    return true;
}

// Takes and sends what there is. *until_ps: when to look again.
static bool turn(struct lab_mlt *mlt, bool in_step, uint64_t *until_ps, struct weft_error *error)
{
    bool more = false;
    uint64_t instant_ps = now_ps();
    const bool receives = lab_mlt_wire_receive(mlt, instant_ps);
    if (in_step) {
        lab_mlt_follow(mlt);
    }
    lab_mlt_report(mlt, instant_ps);
    if (!lab_mlt_wire_send(mlt, instant_ps, &more, error)) {
        return false;
    }
    instant_ps = now_ps();
    *until_ps = receives || more ? instant_ps : lab_mlt_due_ps(mlt, instant_ps);
    return !in_step || lab_mlt_check(mlt, instant_ps, error);
}

// Waits, unless there is something to do now or packets wait for room, which comes by itself.
static bool pause_until(struct lab_mlt *mlt, int descriptor, uint64_t until_ps)
{
    const uint64_t instant_ps = now_ps();
    if (lab_mlt_wire_waits(mlt)) {
        // Nothing more goes out before these.
        until_ps = instant_ps + mlt->limits.probe_ps;
    }
    return (until_ps > instant_ps || descriptor >= 0) &&
           lab_mlt_wire_wait(mlt, descriptor, instant_ps, until_ps);
}

bool lab_mlt_allreduce(struct lab_mlt *mlt, float *vector, struct weft_error *error)
{
    const uint64_t begin_ns = cpu_ns();
    bool fine = true;
    lab_mlt_begin(mlt, vector, now_ps());
    while (fine) {
        uint64_t until_ps;
        fine = turn(mlt, true, &until_ps, error) && lab_peer_alive(mlt->self, error);
        if (fine && lab_mlt_is_done(mlt) && !lab_mlt_wire_waits(mlt)) {
            break;
        }
        if (fine) {
            pause_until(mlt, -1, until_ps);
        }
    }
    mlt->counts.cpu_ns += cpu_ns() - begin_ns;
    return fine;
}

bool lab_mlt_wait(struct lab_mlt *mlt, int descriptor, struct weft_error *error)
{
    bool ready = false;
    while (!ready) {
        uint64_t until_ps;
        if (!turn(mlt, false, &until_ps, error)) {
            return false;
        }
        ready = pause_until(mlt, descriptor, descriptor < 0 ? 0 : until_ps) || descriptor < 0;
    }
    return true;
}

const struct lab_mlt_counts *lab_mlt_counts(const struct lab_mlt *mlt)
{
    return &mlt->counts;
}

void lab_mlt_close(struct lab_mlt *mlt)
{
    lab_mlt_wire_close(mlt);
    lab_mlt_release(mlt);
}
