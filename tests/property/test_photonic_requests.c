// SPDX-License-Identifier: Apache-2.0
// The responder behind a network that loses, repeats and reorders packets, and forges some: clients
// send whole requests and fragments until they are answered. No answer is of another input, every
// request is answered in the end, and every payload is in one counter.
//
// Mutations that made this test fail (each was run): the input is not compared with that of an
// answer that was given, or the number or the exponent is not; a fragment that overlaps others is
// stored; a request is whole one byte early; fragments of a request that is given up are not
// counted.

#include "../arenas.h"
#include "../photonic_models.h"
#include "../seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    CLIENTS = 5,
    REQUESTS = 40, // of a client, one after the other
    PACKETS = 512, // on their way
    BYTES = 128,
    SEEDS = 300,
    STEP_NS = 1000000,
};

struct packet {
    bool is_used;
    bool to_client;
    uint32_t client;
    size_t size;
    uint8_t bytes[BYTES];
};

struct client {
    uint32_t done;
    uint64_t resend_ns;
    const struct weft_photonic_model *model;
    struct weft_photonic_head head;
    uint8_t input[64];
};

struct net {
    struct weft_rng rng;
    struct weft_photonic_models models;
    struct weft_photonic_responder *responder;
    struct packet packets[PACKETS];
    struct client clients[CLIENTS];
    double loss, repeat, forge;
    uint64_t now_ns;
    uint32_t wrong;
    bool reuses;  // numbers of requests, after every answer
    bool resizes; // fragments, when they are sent again
};

static void send(struct net *net, bool to_client, uint32_t client, const uint8_t *bytes,
                 size_t size)
{
    const uint32_t copies = weft_rng_unit(&net->rng) < net->loss     ? 0
                            : weft_rng_unit(&net->rng) < net->repeat ? 2
                                                                     : 1;
    for (uint32_t copy = 0; copy < copies; copy++) {
        struct packet *packet = &net->packets[weft_rng_below(&net->rng, PACKETS)];
        packet->is_used = true; // what was there is lost
        packet->to_client = to_client;
        packet->client = client;
        packet->size = size;
        memcpy(packet->bytes, bytes, size);
    }
}

static void new_request(struct net *net, struct client *client)
{
    client->model = &net->models.models[weft_rng_below(&net->rng, net->models.count)];
    client->resend_ns = 0;
    client->head = (struct weft_photonic_head){
        .model = client->model->id,
        .layers = client->model->program.row_count,
        .request = net->reuses ? 1 : client->done,
        .input_bytes = client->model->input_bytes,
        .exponent = client->model->has_biases ? 0 : (int32_t)weft_rng_below(&net->rng, 3) - 1,
    };
    // Half of the inputs are often asked: all their bytes are alike.
    const uint32_t range = weft_rng_below(&net->rng, 2) == 0 ? 1 : 4;
    for (uint32_t i = 0; i < client->model->input_bytes; i++) {
        client->input[i] = (uint8_t)weft_rng_below(&net->rng, range);
    }
}

static void send_fragment(struct net *net, uint32_t place, uint32_t offset, uint32_t bytes)
{
    struct client *client = &net->clients[place];
    struct weft_photonic_head head = client->head;
    uint8_t packet[BYTES] = {0};
    head.flags = WEFT_PHOTONIC_FRAGMENT;
    weft_photonic_head_write(packet, &head);
    packet[19] = (uint8_t)offset;
    memcpy(packet + WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES, client->input + offset, bytes);
    send(net, false, place, packet, WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES + bytes);
}

// A request whole, or in fragments; in some runs of another length each time it is sent, so that
// those of one time overlap those of another.
static void send_request(struct net *net, uint32_t place)
{
    struct client *client = &net->clients[place];
    const uint32_t length = client->head.input_bytes;
    if (!net->reuses && (place + client->done) % 2 == 0) {
        const uint32_t part = net->resizes ? 12 + weft_rng_below(&net->rng, 20)
                                           : 3 + (client->head.request + place) % 20;
        for (uint32_t at = 0; at < length; at += part) {
            send_fragment(net, place, at, at + part < length ? part : length - at);
        }
    } else {
        uint8_t packet[BYTES];
        weft_photonic_head_write(packet, &client->head);
        memcpy(packet + WEFT_PHOTONIC_HEAD_BYTES, client->input, length);
        send(net, false, place, packet, WEFT_PHOTONIC_HEAD_BYTES + length);
    }
    client->resend_ns = net->now_ns + 50 * (uint64_t)STEP_NS;
}

// A packet of a client with some bytes changed, which another host sends: its source is its own.
static void forge(struct net *net, const struct packet *packet)
{
    uint8_t bytes[BYTES];
    size_t size = packet->size;
    memcpy(bytes, packet->bytes, size);
    for (uint32_t i = weft_rng_below(&net->rng, 3) + 1; i-- > 0;) {
        bytes[weft_rng_below(&net->rng, 24) % size] = (uint8_t)weft_rng_next(&net->rng);
    }
    size -= weft_rng_below(&net->rng, 4) == 0 ? weft_rng_below(&net->rng, (uint32_t)size) : 0;
    send(net, false, CLIENTS, bytes, size);
}

