// SPDX-License-Identifier: Apache-2.0
// Real-time priority is given, ends by itself where a process does not wait, and is put back.
//
// Mutations that made it fail: no limit (SIGXCPU never comes); no handler (it ends the process); a
// policy that children inherit; one that is not put back.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/clock.h"
#include "runtime/real_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int policy(void)
{
    return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void priority_is_given_and_put_back(void **state)
{
    (void)state;
    struct lab_real_time before;
    struct rlimit limit;
    struct rlimit then;
    int status = 0;
    assert_int_equal(getrlimit(RLIMIT_RTTIME, &limit), 0);
    lab_real_time_begin(&before, SCHED_RR, 1);
    assert_int_equal(policy(), SCHED_RR);
    pid_t child = fork();
    if (child == 0) {
        _exit(policy());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), SCHED_OTHER);
    assert_true(lab_real_time_end(&before));
    assert_int_equal(policy(), SCHED_OTHER);
    assert_int_equal(getrlimit(RLIMIT_RTTIME, &then), 0);
    assert_true(then.rlim_cur == limit.rlim_cur && then.rlim_max == limit.rlim_max);
}

static void whoever_does_not_wait_loses_it(void **state)
{
    (void)state;
    struct lab_real_time before;
    uint64_t begun_ns = lab_now_ns();
    uint64_t second_ns = 1000000000;
    lab_real_time_begin(&before, SCHED_RR, 1);
    while (policy() == SCHED_RR && lab_now_ns() < begun_ns + 10 * second_ns) {
    }
    assert_in_range(lab_now_ns() - begun_ns, second_ns / 2, 9 * second_ns);
    assert_false(lab_real_time_end(&before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_is_given_and_put_back),
        cmocka_unit_test(whoever_does_not_wait_loses_it),
    };
    struct lab_real_time before;
    lab_real_time_begin(&before, SCHED_RR, 1);
    if (!lab_real_time_end(&before)) {
        printf("SKIP: real-time priority is not permitted here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
