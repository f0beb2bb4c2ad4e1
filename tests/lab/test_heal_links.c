// SPDX-License-Identifier: Apache-2.0
// Connections between hosts of a job that heals (runtime/heal/links.h), over the loopback of a
// namespace that has the addresses of two hosts: hellos, frames that come in pieces, strangers.
//
// Mutations that made it fail: a token that is not compared; frames taken before a hello; a frame
// of another host than the connection's; guests without a bound; strangers that are not counted.

#include "lab_test.h"

#include "runtime/heal/links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { RANKS = 4, CHUNK = 5, ELEMENTS = 2 * RANKS * CHUNK, STRANGERS = 600 };

static const struct lab_heal_job job = {.rank_count = RANKS,
                                        .host_count = RANKS,
                                        .plane_count = 2,
                                        .chunk_elements = CHUNK,
                                        .token = 0x0123456789abcdefull};

// Host 0 listens, host 1 connects.
struct pair {
    struct lab_heal_links near, far;
};

static void open_pair(struct pair *pair)
{
    struct weft_error error = {0};
    must(lab_heal_links_open(&pair->near, &job, 0, &error), &error);
    pair->far = pair->near;
    pair->far.host = 1;
    pair->far.listener = -1;
}

static void close_all(struct lab_heal_links *links)
{
    for (uint32_t i = 0; i < links->count; i++) {
        lab_heal_link_close(&links->list[i]);
        free(links->list[i].body);
        free(links->list[i].out);
    }
    free(links->list);
    if (links->listener >= 0) {
        close(links->listener);
    }
}

static void wait_for(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    assert_int_equal(poll(&wait, 1, 5000), 1);
}

// Takes in who connects next; the link of it.
static struct lab_heal_link *next_guest(struct lab_heal_links *links)
{
    wait_for(links->listener, POLLIN);
    lab_heal_accept(links);
    struct lab_heal_link *last = links->list;
    for (uint32_t i = 0; i < links->count; i++) {
        last = links->list[i].came > last->came ? &links->list[i] : last;
    }
    return last;
}

// A stranger's connection, and bytes that it says at once.
static int call(const void *data, size_t length)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(weft_lab_port_address(0, 0)),
                                   .sin_port = htons(LAB_HEAL_PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(length > 0 ? send(fd, data, length, MSG_NOSIGNAL) : 0, length);
    return fd;
}

static struct lab_heal_frame frame_of(uint16_t kind, uint32_t length)
{
    return (struct lab_heal_frame){
        .magic = LAB_HEAL_MAGIC, .kind = kind, .host = 1, .length = length, .token = job.token};
}

static struct lab_heal_link *introduce(struct pair *pair, struct lab_heal_link **far)
{
    uint32_t index = lab_heal_connect(&pair->far, 0, 0);
    assert_int_not_equal(index, WEFT_NONE);
    *far = &pair->far.list[index];
    struct lab_heal_link *near = next_guest(&pair->near);
    wait_for((*far)->fd, POLLOUT);
    lab_heal_hello(&pair->far, *far, 7, LAB_HEAL_PREV);
    lab_heal_flush(*far);
    wait_for(near->fd, POLLIN);
    assert_true(lab_heal_read_head(&pair->near, near));
    assert_true(near->head.kind == LAB_HEAL_HELLO && near->head.epoch == 7);
    near->host = near->head.host; // as take_frame does
    assert_true(lab_heal_read_body(near));
    return near;
}

