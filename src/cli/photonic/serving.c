// SPDX-License-Identifier: Apache-2.0
// What sub-verbs share that serve requests or ask for them: models from folders, inputs from a
// file, and the options of a client.

#include "serving.h"

#include "weft/format/file.h"
#include "weft/format/photonics.h"

#include <stdlib.h>
#include <string.h>

enum { IP_AND_UDP_BYTES = 28 };

const char *photonic_split_folder(uint32_t *id, const char *word)
{
    char *end;
    const unsigned long number = strtoul(word, &end, 10);
    if (end == word || *end != '=') {
        return word;
    }
    *id = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return end + 1;
}

// The last word of a folder's path.
static const char *name_of(struct cli *cli, const char *folder)
{
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') {
        end--;
    }
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/') {
        start--;
    }
    return weft_arena_text(&cli->arena, folder + start, end - start);
}

bool photonic_load_models(struct weft_photonic_models *models, struct cli *cli,
                          const char *const *folders, uint32_t count, uint32_t mtu_bytes)
{
    struct weft_photonic_resident *residents =
        WEFT_NEW(&cli->arena, struct weft_photonic_resident, count);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_photonic_program *program =
            WEFT_NEW(&cli->arena, struct weft_photonic_program, 1);
        residents[i].id = i;
        const char *folder = photonic_split_folder(&residents[i].id, folders[i]);
        if (!weft_photonic_program_load(program, folder, &cli->arena, cli->scratch, &cli->error)) {
            return false;
        }
        if (program->name == NULL || program->name[0] == '\0') {
            program->name = name_of(cli, folder);
        }
        residents[i].program = program;
    }
    const struct weft_photonic_room room = {.payload_bytes = mtu_bytes - IP_AND_UDP_BYTES};
    return weft_photonic_models_build(models, residents, count, &room, &cli->arena, &cli->error);
}

bool photonic_load_inputs(struct photonic_inputs *inputs, struct cli *cli, const char *path,
                          uint32_t input_bytes)
{
    const char *data;
    size_t length;
    if (!weft_file_load(&data, &length, path, 0, &cli->arena, &cli->error)) {
        return false;
    }
    if (length == 0 || length % input_bytes != 0) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%.200s: %zu bytes are no whole number of inputs of %u; write a byte an "
                         "activation",
                         path, length, input_bytes);
    }
    *inputs = (struct photonic_inputs){(const uint8_t *)data, (uint32_t)(length / input_bytes)};
    return true;
}

bool photonic_take_ask(error_t *result, struct cli *cli, struct photonic_ask *ask, int key,
                       const char *argument)
{
    uint64_t time_ps;
    switch (key) {
    case PHOTONIC_MODEL:
        *result = cli_count(cli, &ask->model, "model", argument, 0, UINT16_MAX);
        return true;
    case PHOTONIC_IN:
        ask->target.netns = argument;
        *result = 0;
        return true;
    case PHOTONIC_TIMEOUT: {
        const bool parsed = weft_parse_time(&time_ps, argument, &cli->error);
        const bool fine = parsed && ((time_ps >= 1000000 && time_ps <= 3600 * WEFT_PS_PER_S) ||
                                     weft_fail(&cli->error, WEFT_INPUT,
                                               "'%.40s' is not from 1us to 1h", argument));
        ask->target.timeout_ns = fine ? time_ps / 1000 : 0;
        *result = cli_value(cli, fine, "timeout");
        return true;
    }
    default:
        return false;
    }
}
