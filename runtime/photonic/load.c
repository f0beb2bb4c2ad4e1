// SPDX-License-Identifier: Apache-2.0
// A load of requests from one thread: an open loop, whose requests are meant for times that a
// Poisson process gives, whatever became of those before; or a closed one of so many at once.
//
// Latency counts from the time that a request was meant for, so that a generator or a network that
// falls behind does not hide it (coordinated omission). Numbers of requests are consecutive; what
// is on its way stands in a ring of them. Each has one timer, and all timers are equally long, so
// that they end in the order in which they began: a queue. Loss, reordering and repetition are
// made here, on requests before they are sent and on answers when they come, since not every
// kernel can.

#include "client.h"

#include "runtime/clock.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { RING = 1 << 17, BATCH = 64, HELD = 16, ROOM = 2048 };

struct flight {
    uint64_t meant_ns; // 0 = answered or given up
    uint32_t tries;
};
struct timer {
    uint64_t number;
    uint64_t end_ns;
};
struct packets {
    uint32_t count;
    struct mmsghdr messages[BATCH];
    struct iovec pieces[BATCH];
    uint8_t bytes[BATCH][ROOM];
};

struct load_run {
    const struct weft_nic_load *load;
    struct weft_nic_client *client;
    struct weft_nic_load_result *result;
    struct weft_rng arrivals;
    struct weft_rng network;
    uint32_t first; // number of the first request
    uint64_t begun; // requests so far
    uint64_t ended;
    uint64_t next_ns;       // what the next request is meant for
    struct flight *flights; // [RING]
    struct timer *timers;   // [RING], a queue
    uint64_t timer_first, timer_end;
    struct packets out, in;
    uint32_t held_count;
    uint64_t held[HELD]; // requests that are held back
    uint8_t *known;      // [input_count][answer_bytes], of answers where none are expected
    bool *is_known;
    uint32_t answer_bytes;
};

// ---- sending ----

static void flush(struct load_run *run)
{
    struct packets *out = &run->out;
    for (uint32_t sent = 0; sent < out->count;) {
        const int got =
            sendmmsg(run->client->fd, out->messages + sent, out->count - sent, MSG_NOSIGNAL);
        // What the kernel refuses is lost, as on any network: its timer will tell.
        sent += got > 0 ? (uint32_t)got : 1;
    }
    run->result->sent += out->count;
    out->count = 0;
}

// Puts a request into the next packet.
static void put(struct load_run *run, uint64_t number)
{
    const struct weft_nic_load *load = run->load;
    if (run->out.count == BATCH) {
        flush(run);
    }
    struct packets *out = &run->out;
    uint8_t *bytes = out->bytes[out->count];
    struct weft_photonic_head head = load->model;
    head.request = run->first + (uint32_t)number;
    weft_photonic_head_write(bytes, &head);
    memcpy(bytes + WEFT_PHOTONIC_HEAD_BYTES,
           load->inputs + number % load->input_count * head.input_bytes, head.input_bytes);
    out->pieces[out->count].iov_len = WEFT_PHOTONIC_HEAD_BYTES + head.input_bytes;
    out->count++;
}

static void put_held(struct load_run *run)
{
    while (run->held_count > 0) {
        const uint32_t one = weft_rng_below(&run->network, run->held_count);
        put(run, run->held[one]);
        run->held[one] = run->held[--run->held_count];
    }
}

// Gives a request to the network that is made: lost, held back behind others, once or twice.
static void give(struct load_run *run, uint64_t number, uint64_t now_ns)
{
    const struct weft_nic_load *load = run->load;
    run->timers[run->timer_end++ % RING] = (struct timer){number, now_ns + run->client->timeout_ns};
    if (load->loss > 0 && weft_rng_unit(&run->network) < load->loss) {
        run->result->dropped++;
        return;
    }
    if (load->reorder > 0 && weft_rng_unit(&run->network) < load->reorder &&
        run->held_count < HELD) {
        run->result->reordered++;
        run->held[run->held_count++] = number;
        return;
    }
    put(run, number);
    if (load->repeat > 0 && weft_rng_unit(&run->network) < load->repeat) {
        run->result->repeated++;
        put(run, number);
    }
    if (run->held_count == HELD || (run->held_count > 0 && weft_rng_below(&run->network, 8) == 0)) {
        put_held(run);
    }
}

