// SPDX-License-Identifier: Apache-2.0
// Writes the datapath's Verilog with memories that are large enough for every test's program:
// files FOLDER LANES.

#include "weft/photonics/verilog.h"

#include <stdio.h>
#include <stdlib.h>

static void save(const char *folder, const struct weft_photonic_verilog_file *file)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, file->name);
    FILE *out = fopen(path, "w");
    if (out == NULL || fwrite(file->data, 1, file->length, out) != file->length ||
        fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: files FOLDER LANES\n");
        return 2;
    }
    uint32_t lanes = (uint32_t)strtoul(argv[2], NULL, 10);
    struct weft_photonic_row rows[16] = {0};
    rows[0] = (struct weft_photonic_row){
        .flags = WEFT_PHOTONIC_FLAG_SOFTMAX, .words = 256, .inputs = 16384, .results = 4096};
    const struct weft_photonic_program program = {.name = "tests",
                                                  .lanes = lanes,
                                                  .wavelengths = lanes / 16,
                                                  .row_count = 16,
                                                  .rows = rows,
                                                  .word_count = 32768,
                                                  .bias_count = 1024};
    static char memory[1 << 21];
    struct weft_arena arena = {memory, memory + sizeof(memory)};
    struct weft_error error;
    struct weft_photonic_verilog_files files;
    if (!weft_photonic_verilog_write(&files, &program, &arena, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 3;
    }
    for (uint32_t i = 0; i < files.count; i++) {
        save(argv[1], &files.files[i]);
    }
    return 0;
}
