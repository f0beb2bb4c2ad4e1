// SPDX-License-Identifier: Apache-2.0
// All-reduce over MLT by real processes and UDP over loopback: sums, bits, bounds. Between ranks
// stands a relay, where a test says so, that loses, doubles, holds back, forges and repeats what
// they send. Its choices are random by a printed seed.
//
// Mutations that made this test fail (each was run): MACs that are not compared; one cookie for
// both halves; unimportant DATA that are ECN-capable; marks that are not read; packets of a batch
// that no path sends; a rank that does not answer while it waits.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/mlt/allreduce.h"
#include "runtime/process/connections.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS_MAX = 8, TENSORS_MAX = 4 };

struct run {
    struct lab_mlt_options options;
    uint32_t ranks;
    uint32_t steps;
    uint32_t late_ms; // rank k begins step s so much later where k + s is even
    uint32_t gone;    // this rank leaves before its second step; WEFT_NONE
    // What all processes write: the hash of each rank's result after each step, and counts.
    uint64_t hashes[64][RANKS_MAX];
    struct lab_mlt_counts counts[RANKS_MAX];
};

static uint64_t hash_of(const float *vector, size_t count)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        hash = weft_hash(hash ^ bits);
    }
    return hash;
}

// Whole numbers, whose sums are exact in any order.
static float value(uint32_t rank, uint32_t step, size_t i)
{
    return (float)(weft_hash((uint64_t)rank << 40 ^ (uint64_t)step << 32 ^ i) % 1000) - 500;
}

static bool play(struct lab_peer *self, struct run *run, float *vector, struct weft_error *error)
{
    const size_t count = run->options.first[run->options.tensor_count];
    struct lab_mlt *mlt;
    if (!lab_mlt_open(&mlt, self, &run->options, error)) {
        return false;
    }
    bool fine = true;
    for (uint32_t step = 0; fine && step < run->steps; step++) {
        for (size_t i = 0; i < count; i++) {
            vector[i] = value(self->rank, step, i);
        }
        if ((self->rank + step) % 2 == 0) {
            lab_sleep_until(lab_now_ns() + run->late_ms * 1000000u);
        }
        if (self->rank == run->gone && step == 1) {
            _exit(0);
        }
        fine = lab_mlt_allreduce(mlt, vector, error);
        for (size_t i = 0; fine && run->options.bound == 0 && i < count; i++) {
            float sum = 0;
            for (uint32_t rank = 0; rank < run->ranks; rank++) {
                sum += value(rank, step, i);
            }
            fine = sum == vector[i] ||
                   weft_fail(error, WEFT_INFEASIBLE, "step %u: [%zu] is wrong", step, i);
        }
        run->hashes[step][self->rank] = hash_of(vector, count);
    }
    run->counts[self->rank] = *lab_mlt_counts(mlt);
    char none;
    fine = fine && lab_peer_send(self, LAB_MESSAGE_RESULT, NULL, 0, error) &&
           lab_mlt_wait(mlt, self->control, error) &&
           (lab_peer_receive(self, LAB_MESSAGE_GO, &none, 0, error) || error->code == WEFT_OK);
    lab_mlt_close(mlt);
    return fine;
}

static int live(struct lab_peer *self, void *context)
{
    struct run *run = context;
    struct weft_error error;
    const size_t count = run->options.first[run->options.tensor_count];
    float *vector = calloc(count, sizeof *vector);
    bool fine = play(self, run, vector, &error);
    free(vector);
    if (!fine) {
        lab_peer_fail(self, &error);
    }
    return fine ? 0 : 1;
}

static struct run *make_run(const struct lab_mlt_options *options, uint32_t ranks, uint32_t steps)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run != MAP_FAILED);
    *run = (struct run){.options = *options, .ranks = ranks, .steps = steps, .gone = WEFT_NONE};
    return run;
}

static bool run_all(struct run *run, struct weft_error *error)
{
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = run->ranks, .timeout_ms = 20000, .run = live, .context = run};
    if (!lab_coordinator_fork(&coordinator, &peers, error)) {
        return false;
    }
    coordinator.deaf = run->gone != WEFT_NONE; // the others are to say it
    bool fine = lab_connections_introduce(&coordinator, error) &&
                lab_coordinator_gather(&coordinator, LAB_MESSAGE_RESULT, NULL, 0, error);
    lab_coordinator_close(&coordinator);
    return fine;
}

