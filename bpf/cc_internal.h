// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CC_INTERNAL_H
#define WEFT_BPF_CC_INTERNAL_H

// What the parts of the loader share.

#include "cc.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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
// Loads an object of `bytes` bytes; what libbpf says goes nowhere.
struct bpf_object *cc_open_object(const void *image, size_t bytes, struct weft_error *error)
    WEFT_MUST_USE;
// The file descriptor of a pin, -1 if there is none.
int cc_open_pin(const char *name, const char *pin);
// Reads /proc or /sys: the first line into `text`; false if there is none.
bool cc_read_line(char *text, size_t bytes, const char *path);
bool cc_write_line(const char *path, const char *text);
uint64_t cc_netns(void);
// Attaches the program that gives sockets of a cgroup this congestion control, and pins it.
bool cc_choose(const char *name, const char *cgroup, struct weft_error *error) WEFT_MUST_USE;
// Removes all pins of `name`, its folder, and the file system if nothing is left in it.
void cc_remove_pins(const char *name);
// Takes the registration away; false when the kernel would not.
bool cc_unregister(const char *name);
uint32_t cc_count(int map, size_t key_bytes);
bool cc_gather(struct weft_cc_connection **list, uint32_t *count, int connections, int jobs,
               struct weft_arena *arena);

#define CC_DEFAULT "/proc/sys/net/ipv4/tcp_congestion_control"
#define CC_AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"

#endif
