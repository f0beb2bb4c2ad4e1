// SPDX-License-Identifier: Apache-2.0
// Both ends of MLT over a path that loses, doubles, delays and so reorders what it carries, beside
// a model that counts what came from the start each time. Every pattern of fates of the first
// packets for small tensors, and random schedules for steps of several tensors with budgets,
// forged, strange and stale messages: ten thousand, with the argument "long" a million.
//
// Held after every message: a tensor is satisfied exactly when what is missing is within its bound
// and what is left of the budget; DATA is new exactly once and never after that; STOP is said of
// satisfied tensors only, and the sender is done only then; a first pass sends each segment once,
// later ones what the last bitmap lacked; important segments and front layers go first; and the
// step ends once the path is good.
//
// Mutations that made this test fail (each was run): a bound of a byte more or less, or none; a
// budget that is not charged, or not asked; duplicates that count; a last segment that counts in
// full; STOP that is not repeated; old messages that a step does not answer; STOP of a former step
// or with another cookie that is believed; parts of a bitmap that are not told apart, or a sweep
// that ends with its first; bits behind the last segment; a pass that leaves out its start's byte,
// or mixes classes, or begins where the last one ended; a protected tensor with unimportant
// segments; PROBEs that are not repeated, or forgotten while others send; back layers first; a
// tensor counted as satisfied twice; MACs that are not compared, by half, or not of STOP.
// test_mlt.c of the unit tests failed with those about whom to give up, back-off, rounds, epochs,
// bytes, classes and the rate, and that of the oracles with those about the ring and rescaling.

#include "weft/mlt.h"

#include "../mlt_mac.h"
#include "../seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { TENSORS_MAX = 4, SEGMENTS_MAX = 40, FLIGHT_MAX = 512, PACKET_BYTES_MAX = 64, BITS = 5 };
enum { EPOCH = 5, COOKIE = 99, TAPE = 7, FATES = 4 };

struct packet {
    uint64_t due_ps;
    bool to_sender;
    uint32_t size;
    uint8_t bytes[PACKET_BYTES_MAX];
};
struct tensor_model {
    bool came[SEGMENTS_MAX];
    bool was_sent[SEGMENTS_MAX];
    bool is_lacking[SEGMENTS_MAX]; // as the last bitmap said
    bool unimportant_went;         // in this pass
    bool satisfied;
};
struct world {
    struct weft_rng rng;
    struct weft_mlt_step step;
    struct weft_mlt_budget budget;
    uint32_t count;
    struct weft_mlt_tensor tensors[TENSORS_MAX];
    struct weft_mlt_sender senders[TENSORS_MAX];
    struct weft_mlt_receiver receivers[TENSORS_MAX];
    struct weft_mlt_step_sender sender;
    struct weft_mlt_step_receiver receiver;
    struct tensor_model models[TENSORS_MAX];
    uint8_t important[TENSORS_MAX][BITS];
    uint8_t pending[TENSORS_MAX][BITS];
    uint8_t have[TENSORS_MAX][BITS];
    uint32_t order[TENSORS_MAX];
    uint32_t flight_count;
    uint64_t now_ps;
    uint64_t data_received;
    // The path: the fates on a tape, or drawn until it is good.
    const uint8_t *tape; // [TAPE], or NULL
    uint32_t tape_at;
    uint64_t good_ps;
    double loss, doubling, strangers;
    uint32_t delay_ps;
    struct packet flight[FLIGHT_MAX];
};

static void open_world(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        weft_mlt_sender_open(&world->senders[i], &world->step, &world->tensors[i],
                             world->important[i], world->pending[i]);
        weft_mlt_receiver_open(&world->receivers[i], &world->step, &world->tensors[i],
                               &world->budget, world->have[i], 0);
    }
    weft_mlt_step_sender_open(&world->sender, world->senders, world->order, world->count);
    weft_mlt_step_receiver_open(&world->receiver, &world->step, world->receivers, world->count);
}

// ---- the path ----

static void carry(struct world *world, const struct weft_mlt_message *message, bool to_sender,
                  uint64_t delay_ps)
{
    if (world->flight_count == FLIGHT_MAX) {
        return; // a full queue
    }
    struct packet *packet = &world->flight[world->flight_count++];
    assert_true(weft_mlt_message_bytes(message) <= sizeof packet->bytes);
    memset(packet->bytes, 0, sizeof packet->bytes);
    packet->due_ps = world->now_ps + delay_ps;
    packet->to_sender = to_sender;
    packet->size = (uint32_t)weft_mlt_message_write(packet->bytes, message, &test_key);
}

