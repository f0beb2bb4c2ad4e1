// SPDX-License-Identifier: Apache-2.0
// GOAL schedules: what they mean, text and binary, and what is refused.

#include "loads_case.h"

static bool read_job(struct weft_goal_job *job, const char *data, size_t length,
                     struct weft_error *error)
{
    struct weft_goal goal;
    char *copy = exact(data, length);
    bool good = weft_goal_read(&goal, copy, length, &arena, scratch_kept, error) &&
                weft_goal_lower(job, &goal, &arena, scratch_kept, error);
    free(copy);
    return good;
}

static struct weft_goal_job need_job(const char *text)
{
    struct weft_goal_job job;
    struct weft_error error;
    if (!read_job(&job, text, strlen(text), &error)) {
        fail_msg("%s", error.message);
    }
    return job;
}

static uint64_t play_text(const char *text)
{
    struct weft_goal_job job = need_job(text);
    return play(&job.graph, NULL);
}

static const char *ring_text(uint32_t ranks, uint64_t chunk_bytes)
{
    struct weft_text text;
    struct weft_arena own = weft_arena_split(&arena);
    weft_text_init(&text, &own);
    weft_text_add(&text, "num_ranks %u\n", ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        weft_text_add(&text, "rank %u {\n", rank);
        for (uint32_t step = 0; step < 2 * (ranks - 1); step++) {
            weft_text_add(&text, "s%u: send %llub to %u tag %u\nr%u: recv %llub from %u tag %u\n",
                          step, (unsigned long long)chunk_bytes, (rank + 1) % ranks, step, step,
                          (unsigned long long)chunk_bytes, (rank + ranks - 1) % ranks, step);
            if (step > 0) {
                weft_text_add(&text, "s%u requires r%u\n", step, step - 1);
            }
        }
        weft_text_add(&text, "}\n");
    }
    WEFT_ASSERT(text.length < 1 << 20);
    return text.data;
}

// 2(N-1) rounds of S/N at the line rate, whoever else sends: a switch costs nothing but latency.
static void a_ring_takes_its_closed_form(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t ps = play_text(ring_text(sizes[i], 6250000));
        assert_true(ps == 2 * (sizes[i] - 1) * message_ps(6250000));
    }
}

static void cpus_calculate_one_thing_at_a_time(void **state)
{
    (void)state;
    static const char one[] = "num_ranks 2\nrank 0 {\na: calc 1000\nb: calc 500 cpu 0\n}\n";
    static const char two[] = "num_ranks 2\nrank 0 {\na: calc 1000\nb: calc 500 cpu 1\n}\n";
    static const char chain[] =
        "num_ranks 2\nrank 0 { a: calc 1000; b: calc 500 cpu 1; /* a comment\n"
        "*/ b requires a // after it\n}";
    static const char start[] = "num_ranks 2\nrank 0 {\na: calc 1000 cpu 1\nb: calc 500\n"
                                "c: calc 2000 cpu 2\nc irequires a\na requires b\n}\n";
    assert_true(play_text(one) == 1500000);
    assert_true(play_text(two) == 1000000);
    assert_true(play_text(chain) == 1500000);
    assert_true(play_text(start) == 2500000); // c starts when a does, after b
}

// A message is not held up by its receive; a receive waits for what it requires, too.
static void messages_match_first_come_first_served(void **state)
{
    (void)state;
    static const char eager[] =
        "num_ranks 2\nrank 1 {\nc: calc 900000\nr: recv 1000b from 0 tag 5\n"
        "d: calc 7\nr requires c\nd requires r\n}\n"
        "rank 0 {\nsend 1000 b to 1 tag 5 nic 0 cpu 1\n}\n";
    assert_true(play_text(eager) == 900007000);

    // Two messages of one tag: the first receive takes the first.
    const uint64_t *ends = NULL;
    struct weft_goal_job job = need_job(
        "num_ranks 2\nrank 0 {\na: send 1000b to 1 tag 1\nb: send 500000b to 1 tag 1\n"
        "b requires a\n}\nrank 1 {\nx: recv 1000b from 0 tag 1\ny: recv 500000b from 0 tag "
        "1\ny requires x\n}\n");
    play(&job.graph, &ends);
    assert_true(ends[2] == message_ps(1000));
    assert_true(ends[3] == message_ps(1000) + message_ps(500000));
}