static void serve(struct net *net, const struct packet *packet)
{
    struct weft_photonic_job job;
    const enum weft_photonic_step step = weft_photonic_responder_take(
        &job, net->responder, packet->client, packet->bytes, packet->size, net->now_ns);
    if (step == WEFT_PHOTONIC_COMPUTE) {
        struct test_sums sums;
        test_compute(&sums, job.model, job.input);
        weft_photonic_responder_finish(&job, net->responder, &sums.outcome);
    }
    if (step == WEFT_PHOTONIC_COMPUTE || step == WEFT_PHOTONIC_ANSWERED) {
        assert_true(job.answer_bytes <= BYTES);
        send(net, true, packet->client, job.answer, job.answer_bytes);
    }
}

// What a client takes for the answer to its request must be that.
static void receive(struct net *net, const struct packet *packet)
{
    if (packet->client >= CLIENTS) {
        return;
    }
    struct client *client = &net->clients[packet->client];
    struct weft_photonic_answer answer;
    struct test_sums sums;
    assert_true(weft_photonic_answer_read(&answer, packet->bytes, packet->size));
    if (client->done == REQUESTS || answer.head.request != client->head.request ||
        answer.head.model != client->head.model || answer.head.exponent != client->head.exponent) {
        return; // late
    }
    test_compute(&sums, client->model, client->input);
    bool same = answer.class_index == sums.outcome.class_index &&
                answer.sum_count == sums.outcome.sum_count &&
                memcmp(answer.highest, sums.highest, sizeof sums.highest) == 0;
    for (uint32_t i = 0; same && i < answer.sum_count; i++) {
        same = weft_photonic_answer_sum(&answer, i) == sums.sums[i];
    }
    net->wrong += !same;
    // A client that uses a number again waits until no answer to the former can come any more.
    for (uint32_t i = 0; net->reuses && i < PACKETS; i++) {
        net->packets[i].is_used =
            net->packets[i].is_used && net->packets[i].client != packet->client;
    }
    if (++client->done < REQUESTS) {
        new_request(net, client);
    }
}

static void run_one(struct net *net, uint64_t seed)
{
    struct weft_arena arena = arena_kept;
    memset(net, 0, sizeof *net);
    weft_rng_init(&net->rng, seed);
    net->models = test_models(&arena);
    net->loss = weft_rng_unit(&net->rng) * 0.3;
    net->repeat = weft_rng_unit(&net->rng) * 0.3;
    net->forge = weft_rng_unit(&net->rng) * 0.3;
    net->reuses = weft_rng_below(&net->rng, 4) == 0;
    net->resizes = weft_rng_below(&net->rng, 3) == 0;
    const struct weft_photonic_responder_options options = {
        .assemblies = 8, .timeout_ns = 200 * (uint64_t)STEP_NS, .answers = 16};
    net->responder = weft_photonic_responder_build(&net->models, &options, &arena);
    uint32_t done = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        new_request(net, &net->clients[i]);
    }
    while (done < CLIENTS * REQUESTS) {
        net->now_ns += STEP_NS / 8;
        assert_true(net->now_ns < 200000ull * STEP_NS); // a request is answered in the end
        for (uint32_t i = 0; i < CLIENTS; i++) {
            if (net->clients[i].done < REQUESTS && net->now_ns >= net->clients[i].resend_ns) {
                send_request(net, i);
            }
        }
        struct packet *packet = &net->packets[weft_rng_below(&net->rng, PACKETS)];
        if (packet->is_used) {
            const struct packet taken = *packet;
            packet->is_used = false;
            if (!taken.to_client && weft_rng_unit(&net->rng) < net->forge) {
                forge(net, &taken);
            }
            (taken.to_client ? receive : serve)(net, &taken);
        }
        assert_true(test_conserved(net->responder));
        done = 0;
        for (uint32_t i = 0; i < CLIENTS; i++) {
            done += net->clients[i].done;
        }
    }
    weft_photonic_responder_expire(net->responder, net->now_ns + 1000 * (uint64_t)STEP_NS);
    assert_int_equal(weft_photonic_responder_held(net->responder), 0);
    assert_true(test_conserved(net->responder));
}

static void no_answer_is_of_another_request(void **state)
{
    (void)state;
    static struct net net;
    uint64_t drops = 0;
    uint64_t repeated = 0;
    for (uint64_t seed = 1; seed <= TEST_SEEDS(SEEDS); seed++) {
        run_one(&net, seed);
        if (net.wrong > 0) {
            fail_msg("seed %llu: %u wrong answers", (unsigned long long)seed, net.wrong);
        }
        const struct weft_photonic_counts *counts = weft_photonic_responder_counts(net.responder);
        repeated += counts->repeated;
        for (uint32_t i = WEFT_PHOTONIC_DROP_SHORT; i < WEFT_PHOTONIC_DROPS; i++) {
            drops += counts->drops[i];
        }
    }
    print_message("seeds 1 to %u: %llu payloads dropped, %llu answers given again\n",
                  TEST_SEEDS(SEEDS), (unsigned long long)drops, (unsigned long long)repeated);
    assert_true(drops > 0 && repeated > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_answer_is_of_another_request)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