// ---- time ----

static bool may_begin(const struct load_run *run, uint64_t now_ns)
{
    const struct weft_nic_load *load = run->load;
    // A request RING numbers ago must have ended, and so must the timers of more than RING.
    if (run->begun >= load->count || run->flights[run->begun % RING].meant_ns != 0 ||
        run->timer_end - run->timer_first >= RING) {
        return false;
    }
    return load->rate_hz > 0 ? run->next_ns <= now_ns : run->begun - run->ended < load->window;
}

static void begin_due(struct load_run *run, uint64_t now_ns)
{
    for (uint32_t i = 0; i < BATCH && may_begin(run, now_ns); i++) {
        const uint64_t meant_ns = run->load->rate_hz > 0 ? run->next_ns : now_ns;
        run->flights[run->begun % RING] = (struct flight){meant_ns, 1};
        give(run, run->begun++, now_ns);
        if (run->load->rate_hz > 0) {
            run->next_ns +=
                (uint64_t)(weft_rng_exponential(&run->arrivals, 1e9 / run->load->rate_hz));
        }
    }
}

static void end_timers(struct load_run *run, uint64_t now_ns)
{
    while (run->timer_first < run->timer_end) {
        const struct timer *timer = &run->timers[run->timer_first % RING];
        struct flight *flight = &run->flights[timer->number % RING];
        if (timer->end_ns > now_ns) {
            return;
        }
        const uint64_t number = timer->number;
        run->timer_first++;
        if (flight->meant_ns == 0 || number + RING < run->begun) {
            continue;
        }
        if (flight->tries <= run->load->retries) {
            flight->tries++;
            give(run, number, now_ns);
        } else {
            flight->meant_ns = 0;
            run->result->lost++;
            run->ended++;
        }
    }
}

// ---- answers ----

static bool is_right(struct load_run *run, uint64_t number, const uint8_t *payload, size_t size)
{
    const struct weft_nic_load *load = run->load;
    const uint64_t input = number % load->input_count;
    const uint8_t *answer = payload + WEFT_PHOTONIC_HEAD_BYTES;
    const size_t bytes = size - WEFT_PHOTONIC_HEAD_BYTES;
    if (load->expected != NULL) {
        return bytes == load->answer_bytes &&
               memcmp(answer, load->expected + input * load->answer_bytes, bytes) == 0;
    }
    if (run->answer_bytes == 0) {
        run->answer_bytes = (uint32_t)bytes;
    }
    if (bytes != run->answer_bytes || bytes > ROOM) {
        return false;
    }
    uint8_t *known = run->known + input * ROOM;
    if (!run->is_known[input]) {
        run->is_known[input] = true;
        memcpy(known, answer, bytes);
    }
    return memcmp(answer, known, bytes) == 0;
}

static void take(struct load_run *run, const uint8_t *payload, size_t size, uint64_t now_ns)
{
    const struct weft_nic_load *load = run->load;
    struct weft_nic_load_result *result = run->result;
    struct weft_photonic_answer answer;
    const bool read = weft_photonic_answer_read(&answer, payload, size);
    struct weft_photonic_head head;
    if (weft_photonic_head_read(&head, payload, size) == WEFT_PHOTONIC_TAKEN &&
        head.flags == (WEFT_PHOTONIC_ANSWER | WEFT_PHOTONIC_DESCRIBE)) {
        result->late++; // of a description that was asked for twice
        return;
    }
    const uint64_t behind = (uint32_t)(run->first + (uint32_t)run->begun - answer.head.request);
    if (!read || answer.head.model != load->model.model ||
        answer.head.layers != load->model.layers ||
        answer.head.input_bytes != load->model.input_bytes ||
        answer.head.exponent != load->model.exponent || behind == 0 || behind > run->begun) {
        result->strange++;
        return;
    }
    if (load->loss > 0 && weft_rng_unit(&run->network) < load->loss) {
        result->dropped++;
        return;
    }
    const uint64_t number = run->begun - behind;
    struct flight *flight = &run->flights[number % RING];
    // Late answers must be right, too.
    result->wrong += !is_right(run, number, payload, size);
    if (behind > RING || flight->meant_ns == 0) {
        result->late++;
        return;
    }
    weft_nic_histogram_add(&result->latency, now_ns - flight->meant_ns);
    flight->meant_ns = 0;
    result->answered++;
    run->ended++;
}

