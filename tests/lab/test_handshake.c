// SPDX-License-Identifier: Apache-2.0
// What strangers and broken peers can do to a run: nothing but be sent away.
//
// Mutations that these tests caught: a gate that compares no proof (is_proved true), one that keeps
// all guests for ever (guest_ns of an hour, who_leaves none), a claim that is read by MSG_PEEK (one
// byte of it spins), a proof that does not name its side (an echo is let in), a message's length
// taken as it comes, a failure's code taken as it comes, a peer heard by each byte.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/process/coordinator.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STRANGERS = 400 };

static struct lab_rendezvous meeting(uint8_t secret, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct lab_rendezvous rendezvous = {.length = sizeof address};
    memcpy(&rendezvous.address, &address, sizeof address);
    memset(rendezvous.key.bytes, secret, sizeof rendezvous.key.bytes);
    return rendezvous;
}

// A port of loopback that nobody has at this moment.
static uint16_t free_port(void)
{
    struct lab_rendezvous any = meeting(0, 0);
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(probe, (struct sockaddr *)&any.address, any.length), 0);
    assert_int_equal(getsockname(probe, (struct sockaddr *)&address, &length), 0);
    close(probe);
    return ntohs(address.sin_port);
}

static int call(const struct lab_rendezvous *rendezvous)
{
    for (int i = 0; i < 500; i++) {
        int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(socket_, (const struct sockaddr *)&rendezvous->address, rendezvous->length) ==
            0) {
            return socket_;
        }
        close(socket_);
        usleep(2000);
    }
    return -1;
}

// ---- a coordinator that waits for one peer, beside its own ----

struct serving {
    struct lab_rendezvous rendezvous;
    struct lab_coordinator coordinator;
    struct weft_error error;
    uint32_t timeout_ms;
    bool fine;
};

static int say_ready(struct lab_peer *self, void *context)
{
    struct weft_error error;
    (void)context;
    return lab_peer_send(self, LAB_MESSAGE_READY, NULL, 0, &error) ? 0 : 5;
}