// ---- the relay ----

enum { KIND_AT = 3, HELD_MAX = 256, DATAGRAM_MAX = 1600 };

struct datagram {
    uint64_t due_ns;
    uint32_t to;
    size_t size;
    uint8_t codepoint; // of ECN
    uint8_t bytes[DATAGRAM_MAX];
};
struct relay {
    struct run *run;
    struct weft_rng rng;
    double lost, doubled, held, forged, repeated, marked;
    bool floods;         // DATA that came once is sent again and again
    bool swallows_stops; // to rank 0, for a fifth of a second,
    bool kills;          // or until it sends rank 1 a PROBE, which ends that rank
    uint64_t until_ns;
    pid_t victim;
    bool swallowed;
    struct lab_place real[RANKS_MAX];
    int sockets[RANKS_MAX]; // where each rank's peers think that it is
    struct datagram held_back[HELD_MAX];
    uint32_t held_count;
    struct datagram old; // that came once
    weft_atomic_bool ends;
    uint64_t forged_count, repeated_count, marked_count, unimportant_count;
    uint64_t wrong_codepoints; // not what the class of a packet asks for
};

static void pass(const struct relay *relay, const struct datagram *datagram)
{
    const struct lab_place *real = &relay->real[datagram->to];
    const int fd = relay->sockets[datagram->to];
    const int tos = datagram->codepoint;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)real->port)};
    address.sin_addr.s_addr = htonl(real->ip);
    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
    ssize_t sent = sendto(fd, datagram->bytes, datagram->size, 0, (const struct sockaddr *)&address,
                          sizeof address);
    (void)sent; // what the system does not take is lost
}

static bool happens(struct relay *relay, double share)
{
    return weft_rng_unit(&relay->rng) < share;
}

// Control with one bit changed; of DATA, which has no MAC, its cookie.
static void forge(struct relay *relay, const struct datagram *datagram)
{
    struct datagram wrong = *datagram;
    const bool is_data = datagram->bytes[KIND_AT] == WEFT_MLT_DATA;
    const uint32_t at = is_data ? 16 + weft_rng_below(&relay->rng, 8)
                                : 4 + weft_rng_below(&relay->rng, (uint32_t)datagram->size - 4);
    wrong.bytes[at] = (uint8_t)(wrong.bytes[at] ^ 1u << weft_rng_below(&relay->rng, 8));
    pass(relay, &wrong);
    relay->forged_count++;
}

// ECN-capable are control and important DATA, RFC 3168's ECT(0). A queue that is long marks them.
static void look_at_codepoint(struct relay *relay, struct datagram *datagram)
{
    const bool is_data = datagram->bytes[KIND_AT] == WEFT_MLT_DATA;
    const bool capable = !is_data || datagram->bytes[WEFT_MLT_CLASS_AT] == 1;
    relay->unimportant_count += !capable;
    relay->wrong_codepoints += datagram->codepoint != (capable ? 2 : 0);
    if (capable && is_data && happens(relay, relay->marked)) {
        datagram->codepoint = 3;
        relay->marked_count++;
    }
}

// Reads one; false: there is none.
static bool read_one(int fd, struct datagram *datagram)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {datagram->bytes, DATAGRAM_MAX};
    struct msghdr head = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = sizeof control};
    const ssize_t got = recvmsg(fd, &head, MSG_DONTWAIT);
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&head) : NULL;
    datagram->size = got > 0 ? (size_t)got : 0;
    datagram->codepoint = c != NULL && c->cmsg_type == IP_TOS ? *CMSG_DATA(c) & 3 : 0;
    return got > 0;
}

static void hear(struct relay *relay, struct datagram *datagram)
{
    const uint8_t kind = datagram->bytes[KIND_AT];
    look_at_codepoint(relay, datagram);
    if (relay->swallows_stops && kind == WEFT_MLT_STOP && datagram->to == 0) {
        relay->until_ns = relay->swallowed ? relay->until_ns : lab_now_ns() + 200000000;
        relay->swallowed = true;
        relay->swallows_stops = relay->kills || lab_now_ns() < relay->until_ns;
        return;
    }
    if (relay->swallowed && relay->kills && kind == WEFT_MLT_PROBE && datagram->to == 1) {
        relay->kills = false;
        relay->swallows_stops = false;
        kill(relay->victim, SIGKILL);
        return;
    }
    if (happens(relay, relay->forged)) {
        forge(relay, datagram);
    }
    if (happens(relay, relay->repeated)) {
        if (relay->old.size > 0) {
            pass(relay, &relay->old);
            relay->repeated_count++;
        }
        relay->old = *datagram;
    }
    if (happens(relay, relay->lost)) {
        return;
    }
    if (happens(relay, relay->doubled)) {
        pass(relay, datagram);
    }
    if (relay->held_count < HELD_MAX && happens(relay, relay->held)) {
        datagram->due_ns = lab_now_ns() + weft_rng_below(&relay->rng, 5000000);
        relay->held_back[relay->held_count++] = *datagram;
        return;
    }
    pass(relay, datagram);
}

