// SPDX-License-Identifier: Apache-2.0
// Scenarios of a sweep on threads: the same lines by any number of them, and what becomes of a
// scenario where the system refuses memory, which a limit on the address space makes it do.

#include "cli/sweep/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPS_SHADOW 1 // a sanitizer takes address space of its own, and ends where it gets none
#else
#define MAPS_SHADOW 0
#endif

#define SCENARIOS 24u

static const char spec[] =
    "common: {servers: 8, rate: 10Gbps}\n"
    "grid: {flows: [permutation:10kB:1, alltoall:1kB], fabric: [ideal, ring, leaf-spine],\n"
    "       seed: [1, 2, 3, 4]}\n";

struct fixture {
    struct cli cli;
    struct sweep sweep;
    const char *path;
    struct sweep_line expected[SCENARIOS]; // one after the other, on this thread
};

static int prepare(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->path = "spec.yaml";
    fixture->sweep = (struct sweep){.cli = &fixture->cli, .paths = &fixture->path};
    assert_true(weft_arena_init(&fixture->cli.arena, 0, &fixture->cli.error));
    assert_true(weft_arena_init(&fixture->cli.scratch, 0, &fixture->cli.error));
    if (!sweep_prepare(&fixture->sweep, spec, sizeof spec - 1)) {
        fail_msg("%s", fixture->cli.error.message);
    }
    assert_int_equal(fixture->sweep.spec.scenario_count, SCENARIOS);
    for (uint32_t i = 0; i < SCENARIOS; i++) {
        fixture->expected[i] = sweep_run(&fixture->sweep, i);
        assert_non_null(fixture->expected[i].text);
        assert_false(fixture->expected[i].failed);
    }
    *state = fixture;
    return 0;
}

static int forget(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < SCENARIOS; i++) {
        free(fixture->expected[i].text);
    }
    weft_arena_release(&fixture->cli.arena);
    weft_arena_release(&fixture->cli.scratch);
    free(fixture);
    return 0;
}

// Plays all scenarios, with as many under way as a sweep has, and looks at each line once.
static void play_all(const struct fixture *fixture, uint32_t threads)
{
    struct sweep_workers *workers = sweep_workers_start(&fixture->sweep, threads);
    assert_non_null(workers);
    bool seen[SCENARIOS] = {false};
    uint32_t given = 0;
    for (uint32_t taken = 0; taken < SCENARIOS;) {
        while (given < SCENARIOS && given - taken < threads + SWEEP_AHEAD) {
            sweep_workers_give(workers, given++);
        }
        struct sweep_line line;
        if (sweep_workers_take(workers, &line, 0.01)) {
            assert_false(seen[line.index]);
            seen[line.index] = true;
            assert_string_equal(line.text, fixture->expected[line.index].text);
            free(line.text);
            taken++;
        }
    }
    sweep_workers_end(workers);
}

static void lines_are_the_same_on_any_number_of_threads(void **state)
{
    const struct fixture *fixture = *state;
    static const uint32_t threads[] = {1, 2, 8, 64};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        play_all(fixture, threads[i]);
    }
}

static void scenarios_under_way_are_waited_for(void **state)
{
    const struct fixture *fixture = *state;
    struct sweep_workers *workers = sweep_workers_start(&fixture->sweep, 2);
    assert_non_null(workers);
    for (uint32_t i = 0; i < 2 + SWEEP_AHEAD; i++) {
        sweep_workers_give(workers, i);
    }
    sweep_workers_end(workers); // LeakSanitizer finds lines that nobody took
}