static void launch(struct world *world, const struct weft_mlt_message *message, bool to_sender)
{
    if (world->tape != NULL) {
        const uint8_t fate = world->tape_at < TAPE ? world->tape[world->tape_at++] : 0;
        if (fate != 1) {
            carry(world, message, to_sender, fate == 3 ? 9 : 1);
        }
        if (fate == 2) {
            carry(world, message, to_sender, 7);
        }
        return;
    }
    const bool good = world->now_ps >= world->good_ps;
    do {
        if (good || weft_rng_unit(&world->rng) >= world->loss) {
            carry(world, message, to_sender, 1 + weft_rng_below(&world->rng, world->delay_ps));
        }
    } while (!good && weft_rng_unit(&world->rng) < world->doubling);
}

// ---- the model ----

static uint64_t missing_bytes(const struct world *world, uint32_t tensor)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < world->tensors[tensor].segment_count; i++) {
        missing +=
            world->models[tensor].came[i] ? 0 : weft_mlt_segment_bytes(&world->tensors[tensor], i);
    }
    return missing;
}

static uint64_t spent_bytes(const struct world *world)
{
    uint64_t spent = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        spent += world->models[i].satisfied ? missing_bytes(world, i) : 0;
    }
    return spent;
}

static enum weft_mlt_verdict expect(struct world *world, const struct weft_mlt_message *message)
{
    struct tensor_model *model = &world->models[message->tensor % TENSORS_MAX];
    if (message->cookie != COOKIE) {
        return WEFT_MLT_STRANGE;
    }
    if (message->epoch != EPOCH) {
        return message->epoch < EPOCH ? WEFT_MLT_STALE : WEFT_MLT_EARLY;
    }
    world->data_received += message->kind == WEFT_MLT_DATA;
    if (model->satisfied) {
        return WEFT_MLT_LATE;
    }
    if (message->kind == WEFT_MLT_DATA && model->came[message->segment]) {
        return WEFT_MLT_DUPLICATE;
    }
    if (message->kind == WEFT_MLT_DATA) {
        model->came[message->segment] = true;
    }
    const uint64_t missing = missing_bytes(world, message->tensor);
    model->satisfied = missing <= world->tensors[message->tensor].bound_bytes &&
                       missing + spent_bytes(world) <= world->budget.limit_bytes;
    return WEFT_MLT_NEW;
}

static void check_answer(const struct world *world, const struct weft_mlt_message *message,
                         const struct weft_mlt_message *answer, enum weft_mlt_verdict verdict)
{
    const bool ours = message->cookie == COOKIE && message->epoch == EPOCH;
    const bool satisfied = ours && world->models[message->tensor].satisfied;
    const bool stops = satisfied || verdict == WEFT_MLT_STALE;
    const bool shows = ours && !satisfied && message->kind == WEFT_MLT_PROBE;
    assert_int_equal(answer->kind, stops ? WEFT_MLT_STOP : shows ? WEFT_MLT_BITMAP : WEFT_MLT_NONE);
    if (stops) {
        assert_true(answer->epoch == message->epoch && answer->tensor == message->tensor);
    }
    for (uint32_t i = 0; i < answer->count; i++) {
        assert_int_equal(weft_mlt_bit(answer->data, i),
                         world->models[message->tensor].came[answer->segment + i]);
    }
}

static void check_ends(const struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        const struct weft_mlt_receiver *receiver = &world->receivers[i];
        const uint64_t missing = missing_bytes(world, i);
        assert_int_equal(receiver->state == WEFT_MLT_SATISFIED, world->models[i].satisfied);
        assert_int_equal(receiver->missing_bytes, missing);
        assert_true(world->senders[i].state != WEFT_MLT_DONE || world->models[i].satisfied);
        assert_true(!world->models[i].satisfied || missing <= world->tensors[i].bound_bytes);
    }
    assert_int_equal(world->budget.spent_bytes, spent_bytes(world));
    assert_true(world->budget.spent_bytes <= world->budget.limit_bytes);
    assert_int_equal(world->receiver.received, world->data_received);
}

// ---- both ends ----