static void release_held(struct relay *relay)
{
    const uint64_t now_ns = lab_now_ns();
    for (uint32_t i = relay->held_count; i-- > 0;) {
        if (relay->held_back[i].due_ns <= now_ns) {
            pass(relay, &relay->held_back[i]);
            relay->held_back[i] = relay->held_back[--relay->held_count];
        }
    }
}

static void *play_relay(void *context)
{
    struct relay *relay = context;
    struct pollfd waits[RANKS_MAX];
    for (uint32_t r = 0; r < relay->run->ranks; r++) {
        waits[r] = (struct pollfd){.fd = relay->sockets[r], .events = POLLIN};
    }
    while (!atomic_load(&relay->ends)) {
        const int count = poll(waits, relay->run->ranks, 1);
        for (uint32_t r = 0; count > 0 && r < relay->run->ranks; r++) {
            struct datagram datagram = {.to = r};
            while (read_one(waits[r].fd, &datagram)) {
                hear(relay, &datagram);
                if (relay->floods && datagram.bytes[KIND_AT] == WEFT_MLT_DATA) {
                    relay->old = datagram;
                }
            }
        }
        for (uint32_t i = 0; relay->floods && relay->old.size > 0 && i < 20; i++) {
            pass(relay, &relay->old);
            relay->repeated_count++;
        }
        release_held(relay);
    }
    return NULL;
}

static int open_socket(uint32_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    const int on = 1;
    setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    *port = ntohs(address.sin_port);
    return fd;
}

// The coordinator's part of meeting, with the relay's places for those of ranks.
static bool introduce(struct relay *relay, struct lab_coordinator *coordinator,
                      struct weft_error *error)
{
    struct lab_place told[RANKS_MAX];
    for (uint32_t r = 0; r < relay->run->ranks; r++) {
        told[r].ip = INADDR_LOOPBACK;
        relay->sockets[r] = open_socket(&told[r].port);
    }
    return lab_coordinator_gather(coordinator, LAB_MESSAGE_HELLO, relay->real, sizeof *relay->real,
                                  error) &&
           lab_coordinator_send(coordinator, LAB_MESSAGE_TABLE, told,
                                relay->run->ranks * sizeof *told, error) &&
           lab_coordinator_gather(coordinator, LAB_MESSAGE_READY, NULL, 0, error);
}

static bool run_relayed(struct relay *relay, struct run *run, struct weft_error *error)
{
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = run->ranks, .timeout_ms = 20000, .run = live, .context = run};
    pthread_t thread;
    relay->run = run;
    if (!lab_coordinator_fork(&coordinator, &peers, error)) {
        return false;
    }
    coordinator.deaf = relay->kills;
    relay->victim = coordinator.peers[1].pid;
    bool fine = introduce(relay, &coordinator, error);
    assert_int_equal(pthread_create(&thread, NULL, play_relay, relay), 0);
    fine = fine && lab_coordinator_gather(&coordinator, LAB_MESSAGE_RESULT, NULL, 0, error);
    lab_coordinator_close(&coordinator);
    atomic_store(&relay->ends, true);
    pthread_join(thread, NULL);
    for (uint32_t r = 0; r < run->ranks; r++) {
        close(relay->sockets[r]);
    }
    return fine;
}

static const uint32_t shapes[][TENSORS_MAX + 1] = {
    {0, 5000, 5010, 90000, 90001},
    {0, 1, 2, 3, 4}, // fewer segments than ranks
    {0, 256, 512, 20000, 20257},
};

