// SPDX-License-Identifier: Apache-2.0
// Ports that sort gradients, with real packets.
//
// Seen to fail when: queues had their priorities the other way round; leaves had the whole rate as
// their own; the length was that of the whole port; unimportant DATA was marked instead of dropped;
// a host's own packets were dropped, too; important DATA was dropped; control went to the last
// queue, others to the first; layers were read at byte 25; options of IPv4 or first fragments were
// taken for nothing; a queue was long from K + 1 packets on.

#include "three_nodes.h"

#include "bpf/classes/classes.h"

#include <linux/if_packet.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

enum {
    QUEUES = 4,
    LAYERS = 10,
    THRESHOLD = 20,
};
static const struct classes_settings settings = {QUEUES, LAYERS, THRESHOLD};

// Puts queues and classifier on a port; the port holds the program when the loader has closed it.
static uint32_t sort_port(struct weft_netlink *netlink, uint32_t index, double rate_Bps,
                          uint32_t limit_bytes)
{
    struct weft_error error;
    struct weft_classifier classifier;
    const struct weft_shaper shape = {rate_Bps, 2 * FRAME_BYTES, limit_bytes};
    must(weft_classifier_load(&classifier, &settings, &error), &error);
    const struct weft_filter filter = {true, 1, classifier.program_fd, "weft-classes"};
    uint32_t id = classifier.id;
    must(weft_qdisc_queues(netlink, index, &shape, QUEUES + 1, &error), &error);
    must(weft_qdisc_clsact(netlink, index, &error), &error);
    must(weft_filter_bpf(netlink, index, &filter, &error), &error);
    weft_classifier_close(&classifier);
    return id;
}

static void unsort_port(struct weft_netlink *netlink, uint32_t index)
{
    struct weft_error error;
    must(weft_qdisc_delete(netlink, index, &error), &error);
    must(weft_filter_delete(netlink, index, true, 1, &error), &error);
}

static void read_counts(struct classes_count *counts, uint32_t id)
{
    struct weft_error error;
    must(weft_classifier_counts(counts, id, &error), &error);
}

// ---- what a port should do with a packet ----

static uint32_t queue_of(const struct packet *packet)
{
    if (packet->kind != WEFT_MLT_DATA) {
        return packet->kind == TEXT_KIND ? QUEUES : 0;
    }
    return packet->layer < LAYERS ? 1 + weft_mlt_queue(QUEUES, packet->layer, LAYERS) : QUEUES;
}

static enum classes_class class_of(const struct packet *packet)
{
    return packet->kind == TEXT_KIND       ? CLASSES_OTHER
           : packet->kind != WEFT_MLT_DATA ? CLASSES_CONTROL
           : packet->important             ? CLASSES_IMPORTANT
                                           : CLASSES_UNIMPORTANT;
}

// ---- tests ----

// One packet of each kind, layer and class through a port that is never busy.
static void heads_say_queue_and_class(void **state)
{
    (void)state;
    static struct packet sent[2 * (LAYERS + 3) + 6];
    static struct packet came[sizeof sent / sizeof sent[0] + 1];
    static struct classes_count counts[CLASSES_ROWS];
    static struct classes_count expected[CLASSES_ROWS];
    unsigned count = 0;
    for (uint16_t layer = 0; layer < LAYERS + 3; layer++) {
        uint16_t far = layer == LAYERS + 2 ? 65535 : layer; // beyond the last: the last queue
        sent[count] = (struct packet){count, far, WEFT_MLT_DATA, false, 0};
        count++;
        sent[count] = (struct packet){count, far, WEFT_MLT_DATA, true, 2};
        count++;
    }
    for (uint8_t kind = WEFT_MLT_PROBE; kind <= TEXT_KIND; kind++) {
        sent[count] = (struct packet){count, 0, kind, false, 0};
        count++;
    }
    uint32_t id = sort_port(&middle, OUT_PORT, 125e6, 1 << 20);
    send_packets(sent, count);
    assert_int_equal(receive_packets(came, count + 1, 300), count);
    for (unsigned i = 0; i < count; i++) {
        struct classes_count *row =
            &expected[queue_of(&sent[i]) * CLASSES_COUNT + class_of(&sent[i])];
        row->packets++;
        row->bytes += sent[i].kind == WEFT_MLT_DATA || sent[i].kind == TEXT_KIND ? FRAME_BYTES : 82;
    }
    read_counts(counts, id);
    for (unsigned row = 0; row < CLASSES_ROWS; row++) {
        assert_int_equal(counts[row].packets, expected[row].packets);
        assert_int_equal(counts[row].bytes, expected[row].bytes);
        assert_int_equal(counts[row].dropped + counts[row].marked, 0);
    }
    unsort_port(&middle, OUT_PORT);
}