static void receive(struct world *world, const struct packet *packet)
{
    struct weft_mlt_message message, answer;
    assert_int_equal(weft_mlt_message_read(&message, packet->bytes, packet->size, &test_key),
                     WEFT_MLT_READ);
    if (!packet->to_sender) {
        const enum weft_mlt_verdict expected = expect(world, &message);
        assert_int_equal(
            weft_mlt_step_receiver_take(&answer, &world->receiver, &message, false, world->now_ps),
            expected);
        check_answer(world, &message, &answer, expected);
        if (answer.kind != WEFT_MLT_NONE) {
            launch(world, &answer, true);
        }
        return;
    }
    const enum weft_mlt_verdict verdict =
        weft_mlt_step_sender_take(&world->sender, &message, world->now_ps);
    if (message.cookie != COOKIE || message.epoch != EPOCH) {
        assert_int_equal(verdict, message.cookie != COOKIE ? WEFT_MLT_STRANGE : WEFT_MLT_STALE);
    }
    for (uint32_t i = 0; verdict == WEFT_MLT_NEW && i < message.count; i++) {
        world->models[message.tensor].is_lacking[message.segment + i] =
            !weft_mlt_bit(message.data, i);
    }
}

// Whether what the sender sends next is what it should be.
static void check_data(struct world *world, const struct weft_mlt_message *message)
{
    const uint32_t t = message->tensor;
    struct tensor_model *model = &world->models[t];
    const uint32_t segment = message->segment;
    const bool is_important =
        world->tensors[t].bound_bytes == 0 || weft_mlt_bit(world->important[t], segment);
    assert_int_equal(message->important, is_important);
    assert_int_equal(message->layer, world->tensors[t].layer);
    assert_false(is_important && model->unimportant_went);
    model->unimportant_went = !is_important;
    assert_true(message->resent ? model->is_lacking[segment] : !model->was_sent[segment]);
    assert_true(message->resent || world->senders[t].round <= 1);
    model->is_lacking[segment] = false;
    model->was_sent[segment] = true;
    if (world->senders[t].state == WEFT_MLT_PROBING) {
        model->unimportant_went = false;
        for (uint32_t i = 0; i < world->tensors[t].segment_count; i++) {
            assert_true(model->was_sent[i] && !model->is_lacking[i]);
        }
    }
    for (uint32_t i = 0; i < world->count; i++) {
        const bool busy = world->senders[i].state == WEFT_MLT_SENDING ||
                          world->senders[i].state == WEFT_MLT_RESENDING;
        assert_false(busy && i != t &&
                     (world->tensors[i].layer < message->layer ||
                      (world->tensors[i].layer == message->layer && i < t)));
    }
}

// Messages that nobody of this step sent, or whose bytes are not what was written.
static void meddle(struct world *world)
{
    const uint32_t t = weft_rng_below(&world->rng, world->count);
    const bool to_sender = weft_rng_below(&world->rng, 2) == 0;
    const bool strange = weft_rng_below(&world->rng, 2) == 0;
    const bool early = !to_sender && weft_rng_below(&world->rng, 3) == 0;
    static const uint8_t segment[SEGMENTS_MAX];
    struct weft_mlt_message message = {
        .kind = to_sender ? WEFT_MLT_STOP : WEFT_MLT_PROBE,
        .epoch = strange ? EPOCH
                 : early ? EPOCH + 1
                         : EPOCH - 1,
        .cookie = strange ? COOKIE + 1 : COOKIE,
        .tensor = t,
    };
    if (!to_sender && weft_rng_below(&world->rng, 2) == 0) {
        message.kind = WEFT_MLT_DATA;
        message.data = segment;
        message.layer = world->tensors[t].layer;
        message.data_bytes = weft_mlt_segment_bytes(&world->tensors[t], 0);
    }
    carry(world, &message, to_sender, 1 + weft_rng_below(&world->rng, world->delay_ps));
    // Control of this step, forged by whoever knows all but the key: one bit is another.
    struct weft_mlt_message forged = message;
    uint8_t bytes[PACKET_BYTES_MAX];
    forged.kind = WEFT_MLT_STOP;
    forged.data = NULL;
    forged.data_bytes = forged.layer = 0;
    const size_t size = weft_mlt_message_write(bytes, &forged, &test_key);
    const uint32_t bit = weft_rng_below(&world->rng, 8 * (uint32_t)size);
    bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
    assert_int_not_equal(weft_mlt_message_read(&message, bytes, size, &test_key), WEFT_MLT_READ);
}

static void send_next(struct world *world)
{
    struct weft_error error;
    struct weft_mlt_message message;
    static const uint8_t segment[SEGMENTS_MAX];
    const uint64_t due_ps = weft_mlt_step_sender_due_ps(&world->sender);
    assert_true(weft_mlt_step_sender_next(&message, &world->sender, world->now_ps, &error));
    assert_int_equal(message.kind != WEFT_MLT_NONE, due_ps <= world->now_ps);
    if (message.kind == WEFT_MLT_DATA) {
        message.data = segment;
        check_data(world, &message);
    }
    if (message.kind != WEFT_MLT_NONE) {
        launch(world, &message, false);
    }
}