static bool receive(struct load_run *run)
{
    const int got = recvmmsg(run->client->fd, run->in.messages, BATCH, MSG_DONTWAIT, NULL);
    const uint64_t now_ns = lab_now_ns();
    for (int i = 0; i < got; i++) {
        take(run, run->in.bytes[i], run->in.messages[i].msg_len, now_ns);
    }
    return got > 0;
}

// Until something is due or there is an answer.
static void wait(struct load_run *run, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + 100000000;
    if (run->load->rate_hz > 0 && run->begun < run->load->count && run->next_ns < until_ns) {
        until_ns = run->next_ns;
    }
    if (run->timer_first < run->timer_end &&
        run->timers[run->timer_first % RING].end_ns < until_ns) {
        until_ns = run->timers[run->timer_first % RING].end_ns;
    }
    struct pollfd ready = {.fd = run->client->fd, .events = POLLIN};
    const struct timespec left = {
        .tv_nsec = until_ns > now_ns ? (long)(until_ns - now_ns) % 1000000000 : 0};
    ppoll(&ready, 1, &left, NULL);
}

static void prepare(struct load_run *run, struct weft_arena *arena)
{
    run->flights = WEFT_NEW(arena, struct flight, RING);
    run->timers = WEFT_NEW(arena, struct timer, RING);
    weft_rng_init(&run->arrivals, run->load->seed);
    run->network = weft_rng_split(&run->arrivals, 1);
    if (run->load->expected == NULL) {
        run->known = WEFT_NEW(arena, uint8_t, (size_t)run->load->input_count * ROOM);
        run->is_known = WEFT_NEW(arena, bool, run->load->input_count);
    }
    struct packets *const both[] = {&run->out, &run->in};
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            both[p]->pieces[i] = (struct iovec){both[p]->bytes[i], ROOM};
            both[p]->messages[i].msg_hdr.msg_iov = &both[p]->pieces[i];
            both[p]->messages[i].msg_hdr.msg_iovlen = 1;
        }
    }
    const int bytes = 4 << 20;
    (void)setsockopt(run->client->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    prctl(PR_SET_TIMERSLACK, 1);
}

bool weft_nic_load_run(struct weft_nic_load_result *result, struct weft_nic_client *client,
                       const struct weft_nic_load *load, weft_stop stop, struct weft_arena *arena,
                       struct weft_error *error)
{
    struct load_run *run = WEFT_NEW(arena, struct load_run, 1);
    const uint32_t bytes = WEFT_PHOTONIC_HEAD_BYTES + load->model.input_bytes;
    if (bytes > client->payload_bytes || bytes > ROOM) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "a request of %u bytes is longer than a packet; a load sends whole ones",
                         bytes);
    }
    *result = (struct weft_nic_load_result){0};
    run->load = load;
    run->client = client;
    run->result = result;
    run->first = client->request;
    prepare(run, arena);
    const uint64_t start_ns = lab_now_ns();
    run->next_ns = start_ns;
    while (run->ended < load->count && !weft_stopped(stop)) {
        const uint64_t now_ns = lab_now_ns();
        begin_due(run, now_ns);
        end_timers(run, now_ns);
        const bool idle = run->out.count == 0;
        flush(run);
        if (!receive(run) && idle) {
            if (run->held_count > 0) {
                put_held(run);
                continue;
            }
            wait(run, now_ns);
        }
    }
    result->seconds = (double)(lab_now_ns() - start_ns) * 1e-9;
    client->request += (uint32_t)run->begun;
    return true;
}
