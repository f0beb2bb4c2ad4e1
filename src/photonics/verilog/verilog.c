// SPDX-License-Identifier: Apache-2.0
// The Verilog of a compiled program: templates as they are, beside them what depends on the
// program. That is only the depths of memories, since layers, weights and biases are memory images.

#include "weft/photonics/verilog.h"
#include "photonics/net/softmax.h"
#include "photonics/verilog/texts.h"
#include "weft/photonics/countaction.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} templates[] = {
    {"assembler.v", verilog_assembler},
    {"bench.v", verilog_bench},
    {"buffers.v", verilog_buffers},
    {"datapath.v", verilog_datapath},
    {"light.v", verilog_light},
    {"memory.v", verilog_memory},
    {"nic.v", verilog_nic},
    {"nic_main.cpp", verilog_nic_main},
    {"receive.v", verilog_receive},
    {"softmax.v", verilog_softmax},
    {"sum.v", verilog_sum},
};
enum { TEMPLATES = sizeof(templates) / sizeof(templates[0]), CONTROL_MAX = 16 };

static void raise(uint32_t *largest, uint32_t value)
{
    *largest = value > *largest ? value : *largest;
}

static uint32_t words_of(uint32_t values, uint32_t lanes)
{
    return values / lanes + (values % lanes != 0);
}

void weft_photonic_verilog_depths(struct weft_photonic_verilog_depths *depths,
                                  const struct weft_photonic_program *program)
{
    // The least that the templates' slices of addresses take.
    *depths = (struct weft_photonic_verilog_depths){.lanes = program->lanes,
                                                    .rows = 1,
                                                    .weights = 1,
                                                    .biases = 1,
                                                    .buffer = 4,
                                                    .patch = 4,
                                                    .results = 2};
    raise(&depths->rows, program->row_count);
    raise(&depths->weights, program->word_count);
    raise(&depths->biases, program->bias_count);
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        raise(&depths->buffer, words_of(row->inputs, program->lanes));
        raise(&depths->buffer, words_of(row->results, program->lanes));
        while (depths->patch < row->words) {
            depths->patch *= 2;
        }
        if ((row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0) {
            raise(&depths->results, row->results);
        }
    }
}

// Finishes a text as a file and begins the next one in the same arena.
static void close_file(struct weft_photonic_verilog_file *file, const char *name,
                       const struct weft_text *text)
{
    *file = (struct weft_photonic_verilog_file){name, text->data, text->length};
}

static void parameters_write(struct weft_text *text,
                             const struct weft_photonic_verilog_depths *depths, const char *name)
{
    weft_text_add(text, "// Of program '%s'; a datapath with larger memories runs it, too.\n",
                  name);
    weft_text_add(text, "`define WEFT_LANES %u\n", depths->lanes);
    weft_text_add(text, "`define WEFT_PROGRAM_DEPTH %u\n", depths->rows);
    weft_text_add(text, "`define WEFT_WEIGHT_DEPTH %u\n", depths->weights);
    weft_text_add(text, "`define WEFT_BIAS_DEPTH %u\n", depths->biases);
    weft_text_add(text, "`define WEFT_BUFFER_DEPTH %u\n", depths->buffer);
    weft_text_add(text, "`define WEFT_PATCH_DEPTH %u\n", depths->patch);
    weft_text_add(text, "`define WEFT_RESULT_DEPTH %u\n", depths->results);
}

static void table_write(struct weft_text *text, const uint32_t *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(text, "%05x\n", entries[i]);
    }
}

// Tables of the unit of log-probabilities, in the order of softmax.v.
static void tables_write(struct weft_text *text)
{
    struct weft_photonic_tables tables;
    weft_photonic_tables_build(&tables);
    table_write(text, tables.fraction, 256);
    table_write(text, tables.whole, 16);
    table_write(text, tables.mantissa, 256);
}

// The modules of control, each a file of its name. They are Weft's own text, which parses.
static uint32_t control_write(struct weft_photonic_verilog_file *files, uint32_t most,
                              struct weft_arena *arena)
{
    struct weft_photonic_countaction control;
    struct weft_error error;
    bool good =
        weft_photonic_countaction_parse(&control, weft_photonic_countaction_text,
                                        strlen(weft_photonic_countaction_text), arena, &error);
    WEFT_ASSERT(good && control.module_count <= most);
    for (uint32_t i = 0; i < control.module_count; i++) {
        const struct weft_photonic_module *module = &control.modules[i];
        size_t length = strlen(module->name) + sizeof(".v");
        char *name = WEFT_NEW(arena, char, length);
        snprintf(name, length, "%s.v", module->name);
        struct weft_text text;
        weft_text_init(&text, arena);
        weft_photonic_countaction_verilog(&text, module);
        close_file(&files[i], name, &text);
    }
    return control.module_count;
}

bool weft_photonic_verilog_write(struct weft_photonic_verilog_files *files,
                                 const struct weft_photonic_program *program,
                                 struct weft_arena *arena, struct weft_error *error)
{
    if ((program->lanes & (program->lanes - 1)) != 0 || program->lanes < 16) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "Verilog of %u lanes: banks are addressed by the low bits of an address, "
                         "so that wavelengths are a power of two: 1, 2, 4 or 8",
                         program->lanes);
    }
    struct weft_photonic_verilog_file *list =
        WEFT_NEW(arena, struct weft_photonic_verilog_file, TEMPLATES + CONTROL_MAX + 2);
    for (uint32_t i = 0; i < TEMPLATES; i++) {
        list[i] = (struct weft_photonic_verilog_file){templates[i].name, templates[i].text,
                                                      strlen(templates[i].text)};
    }
    struct weft_photonic_verilog_depths depths;
    weft_photonic_verilog_depths(&depths, program);
    struct weft_text text;
    weft_text_init(&text, arena);
    parameters_write(&text, &depths, program->name);
    close_file(&list[TEMPLATES], "parameters.vh", &text);
    weft_text_init(&text, arena);
    tables_write(&text);
    close_file(&list[TEMPLATES + 1], "softmax.hex", &text);
    uint32_t modules = control_write(&list[TEMPLATES + 2], CONTROL_MAX, arena);
    *files = (struct weft_photonic_verilog_files){TEMPLATES + 2 + modules, list};
    return true;
}