// ---- any bytes ----

// What the classifier should say of a frame, read by other means than its own.
static uint32_t row_of(const uint8_t *frame, size_t size)
{
    size_t payload = size > 14 ? 14 + 8 + (size_t)(frame[14] & 15) * 4 : 0;
    bool is_datagram = size >= 34 && frame[12] == 8 && frame[13] == 0 && frame[23] == 17;
    bool is_whole = is_datagram && (frame[20] & 0x3f) == 0 && frame[21] == 0;
    if (!is_whole || size < payload + 28) {
        return QUEUES * CLASSES_COUNT + CLASSES_OTHER;
    }
    const uint8_t *head = frame + payload;
    struct packet packet = {.kind = head[3], .important = head[26] != 0};
    packet.layer = (uint16_t)(head[24] + 256 * head[25]);
    if (head[0] != 0x57 || head[1] != 0x4d || head[2] != 1 || packet.kind == 0 ||
        packet.kind > WEFT_MLT_REPORT) {
        packet.kind = TEXT_KIND;
    }
    return queue_of(&packet) * CLASSES_COUNT + class_of(&packet);
}

// A frame of MLT of which some bytes have changed, or the end is missing.
static size_t draw_frame(uint8_t *frame, uint64_t *state)
{
    static const uint8_t begin[] = {2, 0x57, 0, 0, 0, 9, 2, 0x57, 0, 0, 0, 7, 8, 0, 0x45};
    size_t size = 14 + 20 + 8 + 40;
    memset(frame, 0, 256);
    memcpy(frame, begin, sizeof begin);
    frame[23] = 17;
    uint64_t drawn = *state = weft_hash(*state);
    size_t options = drawn % 4 == 0 ? drawn / 4 % 11 * 4 : 0;
    frame[14] = (uint8_t)(0x45 + options / 4);
    size += options;
    uint8_t *head = frame + 42 + options;
    const uint8_t fields[4] = {0x57, 0x4d, 1, (uint8_t)(drawn >> 20 & 1 ? 1 : drawn >> 21 & 7)};
    memcpy(head, fields, sizeof fields);
    head[24] = (uint8_t)(drawn >> 32 & 15);
    head[26] = (uint8_t)(drawn >> 36 & 1);
    for (unsigned changes = (unsigned)(drawn >> 40 & 3); changes > 0; changes--) {
        drawn = *state = weft_hash(*state);
        frame[12 + drawn % (size - 12)] ^= (uint8_t)(1u << (drawn >> 32 & 7));
    }
    return drawn >> 61 == 0 ? 14 + drawn % (size - 14) : size;
}

// Frames of all kinds leave the source's port by a raw socket, and each is counted in the row that
// the test says. The sink takes none: they are addressed to nobody.
static void any_frame_is_sorted_by_its_head(void **state)
{
    (void)state;
    static struct classes_count counts[CLASSES_ROWS];
    uint64_t expected[CLASSES_ROWS] = {0};
    struct weft_error error;
    uint64_t random = (uint64_t)time(NULL);
    uint32_t id = sort_port(&source, SOURCE_PORT, 125e6, 1 << 20);
    int raw = -1;
    printf("seed %llu\n", (unsigned long long)random);
    must(weft_netns_socket(&raw, names[0], AF_PACKET, SOCK_RAW, 0, &error), &error);
    const struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = SOURCE_PORT, .sll_halen = 6};
    for (unsigned i = 0; i < 5000; i++) {
        uint8_t frame[256];
        size_t size = draw_frame(frame, &random);
        uint32_t row = row_of(frame, size);
        expected[row]++;
        ssize_t sent = sendto(raw, frame, size, 0, (const struct sockaddr *)&to, sizeof to);
        assert_int_equal(sent, size);
        read_counts(counts, id);
        if (counts[row].packets != expected[row]) {
            fail_msg("frame %u of %zu bytes is not in row %u", i, size, row);
        }
    }
    close(raw);
    unsort_port(&source, SOURCE_PORT);
}

