// SPDX-License-Identifier: Apache-2.0
// Both sides of the handshake, as machines that never block, and the keys that they prove.

#include "handshake.h"
#include "runtime/clock.h"
#include "runtime/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAGIC 0x57454655u
enum { SECRET_MIN = 16, SECRET_MAX = 4096 };
// An honest guest answers within a round trip and its turn on a busy processor.
static const uint64_t guest_ns = 2000000000;
// In a crowd: what a round trip in a datacenter takes many times over.
static const uint64_t crowded_ns = 50000000;
// Without descriptors for newcomers.
static const uint64_t breath_ns = 10000000;

// ---- keys ----

bool lab_key_load(struct lab_key *key, const char *path, struct weft_arena scratch,
                  struct weft_error *error)
{
    static const uint8_t purpose[] = "weft-run secret 1";
    const char *secret;
    size_t length;
    if (!weft_secret_load(&secret, &length, path, SECRET_MAX, &scratch, error)) {
        return weft_remedy(error, "secret", "%s", "");
    }
    if (length < SECRET_MIN) {
        weft_fail(error, WEFT_INPUT, "%s: a secret has %d to %d bytes", path, SECRET_MIN,
                  SECRET_MAX);
        return weft_remedy(error, "secret", "%s", "");
    }
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, length, (const uint8_t *)secret);
    hmac_sha256_update(&context, sizeof purpose, purpose);
    hmac_sha256_digest(&context, sizeof key->bytes, key->bytes);
    return true;
}

struct lab_key lab_key_derive(const struct lab_key *key, const uint8_t nonce[LAB_KEY_BYTES])
{
    static const uint8_t purpose[] = "weft-run streams 1";
    struct lab_key derived;
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, sizeof key->bytes, key->bytes);
    hmac_sha256_update(&context, sizeof purpose, purpose);
    hmac_sha256_update(&context, LAB_KEY_BYTES, nonce);
    hmac_sha256_digest(&context, sizeof derived.bytes, derived.bytes);
    return derived;
}

bool lab_nonce(uint8_t nonce[LAB_KEY_BYTES], struct weft_error *error)
{
    return getrandom(nonce, LAB_KEY_BYTES, 0) == (ssize_t)LAB_KEY_BYTES ||
           weft_fail(error, WEFT_IO, "getrandom: %s", strerrordesc_np(errno));
}

// What a claim or, with the welcome's nonce, a welcome proves.
static void prove(uint8_t proof[LAB_KEY_BYTES], const struct lab_key *key,
                  const struct lab_challenge *challenge, const struct lab_claim *claim,
                  const uint8_t *welcome_nonce)
{
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, sizeof key->bytes, key->bytes);
    hmac_sha256_update(&context, 5, (const uint8_t *)(welcome_nonce == NULL ? "guest" : "host "));
    hmac_sha256_update(&context, sizeof challenge->nonce, challenge->nonce);
    hmac_sha256_update(&context, offsetof(struct lab_claim, proof), (const uint8_t *)claim);
    if (welcome_nonce != NULL) {
        hmac_sha256_update(&context, LAB_KEY_BYTES, welcome_nonce);
    }
    hmac_sha256_digest(&context, LAB_KEY_BYTES, proof);
}

// Whether whoever is at the other end may speak at all: on a socket of the file system the kernel
// tells whose process it is, and it must be the user's own.
static bool is_own_user(int socket)
{
    int family = AF_UNSPEC;
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t length = sizeof family;
    socklen_t who_length = sizeof who;
    getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length);
    return family != AF_UNIX ||
           (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &who_length) == 0 &&
            who.uid == geteuid());
}

// ---- the host's side ----

bool lab_gate_open(struct lab_gate *gate, int listener, const struct lab_key *key,
                   struct weft_error *error)
{
    *gate = (struct lab_gate){.listener = listener, .key = key};
    // Guests take descriptors: not those that the streams of this process need.
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    gate->guests = calloc(LAB_GUESTS_MAX, sizeof *gate->guests);
    if (gate->guests == NULL) {
        close(listener);
        gate->listener = -1;
        return weft_fail(error, WEFT_UNSUPPORTED, "out of memory");
    }
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
    return true;
}

void lab_gate_close(struct lab_gate *gate)
{
    for (uint32_t i = 0; i < gate->guest_count; i++) {
        close(gate->guests[i].socket);
    }
    free(gate->guests);
    if (gate->listener >= 0) {
        close(gate->listener);
    }
    *gate = (struct lab_gate){.listener = -1};
}

