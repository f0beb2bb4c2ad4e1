// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_LINKS_H
#define WEFT_RUNTIME_HEAL_LINKS_H

// TCP connections between hosts of a job that heals, and the frames on them as they come and go.
//
// A connection is between the ports of two hosts on one switch. It begins with a hello that knows
// the run's token; which edge it is, and from when on, the hellos after it say. Whoever says
// anything else first is refused and counted. Those that have said nothing yet are LAB_HEAL_GUESTS
// at most: where one more comes the first of them leaves, and an honest one calls again. A frame's
// body is read when its reader asks for it, so that what comes too early waits in the socket.

#include "host.h"

enum { LAB_HEAL_GUESTS = 64 };

struct lab_heal_link {
    int fd;        // -1: none
    uint32_t came; // how many had come before it
    uint32_t host; // at the other end; WEFT_NONE: it has not said hello yet
    uint32_t plane;
    bool connecting;
    bool gone;            // the other end closed it
    uint32_t hello_epoch; // that the other end said last, and for which side of ours
    uint32_t hello_side;
    // What comes: a head, then its bytes.
    struct lab_heal_frame head;
    uint32_t head_filled;
    uint32_t body_filled;
    char *body;
    uint32_t body_room;
    // What goes.
    char *out;
    uint32_t out_room, out_bytes, out_sent;
};

struct lab_heal_links {
    const struct lab_heal_job *job;
    uint32_t host; // own
    int listener;
    uint32_t chunk_bytes, state_bytes;
    uint32_t came_count; // connections so far
    uint32_t refused;    // strangers, since somebody took this number
    uint32_t count;
    struct lab_heal_link *list;
};

bool lab_heal_links_open(struct lab_heal_links *links, const struct lab_heal_job *job,
                         uint32_t host, struct weft_error *error) WEFT_MUST_USE;
// A new connection from the own port to that of another host. Returns its index; WEFT_NONE with
// errno where there is none.
uint32_t lab_heal_connect(struct lab_heal_links *links, uint32_t host, uint32_t plane);
// Takes in whoever connected.
void lab_heal_accept(struct lab_heal_links *links);
void lab_heal_link_close(struct lab_heal_link *link);
// The open connection to a host over a switch that came last; WEFT_NONE: none.
uint32_t lab_heal_link_to(const struct lab_heal_links *links, uint32_t host, uint32_t plane);

// Reads until a head is whole; false: not yet, or the link is gone. Fails never: who sends what is
// no frame is gone.
bool lab_heal_read_head(struct lab_heal_links *links, struct lab_heal_link *link);
// Reads the bytes of the head that is whole; false: not yet, or the link is gone. Then the frame is
// over, and the next head may be read.
bool lab_heal_read_body(struct lab_heal_link *link);
// Whether a frame may be written: the last one has gone.
static inline bool lab_heal_can_write(const struct lab_heal_link *link)
{
    return link->fd >= 0 && !link->gone && !link->connecting && link->out_sent == link->out_bytes;
}
// Puts a frame of so many bytes behind its head on its way; lab_heal_flush sends what is left.
void lab_heal_write(struct lab_heal_link *link, const struct lab_heal_frame *frame,
                    const void *data);
void lab_heal_flush(struct lab_heal_link *link);
void lab_heal_hello(struct lab_heal_links *links, struct lab_heal_link *link, uint32_t epoch,
                    uint32_t far_side);

#endif