// Back layers are sent first and front ones last, into a port of 2.5 Mbps where each takes 3.3 ms:
// what waits there leaves the other way round. Both where packets are forwarded and at the source's
// own port, where more than THRESHOLD of them wait and none is dropped or marked.
static void urgent_queues_go_first(void **state)
{
    (void)state;
    enum { EACH = 30, FIRST = 12 };
    static struct packet sent[(QUEUES + 1) * EACH];
    static struct packet came[(QUEUES + 1) * EACH + 1];
    static struct classes_count counts[CLASSES_ROWS];
    unsigned count = 0;
    for (unsigned q = QUEUES + 1; q-- > 0;) {
        for (unsigned i = 0; i < EACH; i++) {
            uint16_t layer = (uint16_t)(q == 0 ? 0 : (q - 1) * LAYERS / QUEUES + 1);
            uint8_t kind = q == 0 ? WEFT_MLT_STOP : WEFT_MLT_DATA;
            sent[count] = (struct packet){count, layer, kind, true, 0};
            count++;
        }
    }
    for (int own = 0; own < 2; own++) {
        struct weft_netlink *netlink = own ? &source : &middle;
        uint32_t port = own ? SOURCE_PORT : OUT_PORT;
        uint32_t id = sort_port(netlink, port, 312500, 1 << 20);
        send_packets(sent, count);
        assert_int_equal(receive_packets(came, count + 1, 500), count);
        // The burst, and of each queue the one packet that it may send by its own rate.
        unsigned early = 0;
        for (unsigned i = FIRST; i < count; i++) {
            if (queue_of(&came[i]) < queue_of(&came[i - 1])) {
                early++;
            }
        }
        assert_int_equal(early, 0);
        assert_int_equal(queue_of(&came[count - 1]), QUEUES);
        read_counts(counts, id);
        uint64_t marked = 0;
        uint64_t dropped = 0;
        uint64_t longest = 0;
        for (unsigned row = 0; row < CLASSES_ROWS; row++) {
            marked += counts[row].marked;
            dropped += counts[row].dropped;
            longest = counts[row].longest > longest ? counts[row].longest : longest;
        }
        assert_int_equal(dropped + marked, 0); // none is ECN-capable
        assert_in_range(longest, THRESHOLD + 1, EACH - 1);
        struct weft_qdisc_counters queues[QUEUES + 1];
        struct weft_error error;
        must(weft_qdisc_queue_counters(queues, netlink, port, QUEUES + 1, &error), &error);
        for (unsigned q = 0; q <= QUEUES; q++) {
            assert_int_equal(queues[q].sent_packets, EACH);
            assert_int_equal(queues[q].dropped_packets + queues[q].backlog_packets, 0);
        }
        unsort_port(netlink, port);
    }
}