// The receive of anything was posted first, so it takes the first send; by tag 9 the second comes.
// Seen to fail when receives with a source went before open ones.
static void open_receives_take_what_comes(void **state)
{
    (void)state;
    const uint64_t *ends = NULL;
    struct weft_goal_job job =
        need_job("num_ranks 3\nrank 0 {\nany: recv 8b from -1 tag -1\n"
                 "one: recv 8b from 1 tag 9\none requires c\nc: calc 1\n}\n"
                 "rank 1 {\na: send 1000b to 0 tag 9\nb: send 2000b to 0 tag 9\nb requires a\n}\n");
    assert_int_equal(job.open_count, 1);
    play(&job.graph, &ends);
    assert_true(ends[0] == message_ps(1000));
    assert_true(ends[1] == message_ps(1000) + message_ps(2000));
    play_text(
        "num_ranks 3\nrank 0 {\nrecv 8b from -1 tag 4\nrecv 8b from 2 tag -1\n"
        "recv 8b from -1 tag -1\n}\n"
        "rank 1 {\nsend 8b to 0 tag 4\nsend 8b to 0 tag 5\n}\nrank 2 {\nsend 8b to 0 tag 6\n}");
}

static void empty_sends_to_nobody_join(void **state)
{
    (void)state;
    struct weft_goal_job job =
        need_job("num_ranks 2\nrank 0 {\na: calc 5\nb: send 0b to 9999999 tag 3\nb requires a\n"
                 "c: send 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n");
    assert_int_equal(job.void_count, 1);
    assert_true(play(&job.graph, NULL) == message_ps(1)); // the envelope
}

static void bad_schedules_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "how many ranks?"},
        {"num_ranks 0\n", "0 ranks"},
        {"num_ranks 2000000\n", "line 1: num_ranks"},
        {"rank 0 {\n}\n", "how many ranks?"},
        {"hello\n", "line 1: 'hello': a schedule begins with num_ranks"},
        {"num_ranks 1\nrank 1 {\n}\n", "line 2: rank"},
        {"num_ranks 1\nrank 0 {\n", "ends inside rank 0"},
        {"num_ranks 1\nrank 0\n", "ends inside rank 0"},
        {"num_ranks 1\n}\n", "line 2: a brace closes"},
        {"num_ranks 1\n{\n}\n", "line 2: a brace opens"},
        {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "line 4: rank 0 stands here a second time"},
        {"num_ranks 1\nrank 0 {\nrank 0 {\n}\n", "line 3"},
        {"num_ranks 1\nrank 0 {\n/* x\n}\n", "line 3: the comment does not end"},
        {"num_ranks 1\nrank 0 {\na: dance 8\n}\n", "line 3: 'dance'"},
        {"num_ranks 1\nrank 0 {\na: calc x\n}\n", "line 3: calc (ns)"},
        {"num_ranks 1\nrank 0 {\na: calc\n}\n", "nothing stands behind calc"},
        {"num_ranks 1\nrank 0 {\na:\n}\n", "line 3"},
        {"num_ranks 1\nrank 0 {\n1a: calc 4\n}\n", "is no label"},
        {"num_ranks 1\nrank 0 {\na: calc 4 cpu 256\n}\n", "cpu"},
        {"num_ranks 1\nrank 0 {\na: calc 4 tag 2\n}\n", "'tag': write cpu or nic"},
        {"num_ranks 1\nrank 0 {\na: calc 4 cpu\n}\n", "nothing stands behind 'cpu'"},
        {"num_ranks 2\nrank 0 {\na: send 8 to 1\n}\n", "write bytes as 8b"},
        {"num_ranks 2\nrank 0 {\na: send 8b from 1\n}\n", "behind the size stands 'to'"},
        {"num_ranks 2\nrank 0 {\na: send 8b to\n}\n", "behind the size stands 'to'"},
        {"num_ranks 2\nrank 0 {\na: send 8b to -1\n}\n", "to"},
        {"num_ranks 2\nrank 0 {\na: send 8b to 1 tag -1\n}\n", "tag"},
        {"num_ranks 2\nrank 0 {\na: send 8b to 1 $\n}\n", "line 3: '$' is in no schedule"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}\n", "label 'a' stands on lines 3 and 4"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n",
         "line 4: rank 0 has no operation 'b'"},
        {"num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", "cycle"},
        {"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb irequires a\n}\n",
         "rank 0, line 4 (b): is on a cycle: it waits for rank 0, line 3 (a)"},
        {"num_ranks 2\nrank 0 {\na: send 8b to 5\n}\n",
         "rank 0, line 3 (a): sends to rank 5, but ranks are 0 to 1"},
        {"num_ranks 2\nrank 0 {\nrecv 8b from 5\n}\n", "rank 0, line 3: receives from rank 5"},
        {"num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\n}\n",
         "rank 0, line 3 (a): sends 8 bytes to rank 1 with tag 3, but no receive"},
        {"num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 3\n}\n",
         "rank 0, line 3 (a): receives 8 bytes from rank 1 with tag 3, but no such send"},
        {"num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 3\n}\nrank 1 {\nb: send 8b to 0 tag 4\n}\n",
         "; rank 1, line 6 (b) sends there with tag 4"},
        {"num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
         "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n",
         "rank 0, line 3 (a): waits for the send of rank 1, line 9 (b)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_goal_job job;
        struct weft_error error = {.code = WEFT_OK};
        assert_complaint(read_job(&job, cases[i].text, strlen(cases[i].text), &error), &error,
                         cases[i].part, cases[i].text);
    }
}

