// SPDX-License-Identifier: Apache-2.0
// The driver of a SONiC optical circuit switch by files: CONFIG_DB as config_db.json, which it
// edits, and STATE_DB as state_db.json (what `sonic-db-dump -n STATE_DB` writes), which it reads.
//
// Where there is no state_db.json, what is read back is the configuration alone: the driver's name
// says so. Carrying the files to the switch, and its state back, is not Weft's. SONiC has no update
// of several entries as one; each batch is one file that is written whole. O(entries) a read.

#include "sonic.h"

#include "weft/format/file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define ARENA_BYTES (16 * FILE_BYTES_MAX)
// Daemons of SONiC poll a switch once a second (OCS_CROSS_CONNECT_COUNTER of its orchestration).
#define SETTLE_MS 2500u

struct sonic_switch {
    const char *config_path;
    const char *state_path; // NULL = there is none
    uint32_t port_count;
    struct weft_arena arena; // each operation begins anew in it
};

static bool load(struct weft_yang_text *text, const char *path, struct weft_arena *arena,
                 struct weft_error *error)
{
    return weft_file_load(&text->data, &text->bytes, path, FILE_BYTES_MAX, arena, error);
}

static bool sonic_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct sonic_switch *self = device;
    struct weft_arena arena = self->arena;
    struct weft_yang_text text;
    const char *path = self->state_path != NULL ? self->state_path : self->config_path;
    bool (*read)(uint32_t * outputs, uint32_t count, const struct weft_yang_text *text,
                 struct weft_error *error) =
        self->state_path != NULL ? weft_sonic_read_state : weft_sonic_read_config;
    return load(&text, path, &arena, error) &&
           (read(outputs, self->port_count, &text, error) || weft_wrap(error, "%.200s", path));
}

static bool edit(struct sonic_switch *self, const struct weft_yang_edit *wanted,
                 struct weft_error *error)
{
    struct weft_arena arena = self->arena;
    struct weft_yang_text text;
    const char *edited = NULL;
    return load(&text, self->config_path, &arena, error) &&
           (weft_sonic_edit(&edited, self->port_count, &text, wanted, &arena, error) ||
            weft_wrap(error, "%.200s", self->config_path)) &&
           weft_file_save(self->config_path, edited, strlen(edited), error);
}

static bool sonic_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                         struct weft_error *error)
{
    return edit(device, &(struct weft_yang_edit){circuits, count, false}, error);
}

static bool sonic_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                       struct weft_error *error)
{
    return edit(device, &(struct weft_yang_edit){circuits, count, true}, error);
}

static bool sonic_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    (void)error;
    const struct sonic_switch *self = device;
    memset(ports, 0, self->port_count * sizeof *ports);
    return true;
}

static void sonic_close(void *device)
{
    struct sonic_switch *self = device;
    weft_arena_release(&self->arena);
}

bool weft_ocs_open_sonic(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                         struct weft_arena *arena, struct weft_error *error)
{
    struct sonic_switch *self = WEFT_NEW(arena, struct sonic_switch, 1);
    struct weft_ocs_driver *driver = WEFT_NEW(arena, struct weft_ocs_driver, 1);
    struct weft_yang_text text;
    const char *folder = access->address + strlen("sonic://");
    const char *state_path = weft_arena_format(arena, "%s/state_db.json", folder);
    self->config_path = weft_arena_format(arena, "%s/config_db.json", folder);
    self->state_path = faccessat(AT_FDCWD, state_path, F_OK, 0) == 0 ? state_path : NULL;
    if (!weft_arena_init(&self->arena, ARENA_BYTES, error)) {
        return false;
    }
    struct weft_arena scratch = self->arena;
    if (!load(&text, self->config_path, &scratch, error) ||
        !(weft_sonic_read_ports(&self->port_count, &text, error) ||
          weft_wrap(error, "%.200s", self->config_path))) {
        weft_arena_release(&self->arena);
        return false;
    }
    *driver = (struct weft_ocs_driver){
        .name = self->state_path != NULL ? "SONiC" : "SONiC (no state_db.json)",
        .settle_ms = self->state_path != NULL ? SETTLE_MS : 0,
        .remove = sonic_remove,
        .make = sonic_make,
        .read = sonic_read,
        .statistics = sonic_statistics,
        .close = sonic_close,
    };
    *ocs = (struct weft_ocs){
        .driver = driver, .device = self, .port_count = self->port_count, .address = folder};
    return true;
}
