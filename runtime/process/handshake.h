// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_HANDSHAKE_H
#define WEFT_RUNTIME_PROCESS_HANDSHAKE_H

// How two processes of a run prove to each other that they know its key, before either is given
// anything: a seat at the coordinator, or a stream between peers.
//
//   guest ──connect──► host      host: challenge (a nonce)
//                                guest: claim (what it asks for, a nonce, its proof)
//                                host: welcome (a nonce, its proof)
//
// A proof is HMAC-SHA256 (RFC 2104) under the key of both nonces and all that was said, so that it
// serves for one connection alone and neither end's can be sent back as the other's. The key itself
// never travels. What follows the handshake is neither encrypted nor signed: whoever can change
// packets between two members can change the run.
//
// A host spends on strangers no more than a bounded table, and time that ends: see lab_gate.

#include "weft/base.h"

#include <poll.h>
#include <sys/socket.h>

#define LAB_KEY_BYTES 32u

struct lab_key {
    uint8_t bytes[LAB_KEY_BYTES];
};

// Makes a key of a secret that the members of a run share: a file of 16 to 4,096 bytes, read as
// weft_secret_load does. Fails with INPUT or IO.
bool lab_key_load(struct lab_key *key, const char *path, struct weft_arena scratch,
                  struct weft_error *error) WEFT_MUST_USE;
// Another key, for another purpose, out of a key and a nonce that need not be secret.
struct lab_key lab_key_derive(const struct lab_key *key, const uint8_t nonce[LAB_KEY_BYTES]);
// Random bytes from the system. Fails with IO.
bool lab_nonce(uint8_t nonce[LAB_KEY_BYTES], struct weft_error *error) WEFT_MUST_USE;

// What a guest asks for.
struct lab_wish {
    uint32_t kind;  // enum lab_wish_kind
    uint32_t id;    // the rank, or the stream
    uint32_t count; // of members, or of streams: both ends must mean one run
};
enum lab_wish_kind { LAB_WISH_SEAT = 1, LAB_WISH_STREAM };

struct lab_challenge {
    uint8_t nonce[LAB_KEY_BYTES];
};
struct lab_claim {
    uint32_t magic;
    struct lab_wish wish;
    uint8_t nonce[LAB_KEY_BYTES];
    uint8_t proof[LAB_KEY_BYTES];
};
struct lab_welcome {
    uint8_t nonce[LAB_KEY_BYTES]; // of the host's choice; lab_key_derive makes the run's key of it
    uint8_t proof[LAB_KEY_BYTES];
};

// ---- the host's side ----

// A guest that has not proved anything yet.
struct lab_guest {
    int socket;
    uint32_t ip; // where it comes from; 0 = this machine, by a socket of its file system
    uint64_t since_ns;
    uint32_t filled; // bytes of its claim
    struct lab_challenge challenge;
    struct lab_claim claim;
};

// Whoever connects is a guest until it has proved itself, lab_guest_ms at most. There are at most
// LAB_GUESTS_MAX. When all places are taken, the oldest makes room once it is older than
// lab_crowded_ms: the oldest of the newcomer's own address where that has half of all places. An
// honest guest that lost its place to a crowd calls again.
#define LAB_GUESTS_MAX 256u

struct lab_gate {
    int listener; // non-blocking; the gate's
    const struct lab_key *key;
    uint32_t guest_count;
    struct lab_guest *guests;
    uint64_t closed_until_ns; // no newcomers till then
};

// Takes the listener over. Fails with UNSUPPORTED where memory is out; the listener is closed then.
bool lab_gate_open(struct lab_gate *gate, int listener, const struct lab_key *key,
                   struct weft_error *error) WEFT_MUST_USE;
void lab_gate_close(struct lab_gate *gate);
// What to poll for: at most 1 + LAB_GUESTS_MAX, and no longer than the milliseconds returned.
uint32_t lab_gate_waits(const struct lab_gate *gate, struct pollfd *waits);
int lab_gate_patience_ms(const struct lab_gate *gate, int most_ms);
// Takes newcomers in, reads, and sends away who is late or wrong. True: a guest has proved itself
// and asks for `wish`; the caller admits it or refuses, and looks again. O(guests).
bool lab_gate_look(struct lab_gate *gate, struct lab_guest *proved);
// Welcomes a guest that proved itself; false: it went meanwhile, and its socket is closed.
bool lab_gate_admit(const struct lab_gate *gate, const struct lab_guest *guest,
                    const uint8_t nonce[LAB_KEY_BYTES]) WEFT_MUST_USE;
void lab_gate_refuse(const struct lab_guest *guest);

// ---- the guest's side ----

enum lab_knock_state {
    LAB_KNOCK_WAITS,  // poll `socket` for `events`, then look again
    LAB_KNOCK_STANDS, // both sides have proved themselves
    LAB_KNOCK_FAILED, // no connection: `why` is an errno
    LAB_KNOCK_CLOSED, // the host closed it: it is crowded, or does not know the key. Call again.
    LAB_KNOCK_FOREIGN // who answers does not know the key
};

struct lab_knock {
    int socket;
    short events;
    int why;
    uint32_t filled; // bytes of the challenge, then of the welcome
    bool claimed;
    struct lab_challenge challenge;
    struct lab_claim claim;
    struct lab_welcome welcome;
};

// Begins a connection on `socket`, which is non-blocking and the caller's.
enum lab_knock_state lab_knock_begin(struct lab_knock *knock, int socket,
                                     const struct sockaddr *address, socklen_t length,
                                     const struct lab_wish *wish);
enum lab_knock_state lab_knock_look(struct lab_knock *knock, const struct lab_key *key);

#endif