static void sums_are_exact_where_all_must_come(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * 2 * 3; i++) {
        static const uint32_t ranks[] = {2, 3, 8};
        const struct lab_mlt_options options = {
            .pattern = i % 2 == 0 ? LAB_MLT_PS : LAB_MLT_RING,
            .tensor_count = TENSORS_MAX,
            .first = shapes[i / 2 % 3],
            .segment_floats = 256,
            .unimportant = 0.5,
            .rescales = i % 4 < 2,
            .paths = 1 + i % 5,
            .rate_Bps = 1e9,
            .timeout_ms = 10000,
        };
        struct run *run = make_run(&options, ranks[i / 6], 3);
        struct weft_error error;
        if (!run_all(run, &error)) {
            fail_msg("case %u: %s", i, error.message);
        }
        munmap(run, sizeof *run);
    }
}

static void all_ranks_hold_the_same_bits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct lab_mlt_options options = {
            .pattern = i % 2 == 0 ? LAB_MLT_PS : LAB_MLT_RING,
            .tensor_count = TENSORS_MAX,
            .first = shapes[0],
            .segment_floats = 64,
            .bound = 0.3,
            .unimportant = 0.5,
            .rescales = i < 2,
            .paths = 4,
            .rate_Bps = 1e9,
            .timeout_ms = 10000,
        };
        struct run *run = make_run(&options, 5, 4);
        struct weft_error error;
        if (!run_all(run, &error)) {
            fail_msg("case %u: %s", i, error.message);
        }
        uint64_t due = 0;
        uint64_t came = 0;
        for (uint32_t rank = 0; rank < run->ranks; rank++) {
            for (uint32_t step = 0; step < run->steps; step++) {
                assert_int_equal(run->hashes[step][rank], run->hashes[step][0]);
            }
            due += run->counts[rank].contributions_due;
            came += run->counts[rank].contributions_came;
            // Of one tensor; parameter servers count what one rank sent of it.
            assert_true(run->counts[rank].delivered_min_ratio >= 1 - options.bound);
        }
        assert_true((double)came >= (1 - options.bound) * (double)due && came < due);
        munmap(run, sizeof *run);
    }
}

static struct lab_mlt_counts counts_of(const struct run *run)
{
    struct lab_mlt_counts sum = {0};
    for (uint32_t rank = 0; rank < run->ranks; rank++) {
        lab_mlt_counts_add(&sum, &run->counts[rank]);
    }
    return sum;
}

static const struct lab_mlt_options plain = {
    .tensor_count = TENSORS_MAX,
    .first = shapes[0],
    .segment_floats = 256,
    .unimportant = 0.5,
    .paths = 4,
    .rate_Bps = 5e7,
    .timeout_ms = 10000,
};

static void sums_are_right_whatever_a_relay_does(void **state)
{
    (void)state;
    uint64_t stale = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        print_message("seed %lu\n", (unsigned long)seed);
        struct lab_mlt_options options = plain;
        options.pattern = seed % 2 == 0 ? LAB_MLT_PS : LAB_MLT_RING;
        options.bound = seed < 2 ? 0 : 0.2; // unimportant segments are there with a bound alone
        struct run *run = make_run(&options, 3 + (uint32_t)seed / 2, 4);
        struct relay *relay = calloc(1, sizeof *relay);
        assert_non_null(relay);
        weft_rng_init(&relay->rng, seed);
        relay->lost = 0.05;
        relay->doubled = 0.1;
        relay->held = 0.1;
        relay->forged = 0.05;
        relay->repeated = 0.02;
        relay->marked = seed < 2 ? 0.05 : 0;
        struct weft_error error;
        if (!run_relayed(relay, run, &error)) {
            fail_msg("%s", error.message);
        }
        const struct lab_mlt_counts counts = counts_of(run);
        assert_true(counts.resent.packets > 0);
        assert_true(counts.verdicts[WEFT_MLT_DUPLICATE] + counts.verdicts[WEFT_MLT_LATE] > 0);
        assert_true(relay->repeated_count > 0);
        stale += counts.verdicts[WEFT_MLT_STALE];
        // A changed bit of control is found by its MAC, or before it; of a cookie it is strange.
        assert_true(counts.drops[WEFT_MLT_DROP_FORGED] > 0);
        assert_true(counts.verdicts[WEFT_MLT_STRANGE] > 0 && relay->forged_count > 0);
        assert_true(counts.delivered_min_ratio >= 1 - options.bound);
        assert_true(relay->wrong_codepoints == 0);
        assert_true((relay->unimportant_count > 0) == (options.bound > 0));
        // Some of those that were marked were lost; some came twice.
        assert_true((counts.marked_packets > 0) == (relay->marked_count > 0));
        assert_true((relay->marked_count > 0) == (relay->marked > 0));
        for (uint32_t step = 0; step < run->steps; step++) {
            for (uint32_t rank = 1; rank < run->ranks; rank++) {
                assert_int_equal(run->hashes[step][rank], run->hashes[step][0]);
            }
        }
        free(relay);
        munmap(run, sizeof *run);
    }
    assert_true(stale > 0);
}

