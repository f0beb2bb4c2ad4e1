// SPDX-License-Identifier: Apache-2.0
// Jobs that contend for a link: a short run of each kind, and what is left after a kill: nothing.
// How good MLTCP is takes minutes to measure; tools/lab-mltcp does.

#include "lab_test.h"

#include "runtime/experiment/contention.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static struct weft_arena arena;

static struct weft_contention_options options_of(uint32_t job_count)
{
    return (struct weft_contention_options){
        .job_count = job_count,
        .flow_count = 1,
        .compute_s = 0.06,
        .bytes = 500000,
        .rate_Bps = 25e6,
        .mtu_bytes = 1500,
        .queue_packets = 40,
        .iterations = 8,
        .seed = 1,
        .parameters = weft_cc_defaults("mltcp"),
        .congestion = "reno",
    };
}

// Alone, a job takes what it computes and what its bytes take on the link.
static void a_job_alone_takes_the_ideal_time(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_contention_result result;
    struct weft_contention_options options = options_of(1);
    must(weft_contention_run(&result, &options, &arena, &error), &error);
    assert_true(result.ideal_s > 0.08 && result.ideal_s < 0.082);
    assert_true(result.mean_s > 0.97 * result.ideal_s);
    assert_true(result.mean_s < 1.25 * result.ideal_s); // this machine may be busy
}

static void mltcp_learns_what_the_jobs_send(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_contention_result result;
    struct weft_contention_options options = options_of(2);
    options.loads = true;
    options.mark_packets = 15;
    options.queue_packets = 150;
    must(weft_contention_run(&result, &options, &arena, &error), &error);
    assert_true(result.ecn_marks > 0);
    assert_int_equal(result.drops, 0);
    for (uint32_t job = 0; job < 2; job++) {
        assert_true(result.jobs[job].learned_bytes == 500000);
        assert_true(result.jobs[job].peak_cwnd >= 10);
        assert_true(result.jobs[job].ecn_marks > 0);
    }
}

static void several_flows_of_a_job_are_one_job(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_contention_result result;
    struct weft_contention_options options = options_of(1);
    options.loads = true;
    options.flow_count = 4;
    options.parameters.group = MLTCP_BY_MARK;
    must(weft_contention_run(&result, &options, &arena, &error), &error);
    assert_true(result.jobs[0].learned_bytes == 500000);
}

// A window that has met a full queue is halved: one loss a sawtooth, not one a round trip. Mutation
// that this test caught: weft_ssthresh that leaves the window as it is (3700 drops instead of 80 to
// 120; 930 were seen on a busy machine).
static void losses_halve_the_window(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_contention_result result;
    struct weft_contention_options options = options_of(1);
    options.loads = true;
    options.bytes = 1500000;
    options.queue_packets = 20;
    options.parameters = weft_cc_defaults("reno_twin");
    must(weft_contention_run(&result, &options, &arena, &error), &error);
    print_message("%u drops, window of %u at most\n", (unsigned)result.drops,
                  result.jobs[0].peak_cwnd);
    assert_in_range(result.drops, 1, 2000);
}

static void an_unknown_congestion_control_is_refused(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_contention_result result;
    struct weft_contention_options options = options_of(1);
    options.congestion = "nosuch";
    assert_false(weft_contention_run(&result, &options, &arena, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "nosuch"));
}

// The kernel's list of congestion controls named weft<pid>.
static uint32_t count_registered(void)
{
    char line[1024] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    uint32_t count = 0;
    for (const char *at = line; (at = strstr(at, "weft")) != NULL; at++) {
        count++;
    }
    return count;
}

// Processes whose parent is `parent`.
static uint32_t count_children(pid_t group)
{
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    uint32_t count = 0;
    const struct dirent *entry = NULL;
    while ((entry = readdir(folder)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && getpgid(pid) == group) {
            count++;
        }
    }
    closedir(folder);
    return count;
}

static void nap(long wait_ms)
{
    const struct timespec wait = {.tv_sec = 0, .tv_nsec = wait_ms * 1000000};
    nanosleep(&wait, NULL);
}

// Killed while it builds, connects or runs, all its processes and its congestion control go.
static void nothing_is_left_after_a_kill(void **state)
{
    (void)state;
    for (long wait_ms = 5; wait_ms < 900; wait_ms = wait_ms * 2 + 30) {
        uint32_t before = count_registered();
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, 0);
            struct weft_error error;
            struct weft_contention_result result;
            struct weft_contention_options options = options_of(3);
            options.loads = true;
            options.iterations = 1000;
            bool ran = weft_contention_run(&result, &options, &arena, &error);
            _exit(ran ? 0 : 1);
        }
        setpgid(child, child);
        nap(wait_ms);
        kill(child, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        for (uint32_t i = 0; i < 500 && (count_children(child) > 0 || count_registered() > before);
             i++) {
            nap(10);
        }
        assert_int_equal(count_children(child), 0);
        assert_true(count_registered() <= before);
    }
}

// Not in a chroot whose folder is no mount point.
static bool mounts_can_be_private(void)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    struct weft_error error;
    if (geteuid() == 0 && !mounts_can_be_private()) {
        printf("SKIP: mounts below / cannot be made private\n");
        return 77;
    }
    if (!weft_cc_capable(&error)) {
        printf("SKIP: %s\n", error.message);
        return 77;
    }
    need_namespaces();
    if (!weft_arena_init(&arena, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_alone_takes_the_ideal_time),
        cmocka_unit_test(mltcp_learns_what_the_jobs_send),
        cmocka_unit_test(several_flows_of_a_job_are_one_job),
        cmocka_unit_test(losses_halve_the_window),
        cmocka_unit_test(an_unknown_congestion_control_is_refused),
        cmocka_unit_test(nothing_is_left_after_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
