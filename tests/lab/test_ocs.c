// SPDX-License-Identifier: Apache-2.0
// Optical switches: matchings, the twin, and the RESTCONF driver against an emulated box. No root.

#include "lab_test.h"

#include "runtime/ocs/http.h"
#include "runtime/ocs/ocs.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static struct weft_arena arena;
static struct weft_arena scratch;

// ---- an emulated box in a thread ----

struct box {
    struct weft_ocs_emulator emulator;
    pthread_t thread;
    atomic_bool stop;
    atomic_uint port;
    char address[32];
    bool fine;
    struct weft_error error;
};

static void ready(void *context, uint16_t port)
{
    struct box *box = context;
    atomic_store(&box->port, port);
}

static void *serve(void *context)
{
    struct box *box = context;
    box->fine = weft_ocs_emulate(&box->emulator, &box->stop, ready, box, &box->error);
    return NULL;
}

static void start(struct box *box, uint32_t ports, uint32_t fail_at, uint32_t fail_status)
{
    *box = (struct box){
        .emulator = {.port_count = ports,
                     .user = "admin",
                     .password = "root",
                     .fail_at = fail_at,
                     .fail_status = fail_status},
    };
    assert_int_equal(pthread_create(&box->thread, NULL, serve, box), 0);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 5000 && atomic_load(&box->port) == 0; i++) {
        nanosleep(&pause, NULL);
    }
    assert_int_not_equal(atomic_load(&box->port), 0);
    snprintf(box->address, sizeof box->address, "127.0.0.1:%u", atomic_load(&box->port));
}

static void finish(struct box *box)
{
    atomic_store(&box->stop, true);
    pthread_join(box->thread, NULL);
    assert_true(box->fine);
}

static struct weft_ocs_box access_to(const struct box *box)
{
    return (struct weft_ocs_box){box->address, "admin", "root", 2000};
}

// ---- tests ----

static void sets_that_are_no_matchings_are_refused(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs twin;
    struct weft_ocs_change change;
    uint32_t outputs[4] = {1, 0, 3, 2};
    must(weft_ocs_open_twin(&twin, 4, &arena, &error), &error);
    must(weft_ocs_apply(&change, &twin, outputs, scratch, &error), &error);
    assert_int_equal(change.changed, 4);
    const uint32_t twice[4] = {1, 1, WEFT_NONE, 2};
    assert_false(weft_ocs_apply(&change, &twin, twice, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.message,
                        "inputs 0 and 1 both go to output 1; a circuit set is a matching");
    const uint32_t beyond[4] = {4, 0, 1, 2};
    assert_false(weft_ocs_apply(&change, &twin, beyond, scratch, &error));
    // Input 2 to 0, which input 1 has.
    const struct weft_ocs_circuit taken = {2, 0};
    assert_false(weft_ocs_connect(&change, &twin, &taken, 1, scratch, &error));
    must(weft_ocs_read(outputs, &twin, &error), &error);
    const uint32_t before[4] = {1, 0, 3, 2};
    assert_memory_equal(outputs, before, sizeof before);
    const struct weft_ocs_circuit dark = {1, WEFT_NONE};
    must(weft_ocs_connect(&change, &twin, &dark, 1, scratch, &error), &error);
    assert_int_equal(change.changed, 1);
    assert_int_equal(change.untouched, 3);
    must(weft_ocs_connect(&change, &twin, &taken, 1, scratch, &error), &error);
    weft_ocs_close(&twin);
}

// A random partial matching.
static void draw(uint32_t *outputs, uint32_t n, struct weft_rng *rng)
{
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = i;
    }
    weft_rng_shuffle(rng, outputs, n);
    for (uint32_t i = 0; i < n; i++) {
        if (weft_rng_below(rng, 4) == 0) {
            outputs[i] = WEFT_NONE;
        }
    }
}

// The box and the twin are told the same and have to say the same. Mutation: a driver that sends
// only the pairs that change makes the others dark, and fails at the first step with a circuit that
// stays.
static void a_box_and_the_twin_agree(void **state)
{
    (void)state;
    enum { N = 24, STEPS = 40 };
    uint64_t seed = (uint64_t)time(NULL);
    struct weft_rng rng;
    struct box box;
    struct weft_error error;
    struct weft_ocs twin;
    struct weft_ocs far;
    start(&box, N, 0, 0);
    const struct weft_ocs_box access = access_to(&box);
    must(weft_ocs_open_twin(&twin, N, &arena, &error), &error);
    must(weft_ocs_open_restconf(&far, &access, &arena, &error), &error);
    assert_int_equal(far.port_count, N);
    weft_rng_init(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int step = 0; step < STEPS; step++) {
        uint32_t wanted[N];
        uint32_t seen[2][N];
        struct weft_ocs_change changes[2];
        draw(wanted, N, &rng);
        struct weft_ocs *both[2] = {&twin, &far};
        for (int i = 0; i < 2; i++) {
            if (step % 2 == 0) {
                must(weft_ocs_apply(&changes[i], both[i], wanted, scratch, &error), &error);
            } else {
                const struct weft_ocs_circuit dark = {(uint32_t)step % N, WEFT_NONE};
                must(weft_ocs_connect(&changes[i], both[i], &dark, 1, scratch, &error), &error);
            }
            must(weft_ocs_read(seen[i], both[i], &error), &error);
        }
        assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
        assert_int_equal(changes[0].changed, changes[1].changed);
        assert_int_equal(changes[0].untouched, changes[1].untouched);
        struct weft_ocs_port ports[N];
        must(weft_ocs_statistics(ports, &far, &error), &error);
        uint32_t lit = 0;
        uint32_t light = 0;
        for (uint32_t p = 0; p < N; p++) {
            assert_true(ports[p].has_power);
            lit += seen[1][p] != WEFT_NONE;
            light += ports[p].output_dbm > -30;
        }
        assert_int_equal(lit, light);
    }
    weft_ocs_close(&far);
    weft_ocs_close(&twin);
    finish(&box);
}

