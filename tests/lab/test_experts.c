// SPDX-License-Identifier: Apache-2.0
// Jobs of experts before they run in a lab (runtime/rails/experts.h): what is chosen for each
// all-to-all, held against the rules by means of this test; what servers send, over circuits that
// are there; and the replay, exact where pairs of servers keep to themselves.
//
// Seen to fail: a change that does not pay, the way back with the demand of the way out, a share
// that is sent twice, ports that receive and do not wait, a first all-to-all that follows none,
// gates that wait for no change, packets that share their port with nothing.

#include "../seeds.h"
#include "runtime/rails/experts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;

struct prepared {
    struct weft_expert_job job;
    struct lab_experts experts;
    struct lab_rail_options options;
    struct lab_rail rail;
};

static void prepare(struct prepared *self, struct weft_arena *kept)
{
    const struct weft_environment environment = {
        .arena = kept, .scratch = scratch, .threads = 1, .error = &error};
    self->experts = (struct lab_experts){.job = &self->job};
    assert_true(lab_experts_prepare(&self->rail, &self->experts, &self->options, &environment));
}

static struct weft_expert_job draw_job(struct weft_rng *rng)
{
    uint32_t servers = 4 + weft_rng_below(rng, 9);
    return (struct weft_expert_job){
        .name = "drawn",
        .servers = servers,
        .circuits = 1 + weft_rng_below(rng, 3),
        .experts = servers * (1 + weft_rng_below(rng, 3)),
        .ranks = servers * (1 + weft_rng_below(rng, 2)),
        .layers = 1 + weft_rng_below(rng, 3),
        .steps = 1 + weft_rng_below(rng, 3),
        .skew = 2 * weft_rng_unit(rng),
        .drift = weft_rng_unit(rng),
        .seed = weft_rng_below(rng, 1000),
        .copies_bytes = 64000000,
        .attention_ps = weft_rng_below(rng, 3) * 500000000ull,
        .experts_ps = weft_rng_below(rng, 3) * 500000000ull,
        .rate_Bps = 50e9,
    };
}

static struct lab_rail_options draw_options(struct weft_rng *rng)
{
    static const uint64_t dark_ps[] = {0, 1000000000, 10000000000, 25000000000, 200000000000};
    return (struct lab_rail_options){
        .mode = weft_rng_below(rng, 2) == 0 ? WEFT_RAIL_DEMAND : WEFT_RAIL_PROVISION,
        .dark_ps = dark_ps[weft_rng_below(rng, 5)],
        .rate_Bps = 12.5e6,
        .mtu_bytes = 9000,
        .target_s = 1,
        .iterations = 3,
    };
}

// ---- the schedule ----

// Whether a node's rows can be carried in a time: what circuits leave goes over packets.
static bool fits(const struct prepared *self, const struct weft_expert_exchange *exchange,
                 const uint32_t *circuits, double time_s)
{
    uint32_t n = self->job.servers;
    double circuit = self->experts.circuit_Bps * time_s;
    double packets = circuit * self->experts.packet_ports;
    for (uint32_t i = 0; i < n; i++) {
        double left[2] = {0, 0};
        for (uint32_t j = 0; j < n; j++) {
            const size_t at[2] = {(size_t)i * n + j, (size_t)j * n + i};
            for (uint32_t way = 0; way < 2 && i != j; way++) {
                left[way] += fmax(0, exchange->bytes[at[way]] - circuits[at[way]] * circuit);
            }
        }
        if (left[0] > packets || left[1] > packets) {
            return false;
        }
    }
    return true;
}

static double least_s(const struct prepared *self, const struct weft_expert_exchange *exchange,
                      const uint32_t *circuits)
{
    double low_s = 0;
    double high_s = 1000;
    for (uint32_t round = 0; round < 100; round++) {
        double middle_s = (low_s + high_s) / 2;
        if (fits(self, exchange, circuits, middle_s)) {
            high_s = middle_s;
        } else {
            low_s = middle_s;
        }
    }
    return high_s;
}

