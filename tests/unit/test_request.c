// SPDX-License-Identifier: Apache-2.0
// Requests without a command line: typed in, typed out.

#include "weft/request.h"
#include "weft/request/compare.h"
#include "weft/request/fabrics.h"
#include "weft/request/simulate.h"
#include "weft/request/topology.h"
#include "weft/request/traffic.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

#define JOB SOURCE_ROOT "/examples/jobs/vgg16_16.fbuf"

struct door {
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    struct weft_request_environment environment;
};

static void open_door(struct door *door)
{
    *door = (struct door){.error = {.code = WEFT_OK}};
    assert_true(weft_arena_init(&door->arena, 0, &door->error));
    assert_true(weft_arena_init(&door->scratch, 0, &door->error));
    door->environment.base = (struct weft_environment){.arena = &door->arena,
                                                       .scratch = door->scratch,
                                                       .seed = 1,
                                                       .threads = 1,
                                                       .error = &door->error};
}

static const struct weft_request_hardware eight_servers = {
    .server_count = 8, .degree = 4, .rate_Bps = 12.5e9, .rate_given = true};

static void fabrics_of_a_cluster_are_counted(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    const struct weft_fabrics_request request = {.hardware = eight_servers};
    struct weft_fabrics_result result;
    assert_true(weft_request_fabrics(&result, &request, &door.environment));
    assert_int_equal(result.cluster.server_count, 8);
    const struct weft_fabrics_row *last = &result.rows[result.row_count - 1];
    assert_string_equal(last->name, "direct");
    assert_int_equal(last->link_count, 32);
    const char *text = weft_request_fabrics_json(&result, &door.arena);
    assert_non_null(strstr(text, "\"schema\": \"weft.fabrics/1\""));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

// What is asked wrongly names the field, not an option of the command line.
static void lacking_hardware_is_usage(void **state)
{
    (void)state;
    static const struct {
        struct weft_request_hardware hardware;
        const char *message;
    } rows[] = {
        {{.server_count = 0}, "how many servers? write {servers=128} or {cluster=FILE}"},
        {{.server_count = 8}, "how many ports has a server? write {degree=4} or {cluster=FILE}"},
        {{.server_count = 8, .degree = 2},
         "how fast is a port? write {rate=100Gbps} or {cluster=FILE}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct door door;
        open_door(&door);
        const struct weft_fabrics_request request = {.hardware = rows[i].hardware};
        struct weft_fabrics_result result;
        assert_false(weft_request_fabrics(&result, &request, &door.environment));
        assert_int_equal(door.error.code, WEFT_USAGE);
        assert_string_equal(door.error.message, rows[i].message);
    }
}

static void a_topology_leaves_its_step_behind(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    const struct weft_topology_request request = {
        .uniform = true,
        .hardware = eight_servers,
        .search = {.method = WEFT_TOPOLOGY_WEFT, .seconds = 1e-3, .timed = true}};
    struct weft_topology_result result;
    assert_true(weft_request_topology(&result, &request, &door.environment));
    assert_int_equal(result.topology.server_count, 8);
    assert_true(result.topology.mean_hops >= result.moore_mean_hops);
    const struct weft_progress *progress = &door.environment.progress;
    assert_int_equal(atomic_load(&progress->begun), 1);
    assert_int_equal(atomic_load(&progress->ended), 1);
    assert_string_equal(progress->first->what, "searching");
    assert_true(progress->first->seconds_max == 2e-3);
}

static void a_jobs_traffic_is_found(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    const struct weft_traffic_request request = {.path = JOB};
    struct weft_traffic_result result;
    assert_true(weft_request_traffic(&result, &request, &door.environment));
    assert_int_equal(result.traffic.server_count, 16);
    assert_true(result.task_count > 0);
    const char *text = weft_request_traffic_json(&result, &request, &door.arena);
    assert_null(strstr(text, "transfer_matrix_bytes"));
}

// Notes are kept for the door, in the order in which they were made.
static void a_batch_that_does_not_divide_is_noted(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    struct weft_model model;
    struct weft_cluster cluster;
    const struct weft_strategy_setting setting = {.memory_limit_bytes = 0};
    assert_true(weft_request_model(&model, "vgg16-16", &door.environment));
    assert_true(weft_cluster_build(&cluster, 7, 2, 12.5e9, &door.error));
    assert_true(weft_model_set_batch(&model, 8, &door.error));
    weft_request_note_batch(&model, &cluster, &setting, &door.environment);
    weft_request_note_profile("times.json", 1, &door.environment);
    const struct weft_notes *notes = &door.environment.notes;
    assert_int_equal(atomic_load(&notes->count), 2);
    assert_string_equal(notes->first->text, "a batch of 8 does not divide evenly over 7 servers, "
                                            "only into 1 part; use {batch=14}");
    assert_ptr_equal(notes->first->next, notes->last);
}

// An unknown fabric among many is told before the first search.
static void models_are_looked_at_before_they_are_compared(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    const char *const models[] = {"vgg16-16"};
    const struct weft_compare_models_request request = {.models = models,
                                                        .model_count = 1,
                                                        .hardware = eight_servers,
                                                        .fabric_count = 1,
                                                        .fabrics = {"clos"}};
    struct weft_compare_models_result result;
    assert_false(weft_request_compare_models(&result, &request, &door.environment));
    assert_int_equal(door.error.code, WEFT_USAGE);
    assert_non_null(strstr(door.error.message, "{fabrics}: 'clos' is none"));
    assert_int_equal(atomic_load(&door.environment.progress.begun), 0);
}

// A pattern of flows, whose packets are laid over the preset.
static void flows_are_simulated(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    const char *const loads[] = {"alltoall:100kB"};
    const struct weft_simulate_request request = {
        .loads = loads,
        .load_count = 1,
        .hardware = {.server_count = 8, .rate_Bps = 12.5e9, .rate_given = true},
        .packets = {.engine = {true, WEFT_ENGINE_PACKET}, .size = {.mtu = {true, 4160}}}};
    struct weft_simulate_result result;
    assert_true(weft_request_simulate(&result, &request, &door.environment));
    assert_int_equal(result.kind, WEFT_SIMULATE_FLOWS);
    assert_int_equal(result.times.count, 56);
    assert_int_equal(result.options.packet_bytes, 4160);
    assert_int_equal(result.options.packet->initial_window_packets, 10);
    assert_true(result.times.max_ps <= result.sim.end_ps);
    assert_int_equal(door.environment.progress.begun, door.environment.progress.ended);
    const char *text = weft_request_simulate_json(&result, &door.arena);
    assert_non_null(strstr(text, "\"pattern\": \"alltoall:100kB\""));
}

// What belongs to packets is refused of a fluid, whichever row of the table it is: a row that
// is_given does not see would be ignored in silence.
static void packets_of_a_fluid_are_refused(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    for (size_t i = 0; i < WEFT_PACKET_PARAMETERS; i++) {
        const struct weft_parameter *row = &weft_packet_parameters[i];
        static const char *const texts[] = {"1", "64", "0.5", "1us", "1MB", "1Gbps"};
        struct weft_request_packets asked = {.engine = {.given = false}};
        bool set = row->words != NULL &&
                   weft_parameter_set(&asked, row, row->words[0], &door.arena, &door.error);
        for (size_t t = 0; !set && t < sizeof texts / sizeof texts[0]; t++) {
            set = weft_parameter_set(&asked, row, texts[t], &door.arena, &door.error);
        }
        if (strcmp(row->name, "engine") == 0 || strcmp(row->name, "transport") == 0 ||
            strcmp(row->name, "mtu") == 0 || strcmp(row->name, "header") == 0) {
            continue;
        }
        assert_true(set);
        struct weft_sim_options sim = {.packet_bytes = 0};
        struct weft_packet_options packet;
        assert_false(weft_request_packets(&sim, &packet, &asked, 0, &door.environment.base));
        assert_int_equal(door.error.code, WEFT_USAGE);
        assert_non_null(strstr(door.error.message, row->name));
    }
}

// By names and texts the same request comes about as by fields.
static void parameters_fill_a_request(void **state)
{
    (void)state;
    struct door door;
    open_door(&door);
    static const char *const pairs[][2] = {{"fabric", "ring"},          {"rate", "100Gbps"},
                                           {"engine", "packet"},        {"start", "0,1ms"},
                                           {"sharing", "unfair:60/40"}, {"jitter", "0.1,2ms"}};
    struct weft_simulate_request request = {.load_count = 0};
    const struct weft_parameter_group *group = NULL;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct weft_parameter *row =
            weft_parameter_find(&group, weft_simulate_parameters, pairs[i][0]);
        assert_non_null(row);
        assert_true(weft_parameter_set((char *)&request + group->offset, row, pairs[i][1],
                                       &door.arena, &door.error));
    }
    assert_string_equal(request.fabric, "ring");
    assert_true(request.hardware.rate_given && request.hardware.rate_Bps == 12.5e9);
    assert_int_equal(request.packets.engine.value, WEFT_ENGINE_PACKET);
    assert_int_equal(request.timing.start.ps[1], 1000000000);
    assert_true(request.sharing.policy.weights.values[1] == 40);
    assert_true(request.timing.jitter.values[1].is_time);
    assert_null(weft_parameter_find(&group, weft_simulate_parameters, "output"));
    const struct weft_parameter *mtu = weft_parameter_find(&group, weft_simulate_parameters, "mtu");
    assert_false(weft_parameter_set(&request.packets, mtu, "65536", &door.arena, &door.error));
    assert_int_equal(strncmp(door.error.message, "{mtu}: ", 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fabrics_of_a_cluster_are_counted),
        cmocka_unit_test(lacking_hardware_is_usage),
        cmocka_unit_test(a_topology_leaves_its_step_behind),
        cmocka_unit_test(a_jobs_traffic_is_found),
        cmocka_unit_test(a_batch_that_does_not_divide_is_noted),
        cmocka_unit_test(models_are_looked_at_before_they_are_compared),
        cmocka_unit_test(flows_are_simulated),
        cmocka_unit_test(packets_of_a_fluid_are_refused),
        cmocka_unit_test(parameters_fill_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
