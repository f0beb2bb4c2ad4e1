// SPDX-License-Identifier: Apache-2.0
// Task graph files as an independent reader (tests/oracle/read_fbuf.py) understands them: the
// example jobs and, when present, the real files of WEFT_SHARED; each as it is and as Weft writes
// it again. Skips (77) where python3 is absent.
//
// Seen to fail: with runtimes cut instead of rounded, and with nexttasks of an AllReduce written as
// successors.

#include "../unit/fbuf_same.h"
#include "weft/format.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct weft_arena whole;
static struct weft_arena whole_scratch;

static void add_list(struct weft_text *text, const uint32_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(text, " %u", values[i]);
    }
    weft_text_add(text, "\n");
}

static void add_task(struct weft_text *text, const struct weft_taskgraph *graph, uint32_t t)
{
    static const char *const names[] = {"forward", "backward", "update",   "barrier",
                                        "local",   "transfer", "allreduce"};
    unsigned long long runtime_ps = graph->runtime_ps[t];
    unsigned long long size_bytes = graph->size_bytes[t];
    weft_text_add(text, "%s", names[graph->kind[t]]);
    if (graph->kind[t] == WEFT_TASK_ALLREDUCE) {
        uint32_t first = graph->group_first[graph->group[t]];
        weft_text_add(text, " %llu %llu", runtime_ps, size_bytes);
        add_list(text, graph->group_members + first,
                 graph->group_first[graph->group[t] + 1] - first);
        return;
    }
    if (graph->kind[t] == WEFT_TASK_TRANSFER) {
        weft_text_add(text, " %u %u %llu", graph->from[t], graph->to[t], size_bytes);
    } else if (graph->kind[t] != WEFT_TASK_BARRIER) {
        weft_text_add(text, " %u %llu", graph->device[t], runtime_ps);
    }
    add_list(text, graph->next + graph->next_first[t],
             graph->next_first[t + 1] - graph->next_first[t]);
}

// What read_fbuf.py prints.
static const char *describe(const struct weft_fbuf *fbuf, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = &fbuf->graph;
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "file %u %u %u %.9g %.9g %.9g\n", fbuf->gpus_per_server,
                  graph->server_count, fbuf->node_count - graph->server_count, fbuf->inter_gpu_Bps,
                  fbuf->dram_Bps, fbuf->rate_Bps);
    for (uint32_t d = 0; d < graph->device_count; d++) {
        weft_text_add(&text, "device %u %u\n", d, graph->device_server[d]);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        add_task(&text, graph, t);
    }
    for (uint32_t i = 0; i < fbuf->link_count; i++) {
        weft_text_add(&text, "link %u %u %u\n", fbuf->links[i].from, fbuf->links[i].to,
                      fbuf->links[i].width);
    }
    for (uint32_t p = 0; p < fbuf->path_count; p++) {
        uint32_t first = fbuf->path_node_first[p];
        weft_text_add(&text, "path %.9g", fbuf->path_weights[p]);
        add_list(&text, fbuf->path_nodes + first, fbuf->path_node_first[p + 1] - first);
    }
    for (uint32_t r = 0; r < fbuf->ring_size_count; r++) {
        weft_text_add(&text, "rings %llu\n", (unsigned long long)fbuf->ring_sizes[r]);
        for (uint32_t d = fbuf->ring_first[r]; d < fbuf->ring_first[r + 1]; d++) {
            weft_text_add(&text, "jumps");
            for (uint32_t j = fbuf->jump_first[d]; j < fbuf->jump_first[d + 1]; j++) {
                weft_text_add(&text, " %d", fbuf->jumps[j]);
            }
            weft_text_add(&text, "\n");
        }
    }
    weft_text_add(&text, "end\n");
    return text.data;
}

// Compares line by line, so that a failure names the line.
static void compare(const char *name, const char *ours)
{
    char command[2048];
    snprintf(command, sizeof command,
             "/usr/bin/python3 " SOURCE_ROOT "/tests/oracle/read_fbuf.py '%s'", name);
    FILE *theirs = popen(command, "r");
    assert_non_null(theirs);
    char *line = NULL;
    size_t capacity = 0;
    unsigned number = 0;
    ssize_t length = getline(&line, &capacity, theirs);
    for (; length > 0; length = getline(&line, &capacity, theirs)) {
        number++;
        if (strncmp(ours, line, (size_t)length) != 0) {
            fail_msg("%s: line %u: ours '%.100s', theirs '%.100s'", name, number, ours, line);
        }
        ours += length;
    }
    free(line);
    assert_int_equal(pclose(theirs), 0);
    assert_int_equal(*ours, '\0');
    assert_true(number > 2);
}

static void check_file(const char *path)
{
    struct weft_arena arena = whole;
    struct weft_fbuf fbuf;
    struct weft_fbuf copy;
    struct weft_error error;
    const char *data = NULL;
    size_t length = 0;
    if (!weft_fbuf_load(&fbuf, path, &arena, whole_scratch, &error) ||
        !weft_fbuf_write(&data, &length, &fbuf, &arena, whole_scratch, &error) ||
        !weft_fbuf_read(&copy, data, length, &arena, whole_scratch, &error)) {
        fail_msg("%s", error.message);
    }
    const char *difference = fbuf_difference(&fbuf, &copy);
    if (difference != NULL) {
        fail_msg("%s: %s differ after writing", path, difference);
    }
    const char *ours = describe(&fbuf, &arena);
    compare(path, ours);
    char written[] = "/tmp/weft-fbuf-XXXXXX";
    int file = mkstemp(written);
    assert_true(file >= 0);
    close(file);
    bool saved = weft_file_save(written, data, length, &error);
    if (saved) {
        compare(written, ours);
    }
    unlink(written);
    assert_true(saved);
}

static void example_jobs_mean_the_same_to_both_readers(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(SOURCE_ROOT "/examples/jobs/*.fbuf", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_file(found.gl_pathv[i]);
    }
    globfree(&found);
}

static void real_files_mean_the_same_to_both_readers(void **state)
{
    (void)state;
    const char *shared = getenv("WEFT_SHARED");
    char pattern[2048];
    snprintf(pattern, sizeof pattern, "%s/inputs/t*/*.fbuf",
             shared != NULL ? shared : SOURCE_ROOT "/../shared");
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        print_message("skipped: no files at %s\n", pattern);
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_file(found.gl_pathv[i]);
    }
    print_message("%zu real files\n", found.gl_pathc);
    globfree(&found);
}

int main(void)
{
    struct weft_error error;
    if (access("/usr/bin/python3", X_OK) != 0) {
        fprintf(stderr, "skipped: python3 is not installed\n");
        return 77;
    }
    if (!weft_arena_init(&whole, 0, &error) || !weft_arena_init(&whole_scratch, 0, &error)) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_jobs_mean_the_same_to_both_readers),
        cmocka_unit_test(real_files_mean_the_same_to_both_readers),
    };
    return cmocka_run_group_tests_name("fbuf-oracle", tests, NULL, NULL);
}