static void a_sender_that_never_stops_holds_nobody_up(void **state)
{
    (void)state;
    struct run *run = make_run(&plain, 3, 4);
    struct relay *relay = calloc(1, sizeof *relay);
    assert_non_null(relay);
    relay->floods = true;
    struct weft_error error;
    if (!run_relayed(relay, run, &error)) {
        fail_msg("%s", error.message);
    }
    const struct lab_mlt_counts counts = counts_of(run);
    const uint64_t needless = counts.verdicts[WEFT_MLT_DUPLICATE] + counts.verdicts[WEFT_MLT_LATE] +
                              counts.verdicts[WEFT_MLT_STALE];
    assert_true(relay->repeated_count > 100 && needless > 100);
    // Each is answered once at most; twice, where it makes a tensor whole.
    assert_true(counts.kinds[WEFT_MLT_STOP] <= 2 * counts.received_packets);
    free(relay);
    munmap(run, sizeof *run);
}

static void a_receiver_that_dies_between_stop_and_probe_is_named(void **state)
{
    (void)state;
    struct lab_mlt_options options = plain;
    options.timeout_ms = 1000;
    struct run *run = make_run(&options, 2, 2);
    struct relay *relay = calloc(1, sizeof *relay);
    assert_non_null(relay);
    relay->swallows_stops = true;
    relay->kills = true;
    struct weft_error error;
    const uint64_t begin_ns = lab_now_ns();
    assert_false(run_relayed(relay, run, &error));
    assert_false(relay->swallows_stops); // it was killed when it was to be
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "rank 0: "));
    assert_non_null(strstr(error.message, "peer 1"));
    assert_true(lab_now_ns() - begin_ns < 15000000000u);
    free(relay);
    munmap(run, sizeof *run);
}

static void a_rank_that_waits_for_its_coordinator_answers_peers(void **state)
{
    (void)state;
    struct lab_mlt_options options = plain;
    options.timeout_ms = 2000;
    struct run *run = make_run(&options, 2, 1);
    struct relay *relay = calloc(1, sizeof *relay);
    assert_non_null(relay);
    relay->swallows_stops = true;
    struct weft_error error;
    if (!run_relayed(relay, run, &error)) {
        fail_msg("%s", error.message);
    }
    assert_true(relay->swallowed && !relay->swallows_stops);
    free(relay);
    munmap(run, sizeof *run);
}

static void a_rank_that_leaves_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct lab_mlt_options options = plain;
        options.pattern = i == 0 ? LAB_MLT_PS : LAB_MLT_RING;
        options.timeout_ms = 1000;
        struct run *run = make_run(&options, 4, 3);
        run->gone = 2;
        struct weft_error error;
        assert_false(run_all(run, &error));
        assert_int_equal(error.code, WEFT_IO);
        assert_non_null(strstr(error.message, "peer 2"));
        munmap(run, sizeof *run);
    }
}

static void ranks_may_come_late_and_be_a_step_ahead(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct lab_mlt_options options = plain;
        options.pattern = i == 0 ? LAB_MLT_PS : LAB_MLT_RING;
        struct run *run = make_run(&options, 4, 6);
        run->late_ms = 60;
        struct weft_error error;
        if (!run_all(run, &error)) {
            fail_msg("%s", error.message);
        }
        munmap(run, sizeof *run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_where_all_must_come),
        cmocka_unit_test(all_ranks_hold_the_same_bits),
        cmocka_unit_test(sums_are_right_whatever_a_relay_does),
        cmocka_unit_test(a_sender_that_never_stops_holds_nobody_up),
        cmocka_unit_test(a_receiver_that_dies_between_stop_and_probe_is_named),
        cmocka_unit_test(a_rank_that_waits_for_its_coordinator_answers_peers),
        cmocka_unit_test(a_rank_that_leaves_is_named),
        cmocka_unit_test(ranks_may_come_late_and_be_a_step_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
