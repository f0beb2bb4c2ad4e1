// SPDX-License-Identifier: Apache-2.0
// The names of operator kinds and number types, the width of a number in bytes, and the search for
// a name that says what comes nearest. One table each, in the order of the enums; a new kind needs
// its name here and its counts in infer.c.

#include "names.h"

#include <string.h>

static const char *const dtype_names[WEFT_DTYPE_COUNT] = {
    [WEFT_FP32] = "fp32", [WEFT_TF32] = "tf32", [WEFT_BF16] = "bf16",
    [WEFT_FP16] = "fp16", [WEFT_FP8] = "fp8",   [WEFT_INT64] = "int64",
};

static const char *const kind_names[WEFT_OP_KIND_COUNT] = {
    [WEFT_OP_INPUT] = "input",         [WEFT_OP_CONV2D] = "conv2d",
    [WEFT_OP_POOL2D] = "pool2d",       [WEFT_OP_FLAT] = "flat",
    [WEFT_OP_DENSE] = "dense",         [WEFT_OP_EMBEDDING] = "embedding",
    [WEFT_OP_CONCAT] = "concat",       [WEFT_OP_ADD] = "add",
    [WEFT_OP_MULTIPLY] = "multiply",   [WEFT_OP_UNARY] = "unary",
    [WEFT_OP_NORM] = "norm",           [WEFT_OP_SOFTMAX] = "softmax",
    [WEFT_OP_ATTENTION] = "attention", [WEFT_OP_EXPERTS] = "experts",
};

uint32_t weft_dtype_bytes(enum weft_dtype dtype)
{
    static const uint32_t bytes[WEFT_DTYPE_COUNT] = {
        [WEFT_FP32] = 4, [WEFT_TF32] = 4, [WEFT_BF16] = 2,
        [WEFT_FP16] = 2, [WEFT_FP8] = 1,  [WEFT_INT64] = 8,
    };
    WEFT_ASSERT(dtype < WEFT_DTYPE_COUNT);
    return bytes[dtype];
}

const char *weft_dtype_name(enum weft_dtype dtype)
{
    WEFT_ASSERT(dtype < WEFT_DTYPE_COUNT);
    return dtype_names[dtype];
}

const char *weft_operator_kind_name(enum weft_operator_kind kind)
{
    WEFT_ASSERT(kind < WEFT_OP_KIND_COUNT);
    return kind_names[kind];
}

bool weft_model_find_name(uint32_t *index, const char *name, const char *what,
                          const char *const *names, uint32_t count, struct weft_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *index = i;
            return true;
        }
    }
    const char *nearest = weft_nearest_word(name, names, count);
    char list[256] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < count && length < sizeof list; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "",
                                   names[i]);
    }
    return weft_fail(error, WEFT_INPUT, "'%.40s' is no %s; %s%s%s%s", name, what,
                     nearest != NULL ? "did you mean " : "there are ",
                     nearest != NULL ? nearest : list, nearest != NULL ? "? there are " : "",
                     nearest != NULL ? list : "");
}

bool weft_operator_kind_named(enum weft_operator_kind *kind, const char *name,
                              struct weft_error *error)
{
    uint32_t index = 0;
    if (!weft_model_find_name(&index, name, "kind of operator", kind_names, WEFT_OP_KIND_COUNT,
                              error)) {
        return false;
    }
    *kind = (enum weft_operator_kind)index;
    return true;
}

bool weft_dtype_named(enum weft_dtype *dtype, const char *name, struct weft_error *error)
{
    uint32_t index = 0;
    if (!weft_model_find_name(&index, name, "dtype", dtype_names, WEFT_DTYPE_COUNT, error)) {
        return false;
    }
    *dtype = (enum weft_dtype)index;
    return true;
}
