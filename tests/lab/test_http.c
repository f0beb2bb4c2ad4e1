// SPDX-License-Identifier: Apache-2.0
// HTTP exchanges with switches that answer badly: what is no HTTP, without end, slowly or not at
// all, and a name server that is silent. Root for the last one.

#include "lab_test.h"

#include "runtime/ocs/http.h"
#include "runtime/ocs/ocs.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static struct weft_arena arena;

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// What answers in the switch's place: one reply, whatever is asked, of so many bytes of 'x' more,
// or slowly.
struct liar {
    int listener;
    const char *reply;
    const char *more; // is repeated
    size_t more_bytes;
    bool slow;   // a byte every 50 ms
    bool secure; // asked by HTTPS
    bool holds;  // the connection open until the asker ends it
    bool resets; // the connection in the end
    int ends;    // so many connections first, without a byte of an answer
};

static void *lie(void *context)
{

    static char many[60000];
    const struct liar *liar = context;
    for (size_t i = 0; liar->more != NULL && i < sizeof many; i++) {
        many[i] = liar->more[i % strlen(liar->more)];
    }
    int fd = accept(liar->listener, NULL, NULL);
    char data[4096];
    for (int i = 0; i < liar->ends; i++) {
        // With what was sent unread, every other end is a reset.
        if (i % 2 == 0) {
            recv(fd, data, sizeof data, 0);
        }
        close(fd);
        fd = accept(liar->listener, NULL, NULL);
    }
    shutdown(liar->listener, SHUT_RDWR); // whoever comes now is refused
    ssize_t got = recv(fd, data, sizeof data, 0);
    bool there = got >= 0;
    size_t length = strlen(liar->reply);
    for (size_t i = 0; liar->slow && i < length && there; i++) {
        const struct timespec pause = {.tv_nsec = 50000000};
        there = send(fd, liar->reply + i, 1, MSG_NOSIGNAL) == 1;
        nanosleep(&pause, NULL);
    }
    there = there && (liar->slow || send(fd, liar->reply, length, MSG_NOSIGNAL) == (ssize_t)length);
    for (size_t left = liar->more_bytes; left > 0 && there;) {
        size_t bytes = left < sizeof many ? left : sizeof many;
        got = send(fd, many, bytes, MSG_NOSIGNAL);
        there = got > 0;
        left -= there ? (size_t)got : 0;
    }
    while (liar->holds && recv(fd, data, sizeof data, 0) > 0) {
    }
    // With this, close() resets; what was sent before can be read all the same.
    const struct linger at_once = {.l_onoff = 1};
    if (liar->resets) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(fd);
    return NULL;
}

static void begin_lying(struct liar *liar, pthread_t *thread, uint16_t *port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    liar->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(liar->listener, (struct sockaddr *)&own, size), 0);
    assert_int_equal(listen(liar->listener, 1), 0);
    assert_int_equal(getsockname(liar->listener, (struct sockaddr *)&own, &size), 0);
    assert_int_equal(pthread_create(thread, NULL, lie, liar), 0);
    *port = ntohs(own.sin_port);
}

static bool ask_liar(struct liar *liar, struct weft_http_reply *got, uint32_t deadline_ms,
                     struct weft_error *error)
{
    pthread_t thread;
    uint16_t port = 0;
    char url[48];
    begin_lying(liar, &thread, &port);
    snprintf(url, sizeof url, "%s://127.0.0.1:%u/", liar->secure ? "https" : "http", port);
    const struct weft_http_request request = {
        .url = url, .method = "GET", .media_type = "text/plain", .deadline_ms = deadline_ms};
    struct weft_arena kept = arena;
    bool fine = weft_http_ask(got, &request, &kept, error);
    shutdown(liar->listener, SHUT_RDWR); // nobody comes any more
    pthread_join(thread, NULL);
    close(liar->listener);
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
        {"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc", "ab"},
        {"HTTP/1.0 200 OK\r\n\r\nto the end", "to the end"},
        {"HTTP/1.1 204 None\r\n\r\n", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
         "abcde"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab\r\n", NULL},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n", NULL},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", NULL},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nabc", NULL},
        {"HTTP/1.1 2x0 OK\r\n\r\n", NULL},
        {"SSH-2.0-OpenSSH\r\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_http_reply reply = {0};
        struct weft_error error = {0};
        struct liar liar = {.reply = cases[i].reply};
        bool fine = ask_liar(&liar, &reply, 2000, &error);
        if (cases[i].body == NULL) {
            assert_false(fine);
            assert_int_equal(error.code, WEFT_IO);
            assert_null(strchr(error.message, '\n'));
        } else {
            must(fine, &error);
            assert_string_equal(reply.body, cases[i].body);
        }
    }
}

