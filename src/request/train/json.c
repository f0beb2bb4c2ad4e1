// SPDX-License-Identifier: Apache-2.0
// "weft.train/1": a row for each loss, with its runs; docs/mlt.md says what each key means.

#include "request/json/json.h"
#include "weft/request/train.h"

static void set_reals(json_t *object, const char *key, const double *values, uint32_t count)
{
    json_t *list = weft_set_list(object, key);
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(list, json_real(values[i]));
    }
}

static json_t *run_of(const struct weft_train_outcome *run, uint32_t epochs)
{
    json_t *object = json_object();
    weft_set_count(object, "seed", run->seed);
    weft_set_real(object, "lost_share", run->lost_share);
    set_reals(object, "accuracy", run->accuracy, epochs);
    set_reals(object, "loss", run->loss, epochs);
    return object;
}

static json_t *row_of(const struct weft_train_row *row, const struct weft_train_result *result)
{
    const struct weft_train_effect *effect = &row->effect;
    json_t *object = json_object();
    weft_set_text(object, "name", row->name);
    weft_set_text(object, "lost", weft_lost_words[row->lost.kind]);
    if (row->lost.kind == WEFT_LOST_LAYER) {
        weft_set_count(object, "layer", row->lost.tensor + 1);
    }
    weft_set_real(object, "share", row->lost.share);
    weft_set_real(object, "lost_share", row->lost_share);
    weft_set_real(object, "accuracy", effect->mean);
    weft_set_real(object, "accuracy_error", effect->mean_error);
    weft_set_real(object, "difference", effect->difference);
    weft_set_real(object, "difference_error", effect->difference_error);
    weft_set_real(object, "chance", effect->chance);
    weft_set_truth(object, "significant", effect->chance < WEFT_TRAIN_SIGNIFICANT);
    json_t *runs = weft_set_list(object, "runs");
    for (uint32_t k = 0; k < result->seed_count; k++) {
        json_array_append_new(runs, run_of(&row->runs[k], result->asked.epochs));
    }
    return object;
}

const char *weft_request_train_json(const struct weft_train_result *result,
                                    struct weft_arena *arena)
{
    const struct weft_train_options *asked = &result->asked;
    json_t *object = weft_set_object("weft.train/1");
    weft_set_text(object, "images", result->images_path);
    weft_set_count(object, "train_images", result->train_count);
    weft_set_count(object, "test_images", result->test_count);
    weft_set_text(object, "net", asked->net);
    weft_set_count(object, "numbers", result->number_count);
    weft_set_count(object, "layers", result->layer_count);
    weft_set_count(object, "segment_floats", asked->segment_floats);
    weft_set_count(object, "segments", result->segment_count);
    weft_set_count(object, "workers", asked->worker_count);
    weft_set_count(object, "batch", asked->batch);
    weft_set_count(object, "epochs", asked->epochs);
    weft_set_real(object, "learning_rate", asked->rate);
    weft_set_real(object, "momentum", asked->momentum);
    weft_set_truth(object, "rescaled", asked->rescales);
    weft_set_count(object, "seeds", result->seed_count);
    weft_set_real(object, "test_error", result->test_error);
    weft_set_truth(object, "finished", !result->stopped);
    json_t *rows = weft_set_list(object, "rows");
    for (uint32_t r = 0; r < result->row_count; r++) {
        json_array_append_new(rows, row_of(&result->rows[r], result));
    }
    return weft_set_finish(object, arena);
}
