// SPDX-License-Identifier: Apache-2.0
// Photonic racks in YAML (docs/photonic-rack.md): servers, their chips, fibers between them.
// One table of keys (yaml_keys.c). O(bytes + keys^2 + links).

#include "weft/format/file.h"
#include "weft/format/rack.h"
#include "yaml_keys.h"

#include <string.h>

#define LINKS_MAX 2016u // pairs of WEFT_RACK_SERVERS_MAX servers
#define RATE_BPS 50e9   // of a wavelength

// "2x2x4", or a single number as "16x1x1"; `count` says how many numbers there were.
static bool read_sides(uint32_t sides[3], uint32_t *count, const char *text,
                       const struct weft_yaml_node *mapping, const char *key,
                       const struct weft_yaml_source *source)
{
    const char *at = text;
    sides[0] = sides[1] = sides[2] = 1;
    for (*count = 0; *count < 3 && at != NULL; (*count)++) {
        const char *x = strchr(at, 'x');
        size_t length = x == NULL ? strlen(at) : (size_t)(x - at);
        uint64_t value = 0;
        if (!weft_parse_count(&value, weft_arena_text(source->arena, at, length), 1,
                              WEFT_RACK_CHIPS_MAX, source->error)) {
            return weft_yaml_fail_key(mapping, key, source);
        }
        sides[*count] = (uint32_t)value;
        at = x == NULL ? NULL : x + 1;
    }
    if (at != NULL || *count == 2) {
        weft_fail(source->error, WEFT_INPUT, "'%.40s' is not one number or three; write 2x2x4",
                  text);
        return weft_yaml_fail_key(mapping, key, source);
    }
    return true;
}

static bool read_fibers(uint32_t *fibers, const char *text, const struct weft_yaml_node *mapping,
                        const struct weft_yaml_source *source)
{
    uint64_t value = WEFT_RACK_FIBERS_MAX;
    if (strcmp(text, "unlimited") != 0 &&
        !weft_parse_count(&value, text, 0, WEFT_RACK_FIBERS_MAX, source->error)) {
        return weft_yaml_fail_key(mapping, "fibers", source);
    }
    *fibers = (uint32_t)value;
    return true;
}

// A link that is listed: new, or in the place of the torus' one; none where it has no fibers.
static bool add_link(struct weft_rack_link *links, struct weft_rack *rack,
                     const struct weft_yaml_node *mapping, const struct weft_yaml_source *source)
{
    uint32_t a = 0;
    uint32_t b = 0;
    const char *fibers = NULL;
    struct weft_rack_link link = {0};
    const struct weft_yaml_item items[] = {
        {"a", WEFT_YAML_U32, WEFT_YAML_NEEDED, &a, 0, rack->server_count - 1},
        {"b", WEFT_YAML_U32, WEFT_YAML_NEEDED, &b, 0, rack->server_count - 1},
        {"fibers", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &fibers, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source) ||
        !read_fibers(&link.fibers, fibers, mapping, source)) {
        return false;
    }
    if (a == b) {
        weft_fail(source->error, WEFT_INPUT, "server %u is joined to itself; leave it out", a);
        return weft_yaml_fail_key(mapping, "b", source);
    }
    link.a = a < b ? a : b;
    link.b = a < b ? b : a;
    uint32_t at = 0;
    while (at < rack->link_count && (links[at].a != link.a || links[at].b != link.b)) {
        at++;
    }
    if (link.fibers == 0) {
        if (at < rack->link_count) {
            links[at] = links[--rack->link_count];
        }
        return true;
    }
    links[at] = link;
    rack->link_count += at == rack->link_count;
    return true;
}

static bool read_links(struct weft_rack *rack, const char *fibers,
                       const struct weft_yaml_node *list, const struct weft_yaml_node *root,
                       const struct weft_yaml_source *source)
{
    struct weft_rack_link *links = WEFT_NEW(source->arena, struct weft_rack_link,
                                            LINKS_MAX + 3 * (size_t)WEFT_RACK_SERVERS_MAX);
    uint32_t count = 0;
    rack->links = links;
    if (fibers != NULL && rack->sides[0] == 0) {
        weft_fail(source->error, WEFT_INPUT,
                  "%u servers are no torus whose neighbors have fibers; write servers: 2x2x4, or "
                  "links:",
                  rack->server_count);
        return weft_yaml_fail_key(root, "fibers", source);
    }
    if (fibers != NULL) {
        if (!read_fibers(&count, fibers, root, source)) {
            return false;
        }
        rack->link_count = count == 0 ? 0 : weft_rack_torus_links(links, rack->sides, count);
    }
    const struct weft_yaml_node *node = list == NULL ? NULL : list->children;
    for (; node != NULL; node = node->next) {
        if (!add_link(links, rack, node, source)) {
            return false;
        }
    }
    return true;
}

bool weft_rack_read(struct weft_rack *rack, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    const struct weft_yaml_node *links = NULL;
    const char *servers = NULL;
    const char *block = NULL;
    const char *fibers = NULL;
    uint32_t numbers = 0;
    struct weft_rack read = {
        .name = "rack", .wavelengths = 1, .chip_wavelengths = 6, .wavelength_Bps = RATE_BPS};
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"servers", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &servers, 0, 0},
        {"block", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &block, 0, 0},
        {"fibers", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &fibers, 0, 0},
        {"links", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &links, 0, LINKS_MAX},
        {"wavelengths", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.wavelengths, 1,
         WEFT_RACK_WAVELENGTHS_MAX},
        {"chip_wavelengths", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.chip_wavelengths, 1,
         WEFT_RACK_WAVELENGTHS_MAX},
        {"wavelength_rate", WEFT_YAML_RATE, WEFT_YAML_OPTIONAL, &read.wavelength_Bps, 0, 0},
        {"hop_loss_db", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.hop_db, 0, 1000},
        {"budget_db", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.budget_db, 0, 1000},
        {"change", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.change_ps, 0, 0},
    };
    if (!weft_yaml_open(&root, data, length, "servers and block", &source) ||
        !WEFT_YAML_READ(root, items, &source) ||
        !read_sides(read.block, &numbers, block, root, "block", &source) ||
        !read_sides(read.sides, &numbers, servers, root, "servers", &source)) {
        return false;
    }
    uint64_t count = (uint64_t)read.sides[0] * read.sides[1] * read.sides[2];
    uint64_t chips = (uint64_t)read.block[0] * read.block[1] * read.block[2];
    if (count > WEFT_RACK_SERVERS_MAX || count * chips > WEFT_RACK_CHIPS_MAX) {
        weft_fail(error, WEFT_INPUT,
                  "%llu servers of %llu chips; a rack has at most %u servers and %u chips",
                  (unsigned long long)count, (unsigned long long)chips, WEFT_RACK_SERVERS_MAX,
                  WEFT_RACK_CHIPS_MAX);
        return weft_yaml_fail_key(root, count > WEFT_RACK_SERVERS_MAX ? "servers" : "block",
                                  &source);
    }
    read.server_count = (uint32_t)count;
    read.chips_per_server = (uint32_t)chips;
    if (numbers == 1) {
        memset(read.sides, 0, sizeof read.sides);
    }
    if (!read_links(&read, fibers, links, root, &source)) {
        return false;
    }
    if (!weft_rack_check(&read, scratch, error)) {
        return weft_yaml_fail_key(root, links == NULL ? "fibers" : "links", &source);
    }
    *rack = read;
    return true;
}

bool weft_rack_load_file(struct weft_rack *rack, const char *path, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error) &&
           (weft_rack_read(rack, data, length, arena, scratch, error) ||
            weft_wrap(error, "%s", path));
}
