// SPDX-License-Identifier: Apache-2.0
// Locks whose files come and go: of the congestion control, and of labs.
//
// Who lets go of a lock removes its file and the folders around it, so that nothing is left. Many
// processes take both kinds at once; each has to get them, and no two one at the same time.
// Mutations that make it fail: a lock that is not compared with the file of its name once it is
// had; a lock on the folder, which others remove.

#include "bpf/mltcp/private.h"
#include "runtime/testbed/testbed.h"

#include "lab_test.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 8, ROUNDS = 150 };

struct shared {
    atomic_uint holders[2];
    atomic_uint overlaps;
    atomic_uint failures;
    struct weft_error error; // one of those that failed
};

static void hold(struct shared *shared, int which)
{
    const struct timespec moment = {.tv_nsec = 20000};
    if (atomic_fetch_add(&shared->holders[which], 1) != 0) {
        atomic_fetch_add(&shared->overlaps, 1);
    }
    nanosleep(&moment, NULL);
    atomic_fetch_sub(&shared->holders[which], 1);
}

static void take_cc(struct shared *shared)
{
    struct weft_error error;
    int lock = cc_lock(CC_LOCK_MS, &error);
    if (lock < 0) {
        atomic_fetch_add(&shared->failures, 1);
        shared->error = error;
        return;
    }
    hold(shared, 0);
    cc_unlock(lock);
}

// A claim that another process has is refused, which is no failure.
static void take_lab(struct shared *shared, const char *name)
{
    struct weft_error error;
    struct weft_lab_claim claim;
    if (!weft_lab_claim(&claim, name, &error)) {
        bool held = strstr(error.message, "works on lab") != NULL;
        atomic_fetch_add(&shared->failures, held ? 0 : 1);
        shared->error = held ? shared->error : error;
        return;
    }
    hold(shared, 1);
    weft_lab_unclaim(&claim, name);
}

static void one_at_a_time(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    char name[WEFT_LAB_NAME_MAX];
    snprintf(name, sizeof name, "l%d", (int)getpid());
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        for (int round = 0; child == 0 && round < ROUNDS; round++) {
            take_cc(shared);
            take_lab(shared, name);
        }
        if (child == 0) {
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_true(wait(NULL) > 0);
    }
    if (atomic_load(&shared->failures) > 0) {
        print_message("%u failed: %s\n", atomic_load(&shared->failures), shared->error.message);
    }
    assert_int_equal(atomic_load(&shared->failures), 0);
    assert_int_equal(atomic_load(&shared->overlaps), 0);
    assert_false(weft_lab_has_claim(name));
    munmap(shared, sizeof *shared);
}

// Who holds the lock without end is waited for a while.
static void gives_up(void **state)
{
    (void)state;
    struct weft_error error;
    int held = cc_lock(CC_LOCK_MS, &error);
    assert_true(held >= 0);
    assert_int_equal(cc_lock(50, &error), -1);
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "another weft cc is at work"));
    cc_unlock(held);
}

int main(void)
{
    if (geteuid() != 0) {
        printf("SKIP: locks in /run need root\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time), cmocka_unit_test(gives_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
