// SPDX-License-Identifier: Apache-2.0
// Checkpoints (checkpoint.h). O(elements).

#include "checkpoint.h"

#include "weft/format/file.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x3150434854464557ull // "WEFTHCP1", little-endian

struct head {
    uint64_t magic;
    uint32_t rank_count;
    uint32_t step;
    uint64_t element_count;
};

static size_t size_for(const struct lab_heal_work *work)
{
    return sizeof(struct head) + lab_heal_elements(work) * sizeof *work->state + SHA256_DIGEST_SIZE;
}

static void sum_up(uint8_t digest[SHA256_DIGEST_SIZE], const void *data, size_t length)
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, length, data);
    sha256_digest(&context, SHA256_DIGEST_SIZE, digest);
}

bool lab_heal_checkpoint_save(const char *path, const struct lab_heal_work *work,
                              struct weft_error *error)
{
    const struct head head = {MAGIC, work->count, work->step, lab_heal_elements(work)};
    size_t length = size_for(work);
    char *data = malloc(length);
    if (data == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%s: no memory for %zu bytes", path, length);
    }
    memcpy(data, &head, sizeof head);
    memcpy(data + sizeof head, work->state, lab_heal_elements(work) * sizeof *work->state);
    sum_up((uint8_t *)data + length - SHA256_DIGEST_SIZE, data, length - SHA256_DIGEST_SIZE);
    bool saved = weft_file_save(path, data, length, error);
    free(data);
    return saved;
}

bool lab_heal_checkpoint_parse(uint32_t *state, uint32_t *step, const void *data, size_t length,
                               const struct lab_heal_work *like, struct weft_error *error)
{
    struct head head;
    uint8_t digest[SHA256_DIGEST_SIZE];
    if (length < sizeof head || (memcpy(&head, data, sizeof head), head.magic != MAGIC)) {
        return weft_fail(error, WEFT_INPUT, "no checkpoint of weft lab heal");
    }
    if (head.rank_count != like->count || head.element_count != lab_heal_elements(like)) {
        return weft_fail(error, WEFT_INPUT,
                         "a checkpoint of %u ranks and %llu elements; the job has %u and %zu",
                         head.rank_count, (unsigned long long)head.element_count, like->count,
                         lab_heal_elements(like));
    }
    if (length != size_for(like)) {
        return weft_fail(error, WEFT_INPUT, "damaged: %zu bytes, not %zu", length, size_for(like));
    }
    sum_up(digest, data, length - SHA256_DIGEST_SIZE);
    if (memcmp(digest, (const char *)data + length - SHA256_DIGEST_SIZE, sizeof digest) != 0) {
        return weft_fail(error, WEFT_INPUT, "damaged: its checksum is another");
    }
    memcpy(state, (const char *)data + sizeof head, lab_heal_elements(like) * sizeof *state);
    *step = head.step;
    return true;
}

bool lab_heal_checkpoint_load(uint32_t *state, uint32_t *step, const char *path,
                              const struct lab_heal_work *like, struct weft_arena scratch,
                              struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, size_for(like), &scratch, error) &&
           (lab_heal_checkpoint_parse(state, step, data, length, like, error) ||
            weft_wrap(error, "%s", path));
}

uint32_t lab_heal_checkpoint_step(const char *path)
{
    struct weft_error error;
    struct head head;
    int file = -1;
    if (!weft_file_open(&file, path, &error)) {
        return WEFT_NONE;
    }
    bool whole = read(file, &head, sizeof head) == (ssize_t)sizeof head && head.magic == MAGIC;
    close(file);
    return whole ? head.step : WEFT_NONE;
}