static void check_circuits(const struct prepared *self, const struct weft_expert_exchange *exchange)
{
    uint32_t n = self->job.servers;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t count = exchange->circuits[(size_t)i * n + j];
            uint32_t planes = 0;
            for (uint32_t p = 0; p < self->job.circuits; p++) {
                planes += i != j && exchange->peers[(size_t)p * n + i] == j;
            }
            assert_int_equal(count, exchange->circuits[(size_t)j * n + i]);
            assert_true(count <= planes);
            sum += count;
        }
        assert_true(sum <= self->job.circuits);
    }
    for (uint32_t p = 0; p < self->job.circuits; p++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < n; i++) {
            seen |= UINT64_C(1) << exchange->peers[(size_t)p * n + i];
        }
        assert_true(seen == (UINT64_C(1) << n) - 1);
    }
}

static void schedule_follows_its_rules(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= TEST_SEEDS(40); seed++) {
        struct weft_arena kept = arena;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct prepared self = {.job = draw_job(&rng), .options = draw_options(&rng)};
        prepare(&self, &kept);
        const struct weft_expert_schedule *schedule = &self.experts.schedule;
        uint32_t count = schedule->exchange_count;
        uint64_t sum_ps = 0;
        printf("seed %u: %u servers, %u circuits, %u all-to-alls, %u changes\n", seed,
               self.job.servers, self.job.circuits, count, schedule->changes);
        assert_int_equal(count, 2 * self.job.layers * self.job.steps);
        for (uint32_t e = 0; e < count; e++) {
            const struct weft_expert_exchange *exchange = &schedule->exchanges[e];
            const struct weft_expert_exchange *last = &schedule->exchanges[(e + count - 1) % count];
            size_t cells = (size_t)self.job.servers * self.job.servers;
            size_t ports = (size_t)self.job.circuits * self.job.servers;
            uint64_t change_ps = self.options.dark_ps + self.options.dark_ps / 20;
            bool ahead = self.options.mode == WEFT_RAIL_PROVISION;
            uint64_t window_ps = ahead ? exchange->compute_ps : 0;
            uint64_t wait_ps = change_ps > window_ps ? change_ps - window_ps : 0;
            uint32_t moved = 0;
            for (size_t at = 0; exchange->back && at < cells; at++) {
                size_t turned = at % self.job.servers * self.job.servers + at / self.job.servers;
                assert_true(exchange->bytes[at] == last->bytes[turned]);
            }
            check_circuits(&self, exchange);
            double time_s = least_s(&self, exchange, exchange->circuits);
            assert_true(fabs(exchange->time_s - time_s) < 1e-9 + 1e-6 * time_s);
            for (size_t p = 0; p < ports; p++) {
                moved += exchange->peers[p] != last->peers[p];
            }
            assert_int_equal(exchange->moved, moved);
            assert_true(exchange->wait_ps == (moved > 0 ? wait_ps : 0));
            if (e > 0 && memcmp(exchange->circuits, last->circuits, cells * 4) != 0) {
                assert_true(exchange->back || !ahead); // loads are known
                assert_true(weft_seconds(wait_ps) + time_s <
                            least_s(&self, exchange, last->circuits));
            }
            sum_ps += exchange->compute_ps + exchange->wait_ps + LAB_EXPERTS_OVERHEAD_PS +
                      (uint64_t)(exchange->time_s * 1e12);
        }
        assert_true(sum_ps == schedule->iteration_ps);
        assert_true(schedule->ideal_s * 1e12 <= (double)schedule->iteration_ps);
    }
}

// ---- what servers send ----

// Which way a transfer goes: a plane, or packets behind them.
static uint32_t way_of(const struct prepared *self, const struct lab_stream *stream)
{
    uint32_t p = 0;
    while (p < self->job.circuits && stream->to_ip != weft_lab_port_address(stream->to, p)) {
        p++;
    }
    assert_true(p < self->job.circuits || stream->to_ip == weft_lab_server_address(stream->to));
    return p;
}

