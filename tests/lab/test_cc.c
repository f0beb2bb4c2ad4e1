// SPDX-License-Identifier: Apache-2.0
// MLTCP into the kernel and out of it: what is listed, told, changed, and left behind: nothing.
//
// Mutations of bpf/mltcp/mltcp.bpf.c that these tests caught: F without its bound, its slope or its
// intercept; an iteration that begins after any silence, or after less than half the learned one;
// bytes or silences learned at once; a larger job that is not learned afresh (wake's `overrun`,
// learn's `strayed`); a restart that leaves the window, or CUBIC's epoch; Reno's growth without F.

#include "lab_test.h"

#include "bpf/mltcp/cc.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static char name[MLTCP_NAME_BYTES]; // of this process's own: "wt<pid>"
static struct weft_arena arena;

static const struct weft_cc_status *find(void)
{
    struct weft_cc_status *list = NULL;
    uint32_t count = 0;
    struct weft_error error;
    must(weft_cc_list(&list, &count, &arena, &error), &error);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

static void load(const struct weft_cc_parameters *parameters)
{
    struct weft_error error;
    bool leftovers = true;
    const struct weft_cc_request request = {.name = name, .parameters = *parameters};
    must(weft_cc_load(&request, &leftovers, &error), &error);
    assert_false(leftovers);
}

static void unload(uint32_t expected)
{
    struct weft_error error;
    struct weft_cc_unloaded unloaded = {.leftovers = true};
    must(weft_cc_unload(name, &unloaded, &error), &error);
    assert_int_equal(unloaded.connections, expected);
    assert_false(unloaded.leftovers);
    assert_false(weft_cc_registered(name));
    assert_null(find());
}

static void it_is_loaded_told_tuned_and_unloaded(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    assert_null(find());
    load(&parameters);
    assert_true(weft_cc_registered(name));
    const struct weft_cc_status *status = find();
    assert_non_null(status);
    assert_true(status->registered);
    assert_true(status->parameters.slope == 1.75 && status->parameters.intercept == 0.25);
    parameters.slope = 3.5;
    parameters.restart = 4;
    must(weft_cc_tune(name, &parameters, &error), &error);
    status = find();
    assert_true(status->parameters.slope == 3.5 && status->parameters.restart == 4);
    unload(0);
}

static void a_name_is_taken_once(void **state)
{
    (void)state;
    struct weft_error error;
    bool leftovers = false;
    const struct weft_cc_request request = {.name = name, .parameters = weft_cc_defaults("mltcp")};
    load(&request.parameters);
    assert_false(weft_cc_load(&request, &leftovers, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "is loaded already"));
    struct weft_cc cc;
    assert_false(weft_cc_open(&cc, name, &request.parameters, &error));
    assert_non_null(strstr(error.message, "registered already"));
    unload(0);
    struct weft_cc_unloaded unloaded;
    assert_false(weft_cc_unload(name, &unloaded, &error));
    assert_non_null(strstr(error.message, "is not loaded"));
}

// Two ends of a connection over loopback; the first uses the congestion control.
static void connect_pair(int ends[2])
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof here;
    assert_int_equal(bind(listener, (struct sockaddr *)&here, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &bytes), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(
        setsockopt(ends[0], IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)), 0);
    int segment_bytes = 536;
    assert_int_equal(
        setsockopt(ends[0], IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes), 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&here, sizeof here), 0);
    ends[1] = accept(listener, NULL, NULL);
    assert_true(ends[1] >= 0);
    close(listener);
}

static void send_burst(const int ends[2], uint32_t bytes)
{
    static char block[10000];
    for (uint32_t left = bytes; left > 0; left -= (uint32_t)sizeof block) {
        assert_int_equal(send(ends[0], block, sizeof block, 0), (ssize_t)sizeof block);
        for (size_t got = 0; got < sizeof block;) {
            ssize_t some = recv(ends[1], block, sizeof block - got, 0);
            assert_true(some > 0);
            got += (size_t)some;
        }
    }
}