static void *serve(void *context)
{
    struct serving *serving = context;
    const struct lab_peers peers = {
        .count = 2, .timeout_ms = serving->timeout_ms, .run = say_ready};
    serving->fine = lab_coordinator_serve(&serving->coordinator, &peers, 0, &serving->rendezvous,
                                          &serving->error);
    return NULL;
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void join_as_peer(struct serving *serving)
{
    struct lab_peer self = {.rank = 1, .count = 2, .timeout_ms = 3000, .blamed = WEFT_NONE};
    struct weft_error error;
    if (!lab_peer_join(&self, &serving->rendezvous, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(say_ready(&self, NULL), 0);
    close(self.control);
}

static void end_serving(struct serving *serving, pthread_t thread)
{
    pthread_join(thread, NULL);
    if (!serving->fine) {
        fail_msg("%s", serving->error.message);
    }
    struct weft_error error;
    bool fine = lab_coordinator_gather(&serving->coordinator, LAB_MESSAGE_READY, NULL, 0, &error);
    lab_coordinator_close(&serving->coordinator);
    if (!fine) {
        fail_msg("%s", error.message);
    }
}

static void silent_and_trickling_strangers_cost_nothing(void **state)
{
    (void)state;
    struct serving serving = {.rendezvous = meeting(7, free_port()), .timeout_ms = 8000};
    int strangers[STRANGERS];
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &serving);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = call(&serving.rendezvous);
        assert_true(strangers[i] >= 0);
        if (i % 2 == 0) {
            assert_int_equal(send(strangers[i], "x", 1, MSG_NOSIGNAL), 1);
        }
    }
    double before_s = cpu_s();
    usleep(1000000);
    double spent_s = cpu_s() - before_s;
    assert_true(spent_s < 0.2);
    uint64_t begin_ns = lab_now_ns();
    join_as_peer(&serving);
    double joined_s = 1e-9 * (double)(lab_now_ns() - begin_ns);
    print_message("%d strangers: %.3f s of CPU in 1 s, joined in %.3f s\n", STRANGERS, spent_s,
                  joined_s);
    assert_true(joined_s < 2);
    end_serving(&serving, thread);
    for (int i = 0; i < STRANGERS; i++) {
        close(strangers[i]);
    }
}

// Says what a stranger may try, and whether the connection is closed without a welcome.
static bool is_sent_away(const struct lab_rendezvous *rendezvous, int trick)
{
    struct lab_challenge challenge;
    struct lab_claim claim = {
        .magic = 0x57454655u,
        .wish = {LAB_WISH_SEAT, 1, 2},
    };
    int socket_ = call(rendezvous);
    assert_true(socket_ >= 0);
    assert_int_equal(recv(socket_, &challenge, sizeof challenge, MSG_WAITALL), sizeof challenge);
    if (trick == 1) { // the challenge as its own answer
        memcpy(claim.nonce, challenge.nonce, sizeof claim.nonce);
        memcpy(claim.proof, challenge.nonce, sizeof claim.proof);
    }
    send(socket_, &claim, sizeof claim, MSG_NOSIGNAL);
    char byte;
    bool closed = recv(socket_, &byte, 1, 0) <= 0;
    close(socket_);
    return closed;
}

static void no_proof_no_seat(void **state)
{
    (void)state;
    struct serving serving = {.rendezvous = meeting(7, free_port()), .timeout_ms = 8000};
    pthread_t thread;
    pthread_create(&thread, NULL, serve, &serving);
    assert_true(is_sent_away(&serving.rendezvous, 0));
    assert_true(is_sent_away(&serving.rendezvous, 1));
    // Another secret.
    struct lab_rendezvous other = serving.rendezvous;
    memset(other.key.bytes, 8, sizeof other.key.bytes);
    struct lab_peer self = {.rank = 1, .count = 2, .timeout_ms = 300};
    struct weft_error error;
    assert_false(lab_peer_join(&self, &other, &error));
    assert_non_null(strstr(error.message, "is the secret the same"));
    join_as_peer(&serving);
    end_serving(&serving, thread);
}

// Listens where rank 0 should, and sends the guest's own proof back.
static void *be_imposter(void *context)
{
    int listener = *(const int *)context;
    int guest = accept(listener, NULL, NULL);
    struct lab_challenge challenge = {{1, 2, 3}};
    struct lab_claim claim;
    struct lab_welcome welcome = {{4, 5, 6}, {0}};
    send(guest, &challenge, sizeof challenge, MSG_NOSIGNAL);
    if (recv(guest, &claim, sizeof claim, MSG_WAITALL) == (ssize_t)sizeof claim) {
        memcpy(welcome.nonce, claim.nonce, sizeof welcome.nonce);
        memcpy(welcome.proof, claim.proof, sizeof welcome.proof); // its own proof, sent back
        send(guest, &welcome, sizeof welcome, MSG_NOSIGNAL);
    }
    char byte;
    recv(guest, &byte, 1, 0);
    close(guest);
    return NULL;
}

static void an_imposter_at_the_rendezvous_is_found_out(void **state)
{
    (void)state;
    struct lab_rendezvous rendezvous = meeting(7, free_port());
    struct weft_error error;
    int listener = lab_rendezvous_listen(&rendezvous, &error);
    assert_true(listener >= 0);
    pthread_t thread;
    pthread_create(&thread, NULL, be_imposter, &listener);
    struct lab_peer self = {.rank = 1, .count = 2, .timeout_ms = 5000};
    assert_false(lab_peer_join(&self, &rendezvous, &error));
    assert_non_null(strstr(error.message, "does not know this run's secret"));
    pthread_join(thread, NULL);
    close(listener);
}

// ---- what peers with a seat say ----

enum say { SAY_ENDLESS, SAY_SUCCESS, SAY_TRICKLE };

// As coordinator and peers say it: a kind, a length, the bytes.
struct head {
    uint32_t kind;
    uint32_t length;
};

static int misbehave(struct lab_peer *self, void *context)
{
    static char zeros[1 << 16];
    const enum say say = *(const enum say *)context;
    struct head head = {LAB_MESSAGE_READY, say == SAY_TRICKLE ? 4096 : 1u << 31};
    if (say == SAY_ENDLESS) {
        send(self->control, &head, sizeof head, MSG_NOSIGNAL);
        while (send(self->control, zeros, sizeof zeros, MSG_NOSIGNAL) > 0) {
        }
    } else if (say == SAY_SUCCESS) {
        struct {
            uint32_t code;
            uint32_t blamed;
            uint64_t when_ns;
            char message[sizeof((struct weft_error *)NULL)->message];
        } failure = {0, 4000000000u, 1, "all is well\x1b]0;owned\x07\n"};
        head = (struct head){LAB_MESSAGE_FAIL, sizeof failure};
        send(self->control, &head, sizeof head, MSG_NOSIGNAL);
        send(self->control, &failure, sizeof failure, MSG_NOSIGNAL);
    } else {
        for (int i = 0; i < 200; i++) {
            send(self->control, i < 8 ? (const char *)&head + i : zeros, 1, MSG_NOSIGNAL);
            usleep(50000);
        }
    }
    usleep(100000);
    return 0;
}

static double misbehaves(enum say say, struct weft_error *error)
{
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = 1, .timeout_ms = 100, .run = misbehave, .context = &say};
    uint64_t begin_ns = lab_now_ns();
    assert_true(lab_coordinator_fork(&coordinator, &peers, error));
    assert_false(lab_coordinator_gather(&coordinator, LAB_MESSAGE_READY, NULL, 0, error));
    lab_coordinator_close(&coordinator);
    return 1e-9 * (double)(lab_now_ns() - begin_ns);
}