static void a_box_out_of_order_is_told_in_one_line(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs far;
    struct box box;
    // Requests of opening and applying: ports, read, read, replace, read.
    for (uint32_t at = 1; at <= 5; at++) {
        for (uint32_t status = 0; status <= 500; status += 500) {
            start(&box, 4, at, status);
            const struct weft_ocs_box access = access_to(&box);
            const uint32_t outputs[4] = {3, 2, WEFT_NONE, 0};
            struct weft_ocs_change change;
            bool fine = weft_ocs_open_restconf(&far, &access, &arena, &error) &&
                        weft_ocs_apply(&change, &far, outputs, scratch, &error);
            assert_false(fine);
            assert_int_equal(error.code, WEFT_IO);
            assert_null(strchr(error.message, '\n'));
            finish(&box);
        }
    }
    start(&box, 4, 0, 0);
    const struct weft_ocs_box stranger = {box.address, "admin", "guess", 2000};
    assert_false(weft_ocs_open_restconf(&far, &stranger, &arena, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    finish(&box);
    // Nobody there any more.
    const struct weft_ocs_box gone = access_to(&box);
    assert_false(weft_ocs_open_restconf(&far, &gone, &arena, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "RESTCONF"));
}

// What answers in the box's place: one reply, whatever is asked.
struct liar {
    int listener;
    const char *reply;
};

static void *lie(void *context)
{
    const struct liar *liar = context;
    int fd = accept(liar->listener, NULL, NULL);
    char data[4096];
    ssize_t got = recv(fd, data, sizeof data, 0);
    (void)got;
    ssize_t sent = send(fd, liar->reply, strlen(liar->reply), MSG_NOSIGNAL);
    (void)sent;
    close(fd);
    return NULL;
}

static bool ask_liar(const char *reply, struct weft_http_reply *got, struct weft_error *error)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    struct liar liar = {socket(AF_INET, SOCK_STREAM, 0), reply};
    pthread_t thread;
    char address[32];
    assert_int_equal(bind(liar.listener, (struct sockaddr *)&own, size), 0);
    assert_int_equal(listen(liar.listener, 1), 0);
    assert_int_equal(getsockname(liar.listener, (struct sockaddr *)&own, &size), 0);
    assert_int_equal(pthread_create(&thread, NULL, lie, &liar), 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(own.sin_port));
    const struct weft_http_request request = {address, "80", "GET", "/", NULL, NULL, NULL, 2000};
    bool fine = weft_http_ask(got, &request, &arena, error);
    pthread_join(thread, NULL);
    close(liar.listener);
    return fine;
}

static void replies_of_all_kinds_are_read_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        const char *body; // NULL = refused
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"},
        {"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc", "abc"}, // read in one piece
        {"HTTP/1.0 200 OK\r\n\r\nto the end", "to the end"},
        {"HTTP/1.1 204 None\r\n\r\n", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
         "abcde"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab\r\n", NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n", NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", NULL},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", NULL},
        {"HTTP/1.1 2x0 OK\r\n\r\n", NULL},
        {"SSH-2.0-OpenSSH\r\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_http_reply reply = {0};
        struct weft_error error = {0};
        bool fine = ask_liar(cases[i].reply, &reply, &error);
        if (cases[i].body == NULL) {
            assert_false(fine);
            assert_int_equal(error.code, WEFT_IO);
        } else {
            must(fine, &error);
            assert_int_equal(strncmp(reply.body, cases[i].body, strlen(cases[i].body)), 0);
        }
    }
    assert_string_equal(weft_http_basic("admin", "root", &arena), "Basic YWRtaW46cm9vdA==");
    assert_string_equal(weft_http_basic("a", "b", &arena), "Basic YTpi");
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 2ull << 30, &error) ||
        !weft_arena_init(&scratch, 256u << 20, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_that_are_no_matchings_are_refused),
        cmocka_unit_test(a_box_and_the_twin_agree),
        cmocka_unit_test(a_box_out_of_order_is_told_in_one_line),
        cmocka_unit_test(replies_of_all_kinds_are_read_or_refused),
    };
    return cmocka_run_group_tests_name("ocs", tests, NULL, NULL);
}