// Makes the circuits of an all-to-all's phase, as the controller does.
static void turn(uint32_t *outputs, const struct prepared *self, uint32_t e)
{
    const struct lab_rail_schedule *schedule = &self->rail.schedule;
    uint32_t planes = self->job.circuits;
    uint32_t phase = WEFT_NONE;
    for (uint32_t s = 0; s < self->job.servers; s++) {
        for (uint32_t p = 0; p < planes; p++) {
            const struct lab_turn *turn = &schedule->ranks[s].turns[e * planes + p];
            assert_int_equal(turn->plane, p);
            assert_true(phase == WEFT_NONE || turn->phase == WEFT_NONE || turn->phase == phase);
            phase = turn->phase != WEFT_NONE ? turn->phase : phase;
        }
    }
    for (uint32_t c = 0; phase != WEFT_NONE && c < schedule->phases[phase].circuit_count; c++) {
        const struct lab_circuit *circuit = &schedule->phases[phase].circuits[c];
        uint32_t ranks[2] = {circuit->from % self->job.servers, circuit->to % self->job.servers};
        uint32_t plane = circuit->from / self->job.servers;
        assert_int_equal(plane, circuit->to / self->job.servers);
        for (uint32_t end = 0; end < 2; end++) { // both ends wait
            assert_int_equal(schedule->ranks[ranks[end]].turns[e * planes + plane].phase, phase);
        }
        for (uint32_t i = 0; i < planes * self->job.servers; i++) {
            outputs[i] = outputs[i] == circuit->to ? WEFT_NONE : outputs[i];
        }
        outputs[circuit->from] = circuit->to;
    }
}

// The sends of one all-to-all, which are the tasks up to the next one's.
static void check_sends(const struct prepared *self, uint32_t e, const uint32_t *outputs)
{
    const struct lab_program *program = &self->rail.program;
    const struct weft_expert_exchange *exchange = &self->experts.schedule.exchanges[e];
    uint32_t n = self->job.servers;
    bool last = e + 1 == self->experts.schedule.exchange_count;
    uint32_t end = last ? self->rail.graph.task_count : self->experts.compute[(size_t)(e + 1) * n];
    double sum[16 * 16] = {0};
    double packets[2][16] = {{0}};
    for (uint32_t t = self->experts.compute[(size_t)e * n]; t < end; t++) {
        const struct lab_operation *send = &program->operations[program->task_operation[t]];
        if (send->kind != LAB_OPERATION_SEND) {
            continue;
        }
        const struct lab_chunk *chunk = &program->chunks[send->chunk_first];
        const struct lab_stream *stream = &program->streams[chunk->stream];
        uint32_t way = way_of(self, stream);
        double bytes = (double)chunk->bytes;
        assert_int_equal(send->chunk_count, 1);
        assert_int_equal(send->server, stream->from);
        sum[stream->from * n + stream->to] += bytes;
        if (way == self->job.circuits) {
            packets[0][stream->from] += bytes;
            packets[1][stream->to] += bytes;
            continue;
        }
        assert_int_equal(outputs[way * n + stream->from], way * n + stream->to);
        assert_true(bytes <= exchange->time_s * self->experts.circuit_Bps);
    }
    double most = exchange->time_s * self->experts.circuit_Bps * self->experts.packet_ports;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(packets[0][i] <= most + n * self->job.circuits + 1e-6 * most);
        assert_true(packets[1][i] <= most + n * self->job.circuits + 1e-6 * most);
        for (uint32_t j = 0; j < n; j++) {
            assert_true(i == j || fabs(sum[i * n + j] - exchange->bytes[i * n + j]) < 0.5);
        }
    }
}

