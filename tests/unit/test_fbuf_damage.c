// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs whose bytes are damaged, or were made to take time and memory.

#include "fbuf_fixture.h"

static void damaged_bytes_are_refused_with_their_place(void **state)
{
    (void)state;
    struct weft_fbuf fbuf;
    struct weft_error error;
    assert_false(weft_fbuf_read(&fbuf, "", 0, &arena, scratch_kept, &error));
    check_message(&error, "not a task graph in FlatBuffers: 0 bytes cannot be");
    static const struct {
        uint8_t bytes[16];
        const char *message;
    } cases[] = {
        {{200}, "byte 0: the offset 200 leads out of the file's 16 bytes; the file is damaged"},
        {{0}, "byte 0: the offset 0 leads out"},
        {{13}, "byte 0: the offset 13 leads out"},
        {{0xff, 0xff, 0xff, 0xff}, "byte 0: the offset 4294967295 leads out"},
        {{8, 0, 0, 0, 4, 0, 4, 0, 9}, "byte 8: the table's vtable lies outside the file"},
        {{8, 0, 0, 0, 4, 0, 4, 0, 0xf0, 0xff, 0xff, 0xff}, "vtable lies outside the file"},
        {{8, 0, 0, 0, 3, 0, 4, 0, 4}, "byte 4: a vtable of 3 bytes for a table of 4 does not"},
        {{8, 0, 0, 0, 5, 0, 4, 0, 4}, "byte 4: a vtable of 5 bytes"},
        {{8, 0, 0, 0, 14, 0, 4, 0, 4}, "byte 4: a vtable of 14 bytes"},
        {{8, 0, 0, 0, 4, 0, 3, 0, 4}, "byte 4: a vtable of 4 bytes for a table of 3"},
        {{8, 0, 0, 0, 4, 0, 9, 0, 4}, "byte 4: a vtable of 4 bytes for a table of 9"},
        {{10, 0, 0, 0, 6, 0, 4, 0, 1, 0, 6}, "byte 10: field 0 lies outside its table"},
        {{10, 0, 0, 0, 6, 0, 6, 0, 4, 0, 6}, "byte 10: field 0 lies outside its table"},
        {{8, 0, 0, 0, 4, 0, 4, 0, 4}, "nnode: 0 servers"}, // a table without fields
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(weft_fbuf_read(&fbuf, cases[i].bytes, sizeof cases[i].bytes, &arena,
                                    scratch_kept, &error));
        check_message(&error, cases[i].message);
    }
}

static void huge_and_shared_vectors_are_refused(void **state)
{
    (void)state;
    struct craft_file file = craft_small();
    craft_bytes(&craft, &file);
    // The tasks' vector: the root's 9th field. Find it by its count.
    uint32_t root;
    memcpy(&root, craft.data, 4);
    struct weft_fbuf fbuf;
    struct weft_error error;
    size_t field = root + 4 + 4 * 5; // GPUs, nodes, rate and connections stand before
    field -= 4;
    uint32_t offset;
    memcpy(&offset, craft.data + field, 4);
    size_t vector = field + offset;
    assert_int_equal(craft.data[vector], file.task_count);
    craft_put(&craft, vector, UINT32_MAX, 4);
    assert_false(weft_fbuf_read(&fbuf, craft.data, craft.length, &arena, scratch_kept, &error));
    check_message(&error, "tasks: byte");
    check_message(&error, "a vector of 4294967295 elements does not fit the file's");

    // A thousand routes that share one long path.
    static struct craft shared;
    shared.length = 0;
    craft_add(&shared, 0, 4);
    const struct craft_field fields[] = {{0, 0}, {4, 2}, {0, 0}, {0, 0}, {0, 0}, {0, 0},
                                         {0, 0}, {0, 0}, {0, 0}, {4, 0}, {4, 0}};
    size_t at[11];
    craft_table(&shared, 0, fields, 11, at);
    size_t devices = craft_vector(&shared, at[9], 2, 4);
    for (uint32_t d = 0; d < 2; d++) {
        const struct craft_field device[] = {{0, 0}, {8, d + 1}, {8, d}};
        size_t device_at[3];
        craft_table(&shared, devices + 4 * d, device, 3, device_at);
    }
    size_t routes = craft_vector(&shared, at[10], 1000, 4);
    const struct craft_field route[] = {{0, 0}, {4, 1}, {4, 0}};
    size_t route_at[3];
    craft_table(&shared, routes, route, 3, route_at);
    for (uint32_t r = 1; r < 1000; r++) {
        craft_put(&shared, routes + 4 * r, route_at[0] - 4 - (routes + 4 * r), 4);
    }
    size_t paths = craft_vector(&shared, route_at[2], 1, 4);
    const struct craft_field path[] = {{4, 0}, {4, craft_bits(1)}};
    size_t path_at[2];
    craft_table(&shared, paths, path, 2, path_at);
    size_t hops = craft_vector(&shared, path_at[0], 1000, 4);
    craft_put(&shared, hops + 4 * 999, 1, 4);
    assert_false(weft_fbuf_read(&fbuf, shared.data, shared.length, &arena, scratch_kept, &error));
    check_message(&error, "the vectors of the file overlap; write each its own bytes");
}

// Ids that all fall on one place of the map: 2 * 256 keys k with weft_hash(k) = 0 modulo 2^32,
// found by undoing the hash's last steps.
static uint64_t unhash(uint64_t hash)
{
    uint64_t value = hash ^ (hash >> 31) ^ (hash >> 62);
    value *= 0x319642b2d24d8ec3u; // inverse of 0x94d049bb133111eb modulo 2^64
    value = value ^ (value >> 27) ^ (value >> 54);
    value *= 0x96de1b173f119089u; // inverse of 0xbf58476d1ce4e5b9
    value = value ^ (value >> 30) ^ (value >> 60);
    return value - 0x9e3779b97f4a7c15u;
}

static void ids_chosen_to_collide_are_refused(void **state)
{
    (void)state;
    static struct craft crowd;
    crowd.length = 0;
    craft_add(&crowd, 0, 4);
    const struct craft_field fields[] = {{0, 0}, {4, 1}, {0, 0}, {0, 0}, {0, 0},
                                         {0, 0}, {0, 0}, {0, 0}, {0, 0}, {4, 0}};
    size_t at[10];
    craft_table(&crowd, 0, fields, 10, at);
    size_t devices = craft_vector(&crowd, at[9], 600, 4);
    for (uint32_t d = 0; d < 600; d++) {
        uint64_t id = unhash((uint64_t)(d + 1) << 32);
        assert_int_equal(weft_hash(id), (uint64_t)(d + 1) << 32);
        const struct craft_field device[] = {{0, 0}, {8, id}};
        size_t device_at[2];
        craft_table(&crowd, devices + 4 * d, device, 2, device_at);
    }
    struct weft_fbuf fbuf;
    struct weft_error error;
    assert_false(weft_fbuf_read(&fbuf, crowd.data, crowd.length, &arena, scratch_kept, &error));
    check_message(&error, "collides with too many others; number them from 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(damaged_bytes_are_refused_with_their_place, empty_arena),
        cmocka_unit_test_setup(huge_and_shared_vectors_are_refused, empty_arena),
        cmocka_unit_test_setup(ids_chosen_to_collide_are_refused, empty_arena),
    };
    return cmocka_run_group_tests_name("fbuf_damage", tests, set_up, tear_down);
}
