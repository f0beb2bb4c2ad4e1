// SPDX-License-Identifier: Apache-2.0
// Opening the kernel programs that are compiled into this program.
//
// `embed` writes each compiled object into the program as bytes, so that an installed weft needs no
// files beside it. libbpf parses them from memory.

#include "object.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

struct bpf_object *weft_bpf_open(const void *image, size_t bytes, struct weft_error *error)
{
    libbpf_set_print(say_nothing);
    // LIBBPF_OPTS is an expression that only GNU C has.
    const struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "weft"};
    struct bpf_object *object = bpf_object__open_mem(image, bytes, &options);
    if (object == NULL) {
        weft_fail(error, WEFT_IO, "libbpf cannot read Weft's kernel program: %s", strerror(errno));
    }
    return object;
}

uint32_t weft_bpf_map_id(int map)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof info;
    return map >= 0 && bpf_obj_get_info_by_fd(map, &info, &size) == 0 ? info.id : 0;
}
