// SPDX-License-Identifier: Apache-2.0
// Writes the example jobs: weft-examples FOLDER. With --check, tells instead which files in FOLDER
// are not what it would write (exit code 1).

#include "job.h"

#include "weft/format.h"

#include <string.h>

struct example {
    const char *name;
    uint32_t server_count;
    void (*add)(struct job *job);
};

static void add_gpt_4_stages(struct job *job)
{
    job_add_gpt(job, 4);
}

static void add_gpt_8_stages(struct job *job)
{
    job_add_gpt(job, 8);
}

static const struct example examples[] = {
    {"vgg16_16", 16, job_add_cnn_vgg16},
    {"resnet50_16", 16, job_add_cnn_resnet50},
    {"resnet50_128", 128, job_add_cnn_resnet50},
    {"dlrm_16", 16, job_add_dlrm},
    {"gpt_16", 16, add_gpt_4_stages},
    {"gpt_128", 128, add_gpt_8_stages},
    {"moe_16", 16, job_add_moe},
    {"sends_4", 4, job_add_sends},
};

// Whether the file at `path` holds these bytes.
static bool check_file(const char *path, const char *data, size_t length, struct weft_arena arena,
                       struct weft_error *error)
{
    const char *found = NULL;
    size_t found_length = 0;
    if (!weft_file_load(&found, &found_length, path, 0, &arena, error)) {
        return false;
    }
    if (found_length != length || memcmp(found, data, length) != 0) {
        return weft_fail(error, WEFT_INPUT, "%s: is not what the generator writes; run it again",
                         path);
    }
    return true;
}

static bool handle(const struct example *example, const char *folder, bool check,
                   struct weft_arena arena, struct weft_arena scratch, struct weft_error *error)
{
    struct job job = job_init(example->server_count, &arena);
    example->add(&job);
    const char *data = NULL;
    size_t length = 0;
    if (!job_write(&data, &length, &job, scratch, error)) {
        return weft_wrap(error, "%s", example->name);
    }
    const char *path = weft_arena_format(&arena, "%s/%s.fbuf", folder, example->name);
    if (check) {
        return check_file(path, data, length, scratch, error);
    }
    printf("%s: %u servers, %u tasks, %zu bytes\n", path, example->server_count, job.task_count,
           length);
    return weft_file_save(path, data, length, error);
}

int main(int argc, char **argv)
{
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 2 && !check) {
        fprintf(stderr, "usage: weft-examples [--check] FOLDER\n");
        return 2;
    }
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error)) {
        fprintf(stderr, "weft-examples: %s\n", error.message);
        return (int)error.code;
    }
    int status = 0;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (!handle(&examples[i], argv[argc - 1], check, arena, scratch, &error)) {
            fprintf(stderr, "weft-examples: %s\n", error.message);
            status = check ? 1 : (int)error.code;
        }
    }
    return status;
}
