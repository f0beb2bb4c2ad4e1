// SPDX-License-Identifier: Apache-2.0
// Links that lose by chance, with real packets: what comes into the sink's port.
//
// Seen to fail when: the probability was of 2^31; losses were counted twice.

#include "three_nodes.h"

#include "bpf/classes/classes.h"
#include "bpf/classes/loss.h"

#include <math.h>
#include <sys/wait.h>
#include <time.h>

static void lose(uint32_t program, double probability, double low, double high)
{
    enum { COUNT = 20000, BATCH = 100 };
    static struct packet sent[BATCH];
    static struct packet came[BATCH + 1];
    struct classes_loss before;
    struct classes_loss after;
    struct weft_error error;
    unsigned missing = 0;
    must(weft_loss_set(program, probability, &error), &error);
    must(weft_loss_read(&before, program, &error), &error);
    for (unsigned i = 0; i < BATCH; i++) {
        sent[i] = (struct packet){i, 0, WEFT_MLT_STOP, false, 0};
    }
    for (unsigned i = 0; i < COUNT; i += BATCH) {
        send_packets(sent, BATCH);
        missing += BATCH - receive_packets(came, BATCH + 1, 2);
    }
    missing -= receive_packets(came, BATCH + 1, 300);
    must(weft_loss_read(&after, program, &error), &error);
    assert_true(fabs(after.probability - probability) < 1e-9);
    assert_int_equal(after.packets - before.packets, COUNT);
    assert_int_equal(after.lost - before.lost, missing);
    printf("%g of %d packets: %u lost\n", probability, COUNT, missing);
    assert_true(missing >= low && missing <= high);
}

// Of 20000 packets each is lost by itself: within five standard deviations, 1 run in 1.7 million is
// without. Other packets go on, and the filter is found by its name.
static void links_lose_by_chance(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_filter filter = {.priority = 1, .name = "weft-loss"};
    uint32_t program = 0;
    uint32_t found = 1;
    must(weft_qdisc_clsact(&sink, SINK_PORT, &error), &error);
    must(weft_filter_program(&found, &sink, SINK_PORT, false, "weft-loss", &error), &error);
    assert_int_equal(found, 0);
    must(weft_loss_load(&filter.program_fd, &program, &error), &error);
    must(weft_filter_bpf(&sink, SINK_PORT, &filter, &error), &error);
    close(filter.program_fd);
    must(weft_filter_program(&found, &sink, SINK_PORT, false, "weft-loss", &error), &error);
    assert_int_equal(found, program);
    must(weft_filter_program(&found, &sink, SINK_PORT, false, "weft", &error), &error);
    assert_int_equal(found, 0);
    lose(program, 0, 0, 0);
    double sigma = sqrt(20000 * 0.05 * 0.95);
    lose(program, 0.05, 1000 - 5 * sigma, 1000 + 5 * sigma);
    sigma = sqrt(20000 * 1e-3);
    lose(program, 1e-3, 20 - 4 * sigma, 20 + 6 * sigma); // few: not quite normal
    lose(program, 1, 20000, 20000);
    must(weft_filter_delete(&sink, SINK_PORT, false, 1, &error), &error);
    // The kernel frees the program a little after its last filter.
    struct classes_loss loss;
    for (int i = 0; i < 200 && weft_loss_read(&loss, program, &error); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_false(weft_loss_read(&loss, program, &error));
    assert_int_equal(error.code, WEFT_IO);
}

// An ordinary user is told what to do.
static void users_get_a_remedy(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct weft_error errors[2];
        struct weft_classifier classifier;
        int fd = -1;
        uint32_t id = 0;
        bool told =
            setgid(65534) == 0 && setuid(65534) == 0 &&
            !weft_classifier_load(&classifier, &(struct classes_settings){1, 1, 1}, &errors[0]) &&
            errors[0].code == WEFT_UNSUPPORTED &&
            strstr(errors[0].message, "root: leave out --classes") != NULL &&
            !weft_loss_load(&fd, &id, &errors[1]) && errors[1].code == WEFT_UNSUPPORTED &&
            strstr(errors[1].message, "root") != NULL;
        _exit(told ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    need_namespaces();
    struct weft_error error = {0};
    uint32_t program = 0;
    int fd = -1;
    if (!weft_loss_load(&fd, &program, &error)) {
        printf("SKIP: %s\n", error.message);
        return 77;
    }
    close(fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_lose_by_chance),
        cmocka_unit_test(users_get_a_remedy),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
