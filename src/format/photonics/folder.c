// SPDX-License-Identifier: Apache-2.0
// The folder of a compiled program: images as hardware reads them ($readmemh) beside those that the
// twin loads. What is loaded is held against its CRC-32 and by weft_photonic_program_check, so that
// nothing damaged is run.

#include "weft/format/photonics.h"

#include <string.h>
#include <zlib.h>

static const char digits[] = "0123456789abcdef";

// Adds `count` hexadecimal digits of a value, the highest first.
static char *add_hex(char *out, uint64_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *out++ = digits[value >> (4 * (count - 1 - i)) & 15];
    }
    return out;
}

static struct weft_file make_file(const char *name, const char *data, const char *end)
{
    return (struct weft_file){name, data, (size_t)(end - data)};
}

// A row of 1024 bits a line, its last field first.
static struct weft_file rows_hex(const struct weft_photonic_program *program,
                                 struct weft_arena *arena)
{
    size_t line = 8 * WEFT_PHOTONIC_FIELDS + 1;
    char *data = WEFT_NEW_RAW(arena, char, line * program->row_count);
    char *out = data;
    for (uint32_t i = 0; i < program->row_count; i++) {
        uint32_t fields[WEFT_PHOTONIC_FIELDS] = {0};
        memcpy(fields, &program->rows[i], sizeof program->rows[i]);
        for (uint32_t f = WEFT_PHOTONIC_FIELDS; f-- > 0;) {
            out = add_hex(out, fields[f], 8);
        }
        *out++ = '\n';
    }
    return make_file("program.hex", data, out);
}

static struct weft_file weights_i16(const struct weft_photonic_program *program,
                                    struct weft_arena *arena)
{
    size_t count = (size_t)program->word_count * program->lanes;
    uint8_t *data = WEFT_NEW_RAW(arena, uint8_t, 2 * count);
    for (size_t i = 0; i < count; i++) {
        data[2 * i] = (uint8_t)program->weights[i];
        data[2 * i + 1] = (uint8_t)((uint16_t)program->weights[i] >> 8);
    }
    return (struct weft_file){"weights.i16", data, 2 * count};
}

// A word a line, the last lane first.
static struct weft_file weights_hex(const struct weft_photonic_program *program,
                                    struct weft_arena *arena)
{
    size_t line = 2 * (size_t)program->lanes + 1;
    char *data = WEFT_NEW_RAW(arena, char, line * program->word_count);
    char *out = data;
    for (size_t word = 0; word < program->word_count; word++) {
        const int16_t *lanes = program->weights + word * program->lanes;
        for (uint32_t i = program->lanes; i-- > 0;) {
            out = add_hex(out, (uint64_t)(lanes[i] < 0 ? -lanes[i] : lanes[i]), 2);
        }
        *out++ = '\n';
    }
    return make_file("weights.hex", data, out);
}

static struct weft_file signs_hex(const struct weft_photonic_program *program,
                                  struct weft_arena *arena)
{
    size_t line = program->lanes / 4 + 1;
    char *data = WEFT_NEW_RAW(arena, char, line * program->word_count);
    char *out = data;
    for (size_t word = 0; word < program->word_count; word++) {
        const int16_t *lanes = program->weights + word * program->lanes;
        for (uint32_t i = program->lanes; i > 0; i -= 4) {
            uint32_t digit = 0;
            for (uint32_t bit = 0; bit < 4; bit++) {
                digit |= (uint32_t)(lanes[i - 4 + bit] >= 0) << bit;
            }
            *out++ = digits[digit];
        }
        *out++ = '\n';
    }
    return make_file("signs.hex", data, out);
}

// A bias a line; one line of 0 where there is none, since simulators refuse files of nothing.
static struct weft_file bias_hex(const struct weft_photonic_program *program,
                                 struct weft_arena *arena)
{
    uint32_t count = program->bias_count == 0 ? 1 : program->bias_count;
    char *data = WEFT_NEW_RAW(arena, char, 9 * (size_t)count);
    char *out = data;
    for (uint32_t i = 0; i < count; i++) {
        out = add_hex(out, program->bias_count == 0 ? 0 : (uint32_t)program->biases[i], 8);
        *out++ = '\n';
    }
    return make_file("bias.hex", data, out);
}

