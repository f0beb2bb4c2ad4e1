// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_MLTCP_PRIVATE_H
#define WEFT_BPF_MLTCP_PRIVATE_H

// What the files of the loader share.
//
//   load ──► register, cgroup ──► pins
//     └────► status ──────────────┘

#include "bpf/object.h"
#include "cc.h"

enum { CC_PATH_BYTES = 128 };

// What is pinned of one congestion control, as names in its folder.
#define CC_PIN_MAP "map"
#define CC_PIN_LINK "link"
#define CC_PIN_PARAMETERS "parameters"
#define CC_PIN_CONNECTIONS "connections"
#define CC_PIN_JOBS "jobs"
#define CC_PIN_REGISTRY "registry"
#define CC_PIN_CGROUP "cgroup"

// "/run/weft/bpf/cc/NAME/PIN"; pin NULL: the folder.
const char *cc_path(char path[CC_PATH_BYTES], const char *name, const char *pin);
// The file descriptor of a pin, -1 if there is none.
int cc_open_pin(const char *name, const char *pin);
// Reads /proc or /sys: the first line into `text`; false if there is none.
bool cc_read_line(char *text, size_t bytes, const char *path);
bool cc_write_line(const char *path, const char *text);

// ---- pins.c ----

// Gives what `fd` refers to the name `as` in the folder of `name`. Fails with IO.
bool cc_pin(int fd, const char *name, const char *as, struct weft_error *error) WEFT_MUST_USE;
// One run at a time changes what is there: the lock, or -1 with an error. A load takes 0.2 s;
// whoever holds the lock for CC_LOCK_MS hangs.
enum { CC_LOCK_MS = 10000 };
int cc_lock(uint32_t within_ms, struct weft_error *error) WEFT_MUST_USE;
void cc_unlock(int lock);
// A folder that is there already is no failure.
bool cc_make_folder(const char *path, struct weft_error *error) WEFT_MUST_USE;
// Mounts the BPF file system unless it is. Fails with UNSUPPORTED where that is not permitted.
bool cc_mount(struct weft_error *error) WEFT_MUST_USE;
// Removes all pins of `name`, its folder, and the file system if nothing is left in it; whether
// there was anything.
bool cc_remove_pins(const char *name);

// ---- cgroup.c ----

// Attaches the program that gives sockets of a cgroup this congestion control, and pins it.
bool cc_attach_cgroup(const char *name, const char *cgroup, struct weft_error *error) WEFT_MUST_USE;

// ---- status.c ----

// How many elements a map has.
uint32_t cc_count(int map, size_t key_bytes);

#define CC_DEFAULT "/proc/sys/net/ipv4/tcp_congestion_control"
#define CC_AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"

#endif