// Lets the address space of this process grow by so many bytes and no further.
static struct rlimit limit_growth(size_t bytes)
{
    char text[64] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    rlim_t now_bytes = strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit limit = {now_bytes + bytes, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    return before;
}

static void a_scenario_without_its_first_memory_fails_alone(void **state)
{
    const struct fixture *fixture = *state;
    if (MAPS_SHADOW) {
        skip();
    }
    struct rlimit before = limit_growth(0);
    struct sweep_line refused = sweep_run(&fixture->sweep, 0);
    setrlimit(RLIMIT_AS, &before);
    assert_true(refused.failed);
    assert_non_null(refused.text);
    assert_non_null(
        strstr(refused.text, "\"error\":\"out of memory: the system refuses the first"));
    assert_non_null(strstr(refused.text, ",\"exit\":4,\"checksum\":"));
    free(refused.text);
    struct sweep_line line = sweep_run(&fixture->sweep, 0);
    assert_string_equal(line.text, fixture->expected[0].text);
    free(line.text);
}

// Takes what malloc has left, as a list that its first words link.
static void *take_heap(void)
{
    void *first = NULL;
    for (size_t bytes = (size_t)1 << 20; bytes >= sizeof first; bytes /= 2) {
        for (void **piece = malloc(bytes); piece != NULL; piece = malloc(bytes)) {
            *piece = first;
            first = (void *)piece;
        }
    }
    return first;
}

static void a_line_without_memory_is_none(void **state)
{
    struct fixture *fixture = *state;
    if (MAPS_SHADOW) {
        skip();
    }
    struct rlimit before = limit_growth(0);
    void *taken = take_heap();
    struct sweep_line line = sweep_run(&fixture->sweep, 0);
    const char *listed = sweep_list_line(&fixture->sweep, 0);
    while (taken != NULL) {
        void *next = *(void **)taken;
        free(taken);
        taken = next;
    }
    setrlimit(RLIMIT_AS, &before);
    assert_true(line.failed);
    assert_null(line.text);
    assert_int_equal(line.length, 0);
    assert_null(listed);
    assert_false(sweep_refuse_line(&fixture->cli));
    assert_int_equal(fixture->cli.error.code, WEFT_UNSUPPORTED);
}

static uint32_t allocations_left;

static void *allocate_or_raise(size_t bytes)
{
    if (allocations_left == 0) {
        struct weft_error error;
        weft_fail(&error, WEFT_UNSUPPORTED, "out of memory: told so by the test");
        weft_raise(&error);
    }
    allocations_left--;
    return malloc(bytes);
}

// The n-th allocation of JSON and all behind it are refused, for all n: a line is whole or none.
static void a_line_is_whole_or_none(void **state)
{
    const struct fixture *fixture = *state;
    if (MAPS_SHADOW) {
        skip(); // JSON that was begun is left behind
    }
    json_malloc_t allocate;
    json_free_t release;
    json_get_alloc_funcs(&allocate, &release);
    json_set_alloc_funcs(allocate_or_raise, free);
    uint32_t refused = 0;
    struct sweep_line line = {.text = NULL};
    for (uint32_t n = 0; line.text == NULL && line.length == 0; n++) {
        allocations_left = n;
        line = sweep_run(&fixture->sweep, 0);
        refused += line.text == NULL;
    }
    json_set_alloc_funcs(allocate, release);
    assert_true(refused > 3);
    if (line.text == NULL) {
        fail_msg("no line of %zu bytes", line.length);
        return;
    }
    assert_int_equal(strlen(line.text), line.length);
    assert_true(line.text[line.length - 1] == '}');
    free(line.text);
}

// Two MiB are enough for the arenas of a team and a scenario, and too few for the stack of a
// thread. No thread may have run before, whose stack would be there still.
static void a_leader_whose_threads_are_refused_plays_alone(void **state)
{
    const struct fixture *fixture = *state;
    if (MAPS_SHADOW) {
        skip();
    }
    struct rlimit before = limit_growth((size_t)2 << 20);
    play_all(fixture, 2);
    setrlimit(RLIMIT_AS, &before);
}

static int run(int argc, char **argv)
{
    (void)argc, (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_whose_threads_are_refused_plays_alone),
        cmocka_unit_test(a_scenario_without_its_first_memory_fails_alone),
        cmocka_unit_test(a_line_without_memory_is_none),
        cmocka_unit_test(a_line_is_whole_or_none),
        cmocka_unit_test(lines_are_the_same_on_any_number_of_threads),
        cmocka_unit_test(scenarios_under_way_are_waited_for),
    };
    return cmocka_run_group_tests(tests, prepare, forget);
}

// Through the door, as the program: JSON that gets no memory unwinds to a guard.
int main(int argc, char **argv)
{
    return cli_door(run, "test_sweep_workers", argc, argv);
}