static uint32_t crc_of(const void *data, size_t length)
{
    return (uint32_t)crc32_z(0, data, length);
}

void weft_photonic_program_files(struct weft_file files[WEFT_PHOTONIC_FILES],
                                 const struct weft_photonic_program *program,
                                 struct weft_arena *arena)
{
    WEFT_ASSERT(program->weights != NULL);
    files[1] = rows_hex(program, arena);
    files[2] = weights_i16(program, arena);
    files[3] = weights_hex(program, arena);
    files[4] = signs_hex(program, arena);
    files[5] = bias_hex(program, arena);
    struct weft_photonic_images images = {crc_of(files[2].data, files[2].length),
                                          crc_of(files[5].data, files[5].length)};
    const char *json = weft_photonic_program_json(program, &images, arena);
    files[0] = (struct weft_file){"program.json", json, strlen(json)};
}

// ---- loading ----

struct folder {
    const char *path;
    struct weft_arena *arena;
};

// A file whose length and CRC-32 program.json states.
static bool load_image(const char **data, const struct folder *folder, const char *name,
                       size_t length, uint32_t crc, struct weft_error *error)
{
    size_t got = 0;
    const char *path = weft_arena_format(folder->arena, "%s/%s", folder->path, name);
    if (!weft_file_load(data, &got, path, WEFT_FILE_TRACE_BYTES, folder->arena, error)) {
        return false;
    }
    if (got != length) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: %zu bytes are not the %zu of program.json; compile the net again",
                         path, got, length);
    }
    return crc_of(*data, got) == crc ||
           weft_fail(error, WEFT_INPUT, "%s: not as it was written (CRC-32); compile the net again",
                     path);
}

static bool read_biases(int32_t *biases, const char *data, uint32_t count, struct weft_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = 0;
        const char *line = data + 9 * (size_t)i;
        for (uint32_t j = 0; j < 8; j++) {
            const char *digit = line[j] == '\0' ? NULL : strchr(digits, line[j]);
            if (digit == NULL || line[8] != '\n') {
                return weft_fail(error, WEFT_INPUT, "bias.hex: line %u: not 8 hexadecimal digits",
                                 i + 1);
            }
            value = value << 4 | (uint32_t)(digit - digits);
        }
        biases[i] = (int32_t)value;
    }
    return true;
}

static bool load_images(struct weft_photonic_program *program,
                        const struct weft_photonic_images *images, const struct folder *folder,
                        struct weft_error *error)
{
    const char *data = NULL;
    size_t count = (size_t)program->word_count * program->lanes;
    if (!load_image(&data, folder, "weights.i16", 2 * count, images->weights_crc, error)) {
        return false;
    }
    int16_t *weights = WEFT_NEW_RAW(folder->arena, int16_t, count);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *byte = (const uint8_t *)data + 2 * i;
        weights[i] = (int16_t)(uint16_t)(byte[0] | byte[1] << 8);
    }
    size_t lines = program->bias_count == 0 ? 1 : program->bias_count;
    if (!load_image(&data, folder, "bias.hex", 9 * lines, images->biases_crc, error)) {
        return false;
    }
    int32_t *biases = WEFT_NEW(folder->arena, int32_t, lines);
    program->weights = weights;
    program->biases = biases;
    return read_biases(biases, data, program->bias_count, error) ||
           weft_wrap(error, "%s", folder->path);
}

bool weft_photonic_program_load(struct weft_photonic_program *program, const char *path,
                                struct weft_arena *arena, struct weft_arena scratch,
                                struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    const struct folder folder = {path, arena};
    const char *json = weft_arena_format(arena, "%s/program.json", path);
    struct weft_photonic_program found;
    struct weft_photonic_images images;
    if (!weft_file_load(&data, &length, json, 0, arena, error)) {
        return false;
    }
    if (!weft_photonic_program_read(&found, &images, data, length, arena, error) ||
        !weft_photonic_program_check(&found, scratch, error)) { // before memory for its images
        return weft_wrap(error, "%s", json);
    }
    if (!load_images(&found, &images, &folder, error)) {
        return false;
    }
    if (!weft_photonic_program_check(&found, scratch, error)) {
        return weft_wrap(error, "%s", json);
    }
    *program = found;
    return true;
}