// Bursts of 200 kB with 60 ms between: the program must have learned both.
static void bytes_and_silences_are_learned(void **state)
{
    (void)state;
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    const struct timespec first = {.tv_nsec = 150000000};
    const struct timespec silence = {.tv_nsec = 60000000};
    nanosleep(&first, NULL);
    for (uint32_t i = 0; i < 5; i++) {
        send_burst(ends, 200000);
        nanosleep(&silence, NULL);
    }
    send_burst(ends, 200000);
    const struct weft_cc_status *status = find();
    assert_int_equal(status->connection_count, 1);
    const struct weft_cc_connection *one = &status->connections[0];
    assert_int_equal(one->job.iterations, 6);
    assert_in_range(one->job.iteration_bytes, 199000, 201000);
    assert_in_range(one->job.gap_ns, 55000000, 110000000);
    assert_int_equal(one->counts.restarts, 6);
    assert_int_equal(one->counts.factor, 2048); // the end of an iteration: 1.75 + 0.25
    assert_in_range(one->counts.bytes_acked, 1200000, 1200001);
    close(ends[0]);
    close(ends[1]);
    unload(0);
}

static void rest(long wait_ms)
{
    const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

static const struct weft_cc_connection *only_connection(void)
{
    const struct weft_cc_status *status = find();
    assert_non_null(status);
    assert_int_equal(status->connection_count, 1);
    return &status->connections[0];
}

// Bursts of 200 kB and silences of 300 ms are learned; then F within an iteration, past its end,
// and what other silences and bursts do to what was learned.
static void the_factor_goes_from_the_intercept_to_the_bound(void **state)
{
    (void)state;
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    rest(150);
    for (uint32_t i = 0; i < 3; i++) {
        send_burst(ends, 200000);
        rest(300);
    }
    send_burst(ends, 50000);
    const struct weft_cc_connection *one = only_connection();
    assert_int_equal(one->job.iterations, 4);
    assert_in_range(one->counts.factor, 690, 715); // 1.75 / 4 + 0.25 = 0.6875
    send_burst(ends, 250000);
    assert_int_equal(only_connection()->counts.factor, 2048); // 1.5 times the bytes
    // Less than half the learned silence is none.
    rest(60);
    send_burst(ends, 10000);
    assert_int_equal(only_connection()->job.iterations, 4);
    rest(300);
    send_burst(ends, 60000); // the fourth had 310 kB
    rest(900);
    send_burst(ends, 10000);
    one = only_connection();
    assert_int_equal(one->job.iterations, 6);
    assert_in_range(one->job.iteration_bytes, 246000, 249000); // 310 - (310 - 60) / 4
    assert_in_range(one->job.gap_ns / 1000000, 400, 600);      // 300 + (900 - 300) / 4
    close(ends[0]);
    close(ends[1]);
    unload(0);
}

// More than twice the learned bytes: any silence above --gap ends the iteration, and is learned
// at once.
static void another_job_is_learned_afresh(void **state)
{
    (void)state;
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    rest(150);
    for (uint32_t i = 0; i < 2; i++) {
        send_burst(ends, 100000);
        rest(600);
    }
    send_burst(ends, 250000);
    rest(100); // far less than half of 600
    send_burst(ends, 10000);
    const struct weft_cc_connection *one = only_connection();
    assert_int_equal(one->job.iterations, 4);
    assert_in_range(one->job.iteration_bytes, 249000, 251000);
    assert_in_range(one->job.gap_ns / 1000000, 95, 300);
    close(ends[0]);
    close(ends[1]);
    unload(0);
}

// Two bursts with a pause below --gap are one iteration, also before anything is learned.
static void a_short_pause_is_no_silence(void **state)
{
    (void)state;
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    parameters.gap_ms = 200;
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    rest(400);
    send_burst(ends, 50000);
    rest(10);
    send_burst(ends, 50000);
    const struct weft_cc_connection *one = only_connection();
    assert_int_equal(one->job.iterations, 1);
    assert_int_equal(one->job.iteration_bytes, 0); // SYN's silence teaches nothing
    assert_int_equal(one->counts.factor, 1024);
    close(ends[0]);
    close(ends[1]);
    unload(0);
}

// All at once, so that the window is what limits.
static void send_bulk(const int ends[2], uint32_t bytes)
{
    static char block[100000];
    for (uint32_t sent = 0, got = 0; got < bytes;) {
        uint32_t left = bytes - sent;
        ssize_t some =
            send(ends[0], block, left < sizeof block ? left : sizeof block, MSG_DONTWAIT);
        sent += some > 0 ? (uint32_t)some : 0;
        some = recv(ends[1], block, sizeof block, MSG_DONTWAIT);
        got += some > 0 ? (uint32_t)some : 0;
    }
}

// The window after 2 MB from a restart at 10 segments of 536 bytes.
static uint32_t window_after_bulk(enum mltcp_base base, double intercept)
{
    struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
    parameters.base = base;
    parameters.slope = 0;
    parameters.intercept = intercept;
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    rest(150);
    send_bulk(ends, 2000000);
    rest(150);
    send_burst(ends, 10000);
    uint32_t begun = only_connection()->counts.cwnd;
    assert_in_range(begun, 10, 50); // 80 and more before
    send_bulk(ends, 2000000);
    uint32_t window = only_connection()->counts.cwnd;
    close(ends[0]);
    close(ends[1]);
    unload(0);
    return window;
}

// From a restart on a window w grows by F / w a segment: w^2 = 100 + 2 F * 3700 at most.
static void windows_grow_by_the_factor(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++) {
        uint32_t slow = window_after_bulk((enum mltcp_base)base, 0.25);
        uint32_t quick = window_after_bulk((enum mltcp_base)base, 8);
        print_message("base %d: window %u with F = 0.25, %u with F = 8\n", base, slow, quick);
        assert_in_range(slow, 10, 60);
        assert_true(quick > 2 * slow);
    }
}