uint32_t lab_gate_waits(const struct lab_gate *gate, struct pollfd *waits)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gate->guest_count; i++) {
        waits[count++] = (struct pollfd){.fd = gate->guests[i].socket, .events = POLLIN};
    }
    if (lab_now_ns() >= gate->closed_until_ns) {
        waits[count++] = (struct pollfd){.fd = gate->listener, .events = POLLIN};
    }
    return count;
}

int lab_gate_patience_ms(const struct lab_gate *gate, int most_ms)
{
    int own_ms = gate->closed_until_ns > lab_now_ns() ? 5 : 100;
    bool busy = gate->guest_count > 0 || gate->closed_until_ns > lab_now_ns();
    return busy && own_ms < most_ms ? own_ms : most_ms;
}

static void drop_guest(struct lab_gate *gate, uint32_t index)
{
    close(gate->guests[index].socket);
    gate->guests[index] = gate->guests[--gate->guest_count];
}

// The guest that makes room for one from `ip`; WEFT_NONE: none has stayed long enough.
static uint32_t who_leaves(const struct lab_gate *gate, uint32_t ip)
{
    uint32_t own = WEFT_NONE;
    uint32_t oldest = WEFT_NONE;
    uint32_t own_count = 0;
    for (uint32_t i = 0; i < gate->guest_count; i++) {
        const struct lab_guest *guest = &gate->guests[i];
        if (oldest == WEFT_NONE || guest->since_ns < gate->guests[oldest].since_ns) {
            oldest = i;
        }
        if (guest->ip == ip) {
            own_count++;
            if (own == WEFT_NONE || guest->since_ns < gate->guests[own].since_ns) {
                own = i;
            }
        }
    }
    uint32_t who = own_count >= LAB_GUESTS_MAX / 2 ? own : oldest;
    return lab_now_ns() - gate->guests[who].since_ns >= crowded_ns ? who : WEFT_NONE;
}

// Takes a newcomer in and sends the challenge, which always fits into an empty socket.
static void take_in(struct lab_gate *gate, int socket, const struct sockaddr_storage *address)
{
    struct lab_guest guest = {.socket = socket, .since_ns = lab_now_ns()};
    struct weft_error ignored;
    if (address->ss_family == AF_INET) {
        guest.ip = ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr);
    }
    uint32_t leaves = gate->guest_count < LAB_GUESTS_MAX ? WEFT_NONE : who_leaves(gate, guest.ip);
    if (gate->guest_count == LAB_GUESTS_MAX) {
        if (leaves == WEFT_NONE) {
            close(socket);
            return;
        }
        drop_guest(gate, leaves);
    }
    if (!is_own_user(socket) || !lab_nonce(guest.challenge.nonce, &ignored) ||
        send(socket, &guest.challenge, sizeof guest.challenge, MSG_NOSIGNAL) !=
            (ssize_t)sizeof guest.challenge) {
        close(socket);
        return;
    }
    gate->guests[gate->guest_count++] = guest;
}