// Plays until the sender is done. A good path ends a step within some round trips.
static void play(struct world *world)
{
    for (uint32_t i = 0; !weft_mlt_step_sender_done(&world->sender); i++) {
        assert_true(i < 20000);
        world->now_ps++;
        if (weft_rng_unit(&world->rng) < world->strangers) {
            meddle(world);
        }
        for (uint32_t p = 0; p < world->flight_count;) {
            if (world->flight[p].due_ps > world->now_ps) {
                p++;
                continue;
            }
            const struct packet packet = world->flight[p];
            world->flight[p] = world->flight[--world->flight_count];
            receive(world, &packet);
            check_ends(world);
        }
        send_next(world);
        check_ends(world);
    }
    assert_true(weft_mlt_step_receiver_done(&world->receiver));
}

static struct weft_mlt_step step_of(uint32_t bitmap_bytes)
{
    return (struct weft_mlt_step){.epoch = EPOCH,
                                  .cookie = COOKIE,
                                  .limits = {.probe_ps = 5,
                                             .probe_max_ps = 40,
                                             .patience_ps = 1000000,
                                             .bitmap_bytes = bitmap_bytes}};
}

static struct world world; // its queue is long for a stack

static void every_fate_of_small_tensors(void **state)
{
    (void)state;
    uint32_t tapes = 1;
    for (uint32_t i = 0; i < TAPE; i++) {
        tapes *= FATES;
    }
    for (uint32_t n = 1; n <= 5; n++) {
        for (uint32_t run = 0; run < tapes * (n + 1); run += TEST_SEEDS_SHARE) {
            uint8_t tape[TAPE];
            uint32_t rest = run / (n + 1);
            for (uint32_t i = 0; i < TAPE; i++) {
                tape[i] = (uint8_t)(rest % FATES);
                rest /= FATES;
            }
            memset(&world, 0, offsetof(struct world, flight));
            weft_rng_init(&world.rng, run);
            world.step = step_of(1);
            world.count = 1;
            world.tensors[0] = weft_mlt_tensor_of(0, 0, 4 * n - 1, 4, 0);
            world.tensors[0].bound_bytes = 4 * (run % (n + 1)); // up to n segments
            world.important[0][0] = (uint8_t)(run >> 3);
            world.budget.limit_bytes = 4 * n;
            world.tape = tape;
            open_world(&world);
            play(&world);
        }
    }
}

static void draw_world(uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    memset(&world, 0, offsetof(struct world, flight));
    world.step = step_of(1 + weft_rng_below(&rng, 3));
    world.step.limits.linger_ps = weft_rng_below(&rng, 8);
    world.count = 1 + weft_rng_below(&rng, TENSORS_MAX);
    for (uint32_t i = 0; i < world.count; i++) {
        const double bound = weft_rng_below(&rng, 3) == 0 ? 0 : weft_rng_unit(&rng) / 2;
        const uint32_t segment_bytes = 1 + weft_rng_below(&rng, 9);
        world.tensors[i] = weft_mlt_tensor_of(
            i, weft_rng_below(&rng, 3), 1 + weft_rng_below(&rng, SEGMENTS_MAX * segment_bytes),
            segment_bytes, bound);
        for (uint32_t b = 0; b < BITS; b++) {
            world.important[i][b] = (uint8_t)weft_rng_next(&rng);
        }
    }
    world.budget.limit_bytes = weft_rng_below(&rng, 300);
    world.loss = weft_rng_unit(&rng) * 0.9;
    world.doubling = weft_rng_unit(&rng) / 2;
    world.strangers = weft_rng_below(&rng, 2) == 0 ? 0 : 0.1;
    world.delay_ps = 1 + weft_rng_below(&rng, 30);
    world.good_ps = weft_rng_below(&rng, 1000);
    world.rng = rng;
    open_world(&world);
}

static uint32_t schedules = 10000;

static void random_schedules(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TEST_SEEDS(schedules); seed++) {
        print_message("%s", seed % 100000 == 0 && seed > 0 ? "." : "");
        draw_world(seed);
        play(&world);
    }
    print_message("seeds 0 to %u\n", TEST_SEEDS(schedules) - 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fate_of_small_tensors),
        cmocka_unit_test(random_schedules),
    };
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        schedules = 1000000;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