static void frames_come_in_pieces(void **state)
{
    (void)state;
    struct pair pair = {0};
    struct lab_heal_link *far = NULL;
    uint32_t data[ELEMENTS];
    open_pair(&pair);
    struct lab_heal_link *near = introduce(&pair, &far);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        data[i] = i * 77;
    }
    const struct lab_heal_frame head = frame_of(LAB_HEAL_STATE, sizeof data);
    char bytes[sizeof head + sizeof data];
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, data, sizeof data);
    for (size_t at = 0; at < sizeof bytes; at++) {
        assert_int_equal(send(far->fd, bytes + at, 1, MSG_NOSIGNAL), 1);
        wait_for(near->fd, POLLIN);
        bool whole = lab_heal_read_head(&pair.near, near) && lab_heal_read_body(near);
        assert_true(whole == (at + 1 == sizeof bytes) && !near->gone);
    }
    assert_memory_equal(near->body, data, sizeof data);
    // One that is taken whole, and one of another host.
    struct lab_heal_frame chunk = frame_of(LAB_HEAL_CHUNK, CHUNK * sizeof *data);
    assert_true(lab_heal_can_write(far));
    lab_heal_write(far, &chunk, data);
    wait_for(near->fd, POLLIN);
    assert_true(lab_heal_read_head(&pair.near, near) && lab_heal_read_body(near));
    chunk.host = 2;
    lab_heal_write(far, &chunk, data);
    wait_for(near->fd, POLLIN);
    assert_true(!lab_heal_read_head(&pair.near, near) && near->gone);
    assert_int_equal(pair.near.refused, 0); // a member, though out of step
    close_all(&pair.near);
    close_all(&pair.far);
}

// Frames that are well formed in all, without the run's token.
static void strangers_are_refused_and_counted(void **state)
{
    (void)state;
    struct pair pair = {0};
    struct lab_heal_frame frames[] = {
        frame_of(LAB_HEAL_HELLO, 0),
        frame_of(LAB_HEAL_CHUNK, CHUNK * sizeof(uint32_t)),
        frame_of(LAB_HEAL_STATE, ELEMENTS * sizeof(uint32_t)),
    };
    enum { FRAMES = sizeof frames / sizeof frames[0] };
    frames[0].token ^= 1;
    open_pair(&pair);
    for (uint32_t i = 0; i < FRAMES; i++) {
        int fd = call(&frames[i], sizeof frames[i]);
        struct lab_heal_link *link = next_guest(&pair.near);
        wait_for(link->fd, POLLIN);
        assert_true(!lab_heal_read_head(&pair.near, link) && link->gone);
        assert_int_equal(pair.near.refused, i + 1);
        lab_heal_link_close(link);
        close(fd);
    }
    close_all(&pair.near);
}

// A crowd that says nothing has a bounded table, and who is honest gets in all the same.
static void a_crowd_keeps_nobody_out(void **state)
{
    (void)state;
    struct pair pair = {0};
    struct lab_heal_link *far = NULL;
    int fds[STRANGERS];
    open_pair(&pair);
    for (uint32_t i = 0; i < STRANGERS; i++) {
        fds[i] = call(NULL, 0);
        (void)next_guest(&pair.near);
        assert_true(pair.near.count <= LAB_HEAL_GUESTS + 1);
    }
    assert_int_equal(pair.near.refused, STRANGERS - LAB_HEAL_GUESTS);
    struct lab_heal_link *near = introduce(&pair, &far);
    assert_true(near->fd >= 0 && !near->gone);
    for (uint32_t i = 0; i < STRANGERS; i++) {
        close(fds[i]);
    }
    close_all(&pair.near);
    close_all(&pair.far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_in_pieces),
        cmocka_unit_test(strangers_are_refused_and_counted),
        cmocka_unit_test(a_crowd_keeps_nobody_out),
    };
    char name[WEFT_NETNS_NAME_MAX];
    struct weft_error error = {0};
    struct weft_netlink netlink;
    need_namespaces();
    own_name(name, "links");
    bool fine = weft_netns_create(name, &error) && weft_netns_enter(name, &error) &&
                weft_netlink_open(&netlink, NULL, &error);
    for (uint32_t host = 0; host < 2 && fine; host++) {
        fine = weft_address_add(&netlink, 1, weft_lab_port_address(host, 0), 32, &error);
    }
    struct weft_error ignored;
    bool gone = weft_netns_delete(name, &ignored);
    if (!fine || !gone) {
        printf("%s\n", fine ? ignored.message : error.message);
        return 1;
    }
    weft_netlink_close(&netlink);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