static void a_message_has_bounds(void **state)
{
    (void)state;
    struct weft_error error;
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    assert_true(misbehaves(SAY_ENDLESS, &error) < 3);
    getrusage(RUSAGE_SELF, &after);
    assert_non_null(strstr(error.message, "begins a message of 2147483648 bytes"));
    assert_true(after.ru_maxrss - before.ru_maxrss < 4096);
}

static void a_failure_is_never_a_success(void **state)
{
    (void)state;
    struct weft_error error;
    assert_true(misbehaves(SAY_SUCCESS, &error) < 3);
    assert_int_equal(error.code, WEFT_IO);
    assert_null(strchr(error.message, '\x1b'));
    assert_null(strchr(error.message, '\x07'));
}

static void a_message_that_trickles_is_not_heard(void **state)
{
    (void)state;
    struct weft_error error;
    double seconds = misbehaves(SAY_TRICKLE, &error);
    assert_true(seconds < 8);
    assert_non_null(strstr(error.message, "nothing was heard"));
}

// ---- secrets ----

static void a_secret_is_for_one_user_alone(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-secret-XXXXXX";
    struct lab_key key;
    struct lab_key same;
    struct weft_error error;
    struct weft_arena scratch;
    assert_true(weft_arena_init(&scratch, 0, &error));
    struct weft_arena whole = scratch;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "fifteen letters", 15), 15);
    assert_false(lab_key_load(&key, path, scratch, &error));
    assert_non_null(strstr(error.message, "16 to 4096 bytes"));
    assert_int_equal(write(file, ".", 1), 1);
    assert_true(lab_key_load(&key, path, scratch, &error));
    assert_true(lab_key_load(&same, path, scratch, &error));
    assert_memory_equal(&key, &same, sizeof key);
    const mode_t wrong[] = {0640, 0604, 0620, 0602};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(fchmod(file, wrong[i]), 0);
        assert_false(lab_key_load(&key, path, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, "chmod 600"));
    }
    unlink(path);
    close(file);
    assert_false(lab_key_load(&key, path, scratch, &error));
    assert_false(lab_key_load(&key, "/dev/zero", scratch, &error)); // endless
    assert_false(lab_key_load(&key, "/dev/fd/999", scratch, &error));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "sixteen letters.", 16), 16);
    close(ends[1]);
    char name[24];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_true(lab_key_load(&key, name, scratch, &error));
    close(ends[0]);
    assert_int_equal(mkfifo(path, 0600), 0); // nobody writes
    assert_false(lab_key_load(&key, path, scratch, &error));
    assert_int_equal(unlink(path), 0);
    weft_arena_release(&whole);
}

// Another user's socket, or folder, is none to meet in.
static void a_place_of_others_is_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-place-XXXXXX";
    struct lab_rendezvous rendezvous;
    struct weft_error error;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("HOME", folder, 1);
    assert_true(lab_rendezvous_here(&rendezvous, 1, &error));
    int listener = lab_rendezvous_listen(&rendezvous, &error);
    assert_true(listener >= 0);
    close(listener); // as if killed: the next run of another job sweeps it away
    struct lab_rendezvous next;
    assert_true(lab_rendezvous_here(&next, 2, &error));
    listener = lab_rendezvous_listen(&next, &error);
    assert_true(listener >= 0);
    close(listener);
    lab_rendezvous_leave(&next);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_false(lab_rendezvous_here(&rendezvous, 1, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_int_equal(rmdir(folder), 0); // nothing is left in it
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_and_trickling_strangers_cost_nothing),
        cmocka_unit_test(no_proof_no_seat),
        cmocka_unit_test(an_imposter_at_the_rendezvous_is_found_out),
        cmocka_unit_test(a_message_has_bounds),
        cmocka_unit_test(a_failure_is_never_a_success),
        cmocka_unit_test(a_message_that_trickles_is_not_heard),
        cmocka_unit_test(a_secret_is_for_one_user_alone),
        cmocka_unit_test(a_place_of_others_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