// ---- binary ----

struct packing {
    char data[4096];
    size_t length;
};

static void put(struct packing *packing, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        packing->data[packing->length++] = (char)(value >> (8 * i));
    }
}

static void put_op(struct packing *packing, const struct weft_goal *goal, uint32_t op,
                   uint32_t *filled)
{
    uint32_t before = 0;
    uint32_t after[2] = {0};
    for (uint32_t e = 0; e < goal->edge_count; e++) {
        before += goal->after[e] == op;
        after[goal->at_start[e]] += goal->before[e] == op;
    }
    static const uint8_t types[] = {1, 2, 3};
    put(packing, before, 4);
    put(packing, types[goal->kind[op]], 1);
    put(packing, goal->peer[op], 4);
    put(packing, goal->size[op], 8);
    put(packing, goal->tag[op], 4);
    put(packing, goal->cpu[op], 1);
    put(packing, goal->nic[op], 1);
    for (uint32_t at_start = 0; at_start < 2; at_start++) {
        put(packing, after[at_start], 4);
        put(packing, *filled, 4);
        *filled += after[at_start];
    }
}

static void put_successors(struct packing *packing, const struct weft_goal *goal, uint32_t rank)
{
    uint32_t first = goal->rank_first[rank];
    for (uint32_t op = first; op < goal->rank_first[rank + 1]; op++) {
        for (uint32_t at_start = 0; at_start < 2; at_start++) {
            for (uint32_t e = 0; e < goal->edge_count; e++) {
                if (goal->before[e] == op && goal->at_start[e] == (at_start == 1)) {
                    put(packing, goal->after[e] - first, 4);
                }
            }
        }
    }
}

// A schedule as LogGOPSim's txt2bin lays it out.
static void pack(struct packing *packing, const struct weft_goal *goal)
{
    packing->length = 0;
    put(packing, 4223, 8);
    put(packing, goal->rank_count, 4);
    put(packing, 0, 2);
    size_t jump = packing->length;
    packing->length += (size_t)16 * goal->rank_count;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        uint64_t begin = packing->length - 8;
        uint32_t filled = 0;
        put(packing, goal->rank_first[rank + 1] - goal->rank_first[rank], 4);
        put(packing, 1, 4); // a root; readers of ours do not look at it
        put(packing, 0, 4);
        for (uint32_t op = goal->rank_first[rank]; op < goal->rank_first[rank + 1]; op++) {
            put_op(packing, goal, op, &filled);
        }
        put_successors(packing, goal, rank);
        uint64_t end = packing->length;
        packing->length = jump + (size_t)16 * rank;
        put(packing, begin, 8);
        put(packing, end - 8, 8);
        packing->length = end;
    }
}

static const char sample[] =
    "num_ranks 3\nrank 0 {\na: calc 100\nb: send 5000b to 1 tag 7\nc: send 9b to 2 tag 1 cpu 3\n"
    "b requires a\nc irequires b\n}\nrank 1 {\nx: recv 5000b from 0 tag 7\ny: calc 50 cpu 1\n"
    "y requires x\n}\nrank 2 {\nz: recv 9b from -1 tag -1\n}\n";

static struct packing pack_sample(void)
{
    struct packing packing;
    struct weft_goal goal;
    struct weft_error error;
    assert_true(weft_goal_read(&goal, sample, strlen(sample), &arena, scratch_kept, &error));
    pack(&packing, &goal);
    return packing;
}