// A queue of K packets and more: of what is forwarded into it unimportant DATA is dropped, ECN
// capable or not, everything else that is ECN-capable marked, and the rest waits. A more urgent
// queue, which is short meanwhile, takes unimportant DATA. At the source's own port nothing
// happens.
static void long_queues_drop_and_mark(void **state)
{
    (void)state;
    enum { FILL = THRESHOLD + 10, EACH = 8, COUNT = FILL + 5 * EACH };
    static struct packet sent[COUNT];
    static struct packet came[COUNT + 1];
    static struct classes_count counts[CLASSES_ROWS];
    for (unsigned i = 0; i < COUNT; i++) {
        sent[i] = (struct packet){i, LAYERS - 1, WEFT_MLT_DATA, true, 0};
        if (i >= FILL) {
            unsigned part = (i - FILL) / EACH;
            sent[i].important = part == 1;
            sent[i].ecn = part == 0 || part == 1 || part == 3 ? IPTOS_ECN_ECT0 : 0;
            sent[i].kind = part == 3 ? TEXT_KIND : WEFT_MLT_DATA;
            sent[i].layer = part == 4 ? 0 : LAYERS - 1;
        }
    }
    for (int own = 0; own < 2; own++) {
        struct weft_netlink *netlink = own ? &source : &middle;
        uint32_t port = own ? SOURCE_PORT : OUT_PORT;
        uint32_t id = sort_port(netlink, port, 312500, 1 << 20);
        unsigned parts[6] = {0};
        send_packets(sent, COUNT);
        unsigned count = receive_packets(came, COUNT + 1, 500);
        for (unsigned i = 0; i < count; i++) {
            unsigned part = came[i].number < FILL ? 5 : (came[i].number - FILL) / EACH;
            bool marked = !own && (part == 1 || part == 3);
            parts[part]++;
            assert_int_equal(came[i].ecn, marked ? IPTOS_ECN_CE : sent[came[i].number].ecn);
        }
        assert_int_equal(parts[0], own ? EACH : 0); // unimportant, though ECN-capable
        assert_int_equal(parts[1], EACH);
        assert_int_equal(parts[2], own ? EACH : 0);
        assert_int_equal(parts[3], EACH);
        assert_int_equal(parts[4], EACH); // front layer
        assert_int_equal(parts[5], FILL);
        read_counts(counts, id);
        const struct classes_count *last = &counts[QUEUES * CLASSES_COUNT];
        assert_int_equal(last[CLASSES_UNIMPORTANT].dropped, own ? 0 : 2 * EACH);
        assert_int_equal(last[CLASSES_UNIMPORTANT].packets, 2 * EACH);
        assert_int_equal(last[CLASSES_IMPORTANT].marked, own ? 0 : EACH);
        assert_int_equal(last[CLASSES_IMPORTANT].dropped, 0);
        assert_int_equal(last[CLASSES_OTHER].marked, own ? 0 : EACH);
        unsort_port(netlink, port);
    }
}