// A switch that has too many connections ends some before it has read their requests. Mutation:
// with one try fewer, or none, the first case fails; without the look at what came, the answer of
// the second one, which broke off, would be asked for again.
static void what_ended_before_an_answer_is_asked_again(void **state)
{
    (void)state;
    struct weft_http_reply reply = {0};
    struct weft_error error = {0};
    struct liar patient = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", .ends = 3};
    must(ask_liar(&patient, &reply, 2000, &error), &error);
    assert_string_equal(reply.body, "abc");
    struct liar halfway = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", .resets = true};
    assert_false(ask_liar(&halfway, &reply, 2000, &error));
    assert_non_null(strstr(error.message, "broke off"));
    // What is no TLS is asked for as often as a handshake that broke off, and told as that.
    struct liar plain = {.reply = "SSH-2.0-OpenSSH\r\n", .ends = 3, .secure = true};
    assert_false(ask_liar(&plain, &reply, 2000, &error));
    assert_non_null(strstr(error.message, "no TLS there"));
    // Not beyond the deadline: asked after 0, 20 and 60 ms, and not after 140.
    struct liar tiring = {.reply = "HTTP/1.1 200 OK\r\n\r\n", .ends = 3};
    double begun_s = clock_s();
    assert_false(ask_liar(&tiring, &reply, 130, &error));
    assert_true(clock_s() - begun_s < 0.13);
}

// Neither size nor patience is without end. Mutation: without the bound in collect() the large
// answer writes behind its buffer, without that in count_head() all of a head is read; with a
// timeout for each byte the slow one takes 2 s.
static void answers_without_end_are_ended(void **state)
{
    (void)state;
    static const struct {
        struct liar liar;
        const char *says;
    } cases[] = {
        {{.reply = "HTTP/1.0 200 OK\r\n\r\n", .more = "x", .more_bytes = 8u << 20}, "larger than"},
        {{.reply = "HTTP/1.1 200 OK\r\nX: ", .more = "x", .more_bytes = 8u << 20, .holds = true},
         "larger than"},
        {{.reply = "HTTP/1.1 200 OK\r\n",
          .more = "X: y\r\n",
          .more_bytes = 8u << 20,
          .holds = true},
         "larger than"},
        {{.reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
          .more = "X: y\r\n",
          .more_bytes = 8u << 20,
          .holds = true},
         "larger than"},
        {{.reply = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", .slow = true}, "in time"},
        {{.reply = "HTTP/1.0 200 OK\r\n\r\nto the end", .holds = true}, "in time"},
        {{.reply = "HTTP/1.1 100 Continue\r\n\r\n", .holds = true}, "in time"},
        {{.reply = "", .holds = true, .secure = true}, "in time"},
        {{.reply = "\x16\x03\x03", .slow = true, .holds = true, .secure = true}, "in time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error = {0};
        struct weft_http_reply reply;
        struct liar liar = cases[i].liar;
        double begun_s = clock_s();
        uint32_t deadline_ms = strcmp(cases[i].says, "in time") == 0 ? 400 : 3000;
        assert_false(ask_liar(&liar, &reply, deadline_ms, &error));
        assert_int_equal(error.code, WEFT_IO);
        if (strstr(error.message, cases[i].says) == NULL) {
            fail_msg("case %zu: %s", i, error.message);
        }
        assert_true(clock_s() - begun_s < 2);
    }
}

// A page of an error is quoted in part.
static void what_a_switch_says_is_quoted_in_part(void **state)
{
    (void)state;
    struct liar liar = {
        .reply = "HTTP/1.0 409 Conflict\r\n\r\n\033[2Jx\n", .more = "x", .more_bytes = 50000};
    struct weft_error error;
    struct weft_ocs far;
    pthread_t thread;
    uint16_t port = 0;
    char address[32];
    begin_lying(&liar, &thread, &port);
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    const struct weft_ocs_access access = {.address = address, .timeout_ms = 2000};
    assert_false(weft_ocs_open(&far, &access, &arena, &error));
    pthread_join(thread, NULL);
    close(liar.listener);
    assert_non_null(strstr(error.message, "status 409: "));
    assert_true(strlen(error.message) < 240);
    assert_null(strpbrk(error.message, "\033\n"));
}

// In a child, in namespaces of its own: the name server is a socket that never answers. Exits with
// 77 where that is not permitted.
static int ask_silent_name_server(const char *resolv)
{
    struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    struct weft_error error;
    struct weft_http_reply reply;
    int fd = -1;
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(resolv, "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0 ||
        (fd = socket(AF_INET, SOCK_DGRAM, 0)) < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0 ||
        bind(fd, (struct sockaddr *)&own, sizeof own) != 0) {
        return 77;
    }
    const struct weft_http_request request = {.url = "http://switch.example/",
                                              .method = "GET",
                                              .media_type = "text/plain",
                                              .deadline_ms = 400};
    double begun_s = clock_s();
    bool fine = weft_http_ask(&reply, &request, &arena, &error);
    double took_s = clock_s() - begun_s;
    print_message("%.3f s: %s\n", took_s, fine ? "?" : error.message);
    return !fine && took_s < 2 && strstr(error.message, "in time") != NULL ? 0 : 1;
}

// Mutation: without CURLOPT_QUICK_EXIT the exchange ends when the resolver has given up, after
// 10 s.
static void a_silent_name_server_holds_nothing_up(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-test-resolv-XXXXXX";
    static const char text[] = "nameserver 127.0.0.1\n";
    int status = 0;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        _exit(ask_silent_name_server(path));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    if (WEXITSTATUS(status) == 77) {
        print_message("SKIP: no namespaces of its own\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 2ull << 30, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_of_all_kinds_are_read_or_refused),
        cmocka_unit_test(what_ended_before_an_answer_is_asked_again),
        cmocka_unit_test(answers_without_end_are_ended),
        cmocka_unit_test(what_a_switch_says_is_quoted_in_part),
        cmocka_unit_test(a_silent_name_server_holds_nothing_up),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