// An open connection keeps the program, not its name.
static void unloading_does_not_wait_for_connections(void **state)
{
    (void)state;
    struct weft_cc_parameters parameters = weft_cc_defaults("reno_twin");
    load(&parameters);
    int ends[2];
    connect_pair(ends);
    unload(1);
    send_burst(ends, 100000);
    close(ends[0]);
    close(ends[1]);
}

static void both_bases_carry_data(void **state)
{
    (void)state;
    for (uint32_t base = 0; base < 2; base++) {
        struct weft_error error;
        struct weft_cc cc;
        struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
        parameters.base = (enum mltcp_base)base;
        must(weft_cc_open(&cc, name, &parameters, &error), &error);
        int ends[2];
        connect_pair(ends);
        send_burst(ends, 1000000);
        struct weft_cc_connection *list = NULL;
        uint32_t count = 0;
        must(weft_cc_connections(&list, &count, &cc, &arena, &error), &error);
        assert_int_equal(count, 1);
        assert_int_equal(list[0].counts.base, base);
        close(ends[0]);
        close(ends[1]);
        weft_cc_close(&cc);
        const struct timespec moment = {.tv_nsec = 10000000};
        for (uint32_t i = 0; i < 200 && weft_cc_registered(name); i++) {
            nanosleep(&moment, NULL); // the kernel drops the last reference a little later
        }
        assert_false(weft_cc_registered(name));
    }
}

// One that a killed program had opened is gone with it.
static void nothing_is_left_of_a_killed_program(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct weft_error error;
        struct weft_cc cc;
        struct weft_cc_parameters parameters = weft_cc_defaults("mltcp");
        bool opened = weft_cc_open(&cc, name, &parameters, &error);
        kill(getpid(), opened ? SIGKILL : SIGTERM);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const struct timespec moment = {.tv_nsec = 10000000};
    for (uint32_t i = 0; i < 200 && weft_cc_registered(name); i++) {
        nanosleep(&moment, NULL);
    }
    assert_false(weft_cc_registered(name));
}

// What a test that failed left.
static int leave_nothing(void **state)
{
    (void)state;
    struct weft_error ignored;
    struct weft_cc_unloaded unloaded;
    if (weft_cc_registered(name) && !weft_cc_unload(name, &unloaded, &ignored)) {
        print_message("%s\n", ignored.message);
    }
    return 0;
}

int main(void)
{
    struct weft_error error;
    if (!weft_cc_capable(&error)) {
        printf("SKIP: %s\n", error.message);
        return 77;
    }
    if (!weft_arena_init(&arena, 0, &error)) {
        return 1;
    }
    snprintf(name, sizeof name, "wt%d", (int)getpid());
#define LEAVING(test) cmocka_unit_test_teardown(test, leave_nothing)
    const struct CMUnitTest tests[] = {
        LEAVING(it_is_loaded_told_tuned_and_unloaded),
        LEAVING(a_name_is_taken_once),
        LEAVING(bytes_and_silences_are_learned),
        LEAVING(the_factor_goes_from_the_intercept_to_the_bound),
        LEAVING(another_job_is_learned_afresh),
        LEAVING(a_short_pause_is_no_silence),
        LEAVING(windows_grow_by_the_factor),
        LEAVING(unloading_does_not_wait_for_connections),
        LEAVING(both_bases_carry_data),
        LEAVING(nothing_is_left_of_a_killed_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