// Into a port that sends a packet in a quarter of an hour: unimportant DATA waits while fewer than
// K do, and not from the K-th on.
static void the_threshold_is_exact(void **state)
{
    (void)state;
    struct packet packet = {0, 0, WEFT_MLT_DATA, true, 0};
    struct packet came[4];
    struct weft_qdisc_counters queues[QUEUES + 1];
    struct weft_error error;
    uint32_t id = sort_port(&middle, OUT_PORT, 1, 1 << 20);
    static struct classes_count counts[CLASSES_ROWS];
    uint64_t waiting = 0;
    for (unsigned i = 0; i < THRESHOLD + 10; i++) {
        packet.important = waiting < THRESHOLD - 1;
        send_packets(&packet, 1);
        const struct classes_count *front = &counts[CLASSES_COUNT];
        for (int tries = 0; tries < 1000; tries++) { // until it is there
            read_counts(counts, id);
            if (front[CLASSES_IMPORTANT].packets + front[CLASSES_UNIMPORTANT].packets > i) {
                break;
            }
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        must(weft_qdisc_queue_counters(queues, &middle, OUT_PORT, QUEUES + 1, &error), &error);
        bool waits = waiting < THRESHOLD;
        assert_true(i < 3 || queues[1].backlog_packets == waiting + (waits ? 1 : 0));
        waiting = queues[1].backlog_packets;
    }
    assert_int_equal(waiting, THRESHOLD);
    read_counts(counts, id);
    assert_in_range(counts[CLASSES_COUNT + CLASSES_UNIMPORTANT].packets, 8, 12);
    assert_int_equal(counts[CLASSES_COUNT + CLASSES_UNIMPORTANT].dropped,
                     counts[CLASSES_COUNT + CLASSES_UNIMPORTANT].packets - 1);
    unsort_port(&middle, OUT_PORT);
    assert_in_range(receive_packets(came, 4, 50), 1, 3); // what the shaper's burst let go
}

// ---- an overload, steadily ----

static void *receive_all(void *context)
{
    unsigned *lost_by_class = context;
    static struct packet came[8192];
    unsigned count = receive_packets(came, 8192, 1000);
    for (unsigned i = 0; i < count; i++) {
        lost_by_class[came[i].important]--;
    }
    return NULL;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Sends at a constant rate, of which the share `unimportant` may be lost, into a port that carries
// less; which share of each class is lost is in `lost`, [0] of unimportant, [1] of important ones,
// and the overload, the share of all for which there is no room, is returned. A sender that comes
// late makes up for at most 30 packets.
static double overload(double lost[2], double excess, double unimportant, uint32_t limit_packets)
{
    enum { COUNT = 3000 };
    const double port_s = 1e-3; // a packet's time at the port
    unsigned sent[2] = {0};
    unsigned missing[2] = {0};
    uint64_t state = 0x5eed;
    pthread_t thread;
    uint32_t id = sort_port(&middle, OUT_PORT, FRAME_BYTES / port_s, limit_packets * FRAME_BYTES);
    double gap_s = port_s * (1 - excess);
    static struct packet packets[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        state = weft_hash(state);
        bool important = ldexp((double)(state >> 11), -53) >= unimportant;
        packets[i] = (struct packet){i, 0, WEFT_MLT_DATA, important, important ? 2 : 0};
        missing[important]++;
    }
    memcpy(sent, missing, sizeof sent);
    assert_int_equal(pthread_create(&thread, NULL, receive_all, missing), 0);
    double next_s = now_s();
    for (unsigned i = 0; i < COUNT; i++, next_s += gap_s) {
        while (now_s() < next_s) {
            struct timespec pause = {.tv_nsec = 100000};
            nanosleep(&pause, NULL);
        }
        send_packets(&packets[i], 1);
        next_s = next_s < now_s() - 30 * gap_s ? now_s() - 30 * gap_s : next_s;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    static struct classes_count counts[CLASSES_ROWS];
    read_counts(counts, id);
    const struct classes_count *front = &counts[CLASSES_COUNT];
    assert_int_equal(front[CLASSES_UNIMPORTANT].packets, sent[0]);
    assert_int_equal(front[CLASSES_UNIMPORTANT].dropped, missing[0]);
    assert_int_equal(front[CLASSES_IMPORTANT].dropped, 0); // but by a full FIFO
    lost[0] = (double)missing[0] / sent[0];
    lost[1] = (double)missing[1] / sent[1];
    unsort_port(&middle, OUT_PORT);
    return (double)(missing[0] + missing[1]) / COUNT;
}

// RED with one threshold and two classes (docs/mlt.md): a share u of unimportant packets covers an
// overload o < u, and not one important packet is lost; beyond that (o - u) / (1 - u) of them are.
static void unimportant_packets_cover_an_overload(void **state)
{
    (void)state;
    double lost[2];
    double o = overload(lost, 1.0 / 3, 0.5, 200);
    printf("u 0.5: overload %.3f, lost %.3f of unimportant, %.4f of important\n", o, lost[0],
           lost[1]);
    assert_true(lost[1] == 0);
    assert_true(fabs(o - 1.0 / 3) < 0.05);
    assert_true(fabs(lost[0] - o / 0.5) < 0.05);
    o = overload(lost, 0.5, 0.2, 60);
    double expected = (o - 0.2) / (1 - 0.2);
    printf("u 0.2: overload %.3f, lost %.3f of unimportant, %.3f of important, not %.3f\n", o,
           lost[0], lost[1], expected);
    assert_true(fabs(o - 0.5) < 0.05);
    assert_true(lost[0] > 0.9);
    assert_true(fabs(lost[1] - expected) < 0.03);
}

int main(void)
{
    need_namespaces();
    struct weft_classifier classifier;
    struct weft_error error = {0};
    if (!weft_classifier_load(&classifier, &settings, &error)) {
        printf("SKIP: %s\n", error.message);
        return 77;
    }
    weft_classifier_close(&classifier);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_say_queue_and_class),
        cmocka_unit_test(any_frame_is_sorted_by_its_head),
        cmocka_unit_test(urgent_queues_go_first),
        cmocka_unit_test(long_queues_drop_and_mark),
        cmocka_unit_test(the_threshold_is_exact),
        cmocka_unit_test(unimportant_packets_cover_an_overload),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