static void bytes_go_over_circuits_that_are_there(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= TEST_SEEDS(40); seed++) {
        struct weft_arena kept = arena;
        struct weft_rng rng;
        weft_rng_init(&rng, seed);
        struct prepared self = {.job = draw_job(&rng), .options = draw_options(&rng)};
        prepare(&self, &kept);
        uint32_t count = self.experts.schedule.exchange_count;
        uint32_t outputs[64];
        printf("seed %u\n", seed);
        const uint32_t *first = self.rail.schedule.outputs;
        for (uint32_t port = 0; port < self.job.circuits * self.job.servers; port++) {
            outputs[port] = first != NULL ? first[port] : WEFT_NONE;
        }
        for (uint32_t e = 0; e < 2 * count; e++) { // the second iteration goes on from the first
            turn(outputs, &self, e % count);
            check_sends(&self, e % count, outputs);
        }
        for (uint32_t e = 0; e < count; e++) {
            assert_true(self.experts.ends_s[e] >
                        (e > 0 ? self.experts.ends_s[e - 1] : 0) +
                            1e-12 * (double)self.experts.schedule.exchanges[e].compute_ps - 1e-9);
        }
    }
}

// ---- the replay ----

// Four servers in pairs, others at every step: nobody waits for anybody but his peer, and each
// all-to-all takes what the formula says.
static void pairs_take_what_the_formula_says(void **state)
{
    (void)state;
    static const uint32_t peers[2][4] = {{1, 0, 3, 2}, {2, 3, 0, 1}};
    double loads[2 * 4 * 4] = {0};
    for (uint32_t row = 0; row < 8; row++) {
        loads[row * 4 + peers[row / 4][row % 4]] = 1;
    }
    for (uint32_t mode = WEFT_RAIL_DEMAND; mode <= WEFT_RAIL_PROVISION; mode++) {
        struct weft_arena kept = arena;
        struct prepared self = {.job = {.servers = 4,
                                        .circuits = 1,
                                        .experts = 4,
                                        .ranks = 4,
                                        .layers = 1,
                                        .steps = 2,
                                        .trace = {4, 1, 4, 2, loads},
                                        .trace_path = "pairs",
                                        .copies_bytes = 10000000,
                                        .attention_ps = 5000000000,
                                        .experts_ps = 20000000000,
                                        .rate_Bps = 12.5e6},
                                .options = {.mode = (enum weft_rail_mode)mode,
                                            .dark_ps = 40000000000,
                                            .rate_Bps = 12.5e6,
                                            .mtu_bytes = 9000,
                                            .iterations = 1}};
        prepare(&self, &kept);
        const double circuit_Bps = 12.5e6 * 8948 / 9014;
        const double packets = 1 - 2 * 33.0 / 9014;
        double apart_s = 10e6 / circuit_Bps / packets;       // packets alone
        double joint_s = 10e6 / circuit_Bps / (1 + packets); // with the circuit
        bool ahead = mode == WEFT_RAIL_PROVISION;
        // On demand circuits are changed before a step, ahead between its two all-to-alls, of whose
        // 42 ms the experts' computation hides 20.
        double wanted_s[2] = {5e-3 + (ahead ? apart_s : 42e-3 + joint_s),
                              20e-3 + joint_s + (ahead ? 22e-3 : 0)};
        double end_s = 0;
        assert_int_equal(self.experts.schedule.changes, 2);
        for (uint32_t e = 0; e < 4; e++) {
            end_s += wanted_s[e % 2];
            // What begins an all-to-all takes 0.1 ms, behind a change that is commanded before.
            double found_s = self.experts.ends_s[e] - 1e-4 * (ahead ? e / 2 + 1 : e + 1);
            printf("%s %u: %.4f ms, wanted %.4f\n", ahead ? "ahead" : "demand", e, 1e3 * found_s,
                   1e3 * end_s);
            assert_true(fabs(found_s - end_s) < 2e-5);
        }
    }
}

static int open_arenas(void **state)
{
    (void)state;
    return weft_arena_init(&arena, 0, &error) && weft_arena_init(&scratch, 0, &error) ? 0 : -1;
}

static int close_arenas(void **state)
{
    (void)state;
    weft_arena_release(&arena);
    weft_arena_release(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_follows_its_rules),
        cmocka_unit_test(bytes_go_over_circuits_that_are_there),
        cmocka_unit_test(pairs_take_what_the_formula_says),
    };
    return cmocka_run_group_tests(tests, open_arenas, close_arenas);
}