static void take_newcomers(struct lab_gate *gate)
{
    for (;;) {
        struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
        socklen_t length = sizeof address;
        bool full = gate->guest_count == LAB_GUESTS_MAX;
        if (full && who_leaves(gate, 0) == WEFT_NONE) {
            gate->closed_until_ns = lab_now_ns() + breath_ns; // they wait in the backlog
            return;
        }
        int guest = accept4(gate->listener, (struct sockaddr *)&address, &length,
                            SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (guest < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            gate->closed_until_ns = lab_now_ns() + breath_ns;
        }
        if (guest < 0) {
            return;
        }
        take_in(gate, guest, &address);
    }
}

enum reading { READING_MORE, READING_DONE, READING_OVER };

// Reads up to `length` bytes in all, as they come.
static enum reading read_part(int socket, void *data, uint32_t *filled, size_t length)
{
    while (*filled < length) {
        ssize_t got = recv(socket, (char *)data + *filled, length - *filled, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return READING_MORE;
        }
        if (got <= 0) {
            return READING_OVER;
        }
        *filled += (uint32_t)got;
    }
    return READING_DONE;
}

static bool is_proved(const struct lab_gate *gate, const struct lab_guest *guest)
{
    uint8_t proof[LAB_KEY_BYTES];
    prove(proof, gate->key, &guest->challenge, &guest->claim, NULL);
    return guest->claim.magic == MAGIC && memeql_sec(proof, guest->claim.proof, sizeof proof) != 0;
}

bool lab_gate_look(struct lab_gate *gate, struct lab_guest *proved)
{
    if (lab_now_ns() >= gate->closed_until_ns) {
        take_newcomers(gate);
    }
    // From the last on, because each that goes gives its place to the last one.
    for (uint32_t i = gate->guest_count; i-- > 0;) {
        struct lab_guest *guest = &gate->guests[i];
        enum reading reading =
            read_part(guest->socket, &guest->claim, &guest->filled, sizeof guest->claim);
        if (reading == READING_DONE && is_proved(gate, guest)) {
            *proved = *guest;
            gate->guests[i] = gate->guests[--gate->guest_count];
            return true;
        }
        if (reading != READING_MORE || lab_now_ns() - guest->since_ns > guest_ns) {
            drop_guest(gate, i);
        }
    }
    return false;
}

bool lab_gate_admit(const struct lab_gate *gate, const struct lab_guest *guest,
                    const uint8_t nonce[LAB_KEY_BYTES])
{
    struct lab_welcome welcome;
    memcpy(welcome.nonce, nonce, sizeof welcome.nonce);
    prove(welcome.proof, gate->key, &guest->challenge, &guest->claim, nonce);
    bool sent =
        send(guest->socket, &welcome, sizeof welcome, MSG_NOSIGNAL) == (ssize_t)sizeof welcome;
    if (!sent) {
        close(guest->socket);
    }
    return sent;
}

void lab_gate_refuse(const struct lab_guest *guest)
{
    close(guest->socket);
}

// ---- the guest's side ----

enum lab_knock_state lab_knock_begin(struct lab_knock *knock, int socket,
                                     const struct sockaddr *address, socklen_t length,
                                     const struct lab_wish *wish)
{
    *knock = (struct lab_knock){.socket = socket, .events = POLLOUT};
    knock->claim.magic = MAGIC;
    knock->claim.wish = *wish;
    if (connect(socket, address, length) != 0 && errno != EINPROGRESS) {
        knock->why = errno;
        return LAB_KNOCK_FAILED;
    }
    return LAB_KNOCK_WAITS;
}

// The connection stands, or has failed.
static enum lab_knock_state end_connecting(struct lab_knock *knock)
{
    socklen_t length = sizeof knock->why;
    getsockopt(knock->socket, SOL_SOCKET, SO_ERROR, &knock->why, &length);
    knock->events = POLLIN;
    if (knock->why != 0) {
        return LAB_KNOCK_FAILED;
    }
    return is_own_user(knock->socket) ? LAB_KNOCK_WAITS : LAB_KNOCK_FOREIGN;
}

// Answers the challenge by the claim, which always fits into an empty socket.
static enum lab_knock_state claim(struct lab_knock *knock, const struct lab_key *key)
{
    struct weft_error ignored;
    if (!lab_nonce(knock->claim.nonce, &ignored)) {
        return LAB_KNOCK_CLOSED;
    }
    prove(knock->claim.proof, key, &knock->challenge, &knock->claim, NULL);
    knock->claimed = true;
    knock->filled = 0;
    return send(knock->socket, &knock->claim, sizeof knock->claim, MSG_NOSIGNAL) ==
                   (ssize_t)sizeof knock->claim
               ? LAB_KNOCK_WAITS
               : LAB_KNOCK_CLOSED;
}

enum lab_knock_state lab_knock_look(struct lab_knock *knock, const struct lab_key *key)
{
    if (knock->events == POLLOUT) {
        return end_connecting(knock);
    }
    void *data = knock->claimed ? (void *)&knock->welcome : &knock->challenge;
    size_t length = knock->claimed ? sizeof knock->welcome : sizeof knock->challenge;
    enum reading reading = read_part(knock->socket, data, &knock->filled, length);
    if (reading == READING_OVER) {
        return LAB_KNOCK_CLOSED;
    }
    if (reading == READING_MORE) {
        return LAB_KNOCK_WAITS;
    }
    if (!knock->claimed) {
        return claim(knock, key);
    }
    uint8_t proof[LAB_KEY_BYTES];
    prove(proof, key, &knock->challenge, &knock->claim, knock->welcome.nonce);
    return memeql_sec(proof, knock->welcome.proof, sizeof proof) != 0 ? LAB_KNOCK_STANDS
                                                                      : LAB_KNOCK_FOREIGN;
}
