// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_RENDEZVOUS_H
#define WEFT_RUNTIME_PROCESS_RENDEZVOUS_H

// Where the members of a run meet that were not forked by its coordinator, and by what they know
// each other.
//
// Across machines that is an address that the user gives, and a secret. On one machine it is a
// socket in a folder where nobody but the user can make files; the kernel tells each side whose
// process the other is, so that no port is open and no secret needed.

#include "handshake.h"

struct lab_rendezvous {
    struct sockaddr_storage address; // AF_INET, or AF_UNIX for processes of one user
    socklen_t length;
    struct lab_key key; // of AF_UNIX: zeros
};

// An address, "A.B.C.D:PORT", and the file of its secret (lab_key_load). Fails with INPUT or IO.
bool lab_rendezvous_at(struct lab_rendezvous *rendezvous, const char *place, const char *secret,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// A place on this machine for one user's job: all who give the same `job` meet. It is in
// XDG_RUNTIME_DIR, else in HOME. Fails with UNSUPPORTED where others could write there too.
bool lab_rendezvous_here(struct lab_rendezvous *rendezvous, uint64_t job, struct weft_error *error)
    WEFT_MUST_USE;
// Listens there, and sweeps away what killed runs left in the folder. Fails with IO: -1.
int lab_rendezvous_listen(const struct lab_rendezvous *rendezvous, struct weft_error *error);
// Takes the place away when all have come, or none is to come any more.
void lab_rendezvous_leave(const struct lab_rendezvous *rendezvous);

#endif