static void binary_means_what_text_does(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_goal_job text = need_job(sample);
    struct weft_goal_job binary;
    struct packing packing = pack_sample();
    if (!read_job(&binary, packing.data, packing.length, &error) ||
        !weft_taskgraph_same(&text.graph, &binary.graph, WEFT_TASK_ALL_KINDS, scratch_kept,
                             &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(binary.open_count, 1);
}

static void bad_binary_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        const char *part;
    } cases[] = {
        {3, 1, "4223"},
        {8, 0, "0 ranks do not fit"},
        {11, 1, "ranks do not fit"},
        {8, 4, "rank "},
        {14, 0xff, "rank 0: its bytes"},
        {22, 0xff, "rank 1: its bytes"},
        {62, 200, "rank 0: 200 operations"},
        {62 + 12 + 4, 9, "rank 0: operation 0: type 9"},
        {62 + 12, 1, "rank 0: operation 0: waits for 1 others"},
        {62 + 12 + 23, 9, "name 10 successors, but 2 are there"},
        {62 + 12 + 27, 9, "rank 0: operation 0: its 1 successors from place 9 on"},
        {62 + 12 + 3 * 39, 77, "its successor 77 is not there"},
        {62 + 12 + 39 + 5, 9, "rank 0, operation 1: sends to rank 9"},
    };
    struct packing packing = pack_sample();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_goal_job job;
        struct weft_error error = {.code = WEFT_OK};
        char old = packing.data[cases[i].at];
        packing.data[cases[i].at] = (char)cases[i].value;
        assert_complaint(read_job(&job, packing.data, packing.length, &error), &error,
                         cases[i].part, cases[i].part);
        packing.data[cases[i].at] = old;
    }
    for (size_t length = 2; length < packing.length; length++) {
        struct weft_goal_job job;
        struct weft_error error;
        assert_false(read_job(&job, packing.data, length, &error));
    }
}

// ---- writing ----

static void what_is_written_takes_as_long(void **state)
{
    (void)state;
    static const char *const texts[] = {
        sample,
        "num_ranks 2\nrank 0 {\na: calc 100 cpu 2\nb: calc 70\nc: send 0b to 99\nc requires a\n"
        "c requires b\nd: send 800b to 1\nd requires c\ne: calc 3\ne requires d\n}\n"
        "rank 1 {\nrecv 1b from 0\n}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weft_error error;
        const char *written = NULL;
        uint32_t signals = 0;
        const char *again = NULL;
        struct weft_goal_job job = need_job(texts[i]);
        assert_true(weft_goal_write(&written, &signals, &job.graph, &arena, scratch_kept, &error));
        struct weft_goal_job other = need_job(written);
        assert_true(play(&job.graph, NULL) == play(&other.graph, NULL));
        assert_true(weft_goal_write(&again, &signals, &job.graph, &arena, scratch_kept, &error));
        assert_string_equal(written, again);
    }
}

// A dependency between servers becomes a message of a byte.
static void dependencies_between_servers_are_messages(void **state)
{
    (void)state;
    static const uint32_t servers[] = {0, 1};
    static const uint32_t second[] = {1};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD,
         .device = 0,
         .runtime_ps = 5000,
         .next = second,
         .next_count = 1},
        {.kind = WEFT_TASK_FORWARD, .device = 1, .runtime_ps = 7000},
    };
    struct weft_taskgraph graph;
    struct weft_error error;
    uint32_t signals = 0;
    const char *written = NULL;
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = 2,
                                                                    .device_count = 2,
                                                                    .device_server = servers,
                                                                    .task_count = 2,
                                                                    .tasks = tasks},
                                     &arena, scratch_kept, &error));
    assert_true(weft_goal_write(&written, &signals, &graph, &arena, scratch_kept, &error));
    assert_true(play_text(written) == 12000 + message_ps(1));
    const struct weft_task sum = {
        .kind = WEFT_TASK_ALLREDUCE, .size_bytes = 8, .members = servers, .member_count = 2};
    assert_true(weft_taskgraph_build(&graph,
                                     &(struct weft_taskgraph_draft){.server_count = 2,
                                                                    .device_count = 2,
                                                                    .device_server = servers,
                                                                    .task_count = 1,
                                                                    .tasks = &sum},
                                     &arena, scratch_kept, &error));
    assert_false(weft_goal_write(&written, &signals, &graph, &arena, scratch_kept, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ring_takes_its_closed_form, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(cpus_calculate_one_thing_at_a_time, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(messages_match_first_come_first_served, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(open_receives_take_what_comes, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(empty_sends_to_nobody_join, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_schedules_are_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(binary_means_what_text_does, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_binary_is_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(what_is_written_takes_as_long, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(dependencies_between_servers_are_messages, open_arenas,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
