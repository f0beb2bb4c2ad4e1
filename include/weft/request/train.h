// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_TRAIN_H
#define WEFT_REQUEST_TRAIN_H

// What it costs a net's accuracy when gradients lose segments on their way to the sum: runs of
// several seeds with each loss, beside runs of the same seeds without. docs/mlt.md.

#include "weft/request.h"
#include "weft/train.h"

WEFT_API_BEGIN

#define WEFT_TRAIN_ROWS_MAX 64u // with the one that loses nothing

// In the order in which they were asked for; a list that is set again grows.
struct weft_lost_list {
    uint32_t count;
    const struct weft_lost *values;
};

// Parameters by name: weft_train_parameters. 0 and NULL: the default.
struct weft_train_request {
    const char *images_path, *labels_path; // weft/format/images.h; they must be said
    const char *net;                       // "mlp", "cnn" or layers; mlp
    uint32_t workers;                      // 8
    uint32_t batch;                        // images of a step, of all workers together; 128
    uint32_t epochs;                       // 12
    uint32_t test;                         // images kept for the test; a tenth of them
    uint32_t seeds;                        // 5
    uint32_t segment_floats;               // 256
    struct weft_given_number rate;         // of learning; 0.05
    struct weft_given_number momentum;     // 0.9
    struct weft_lost_list lose; // none: a tenth at random, of the smallest and of the largest
    bool rescales;              // sums over what arrived, else what is lost counts as 0
};
extern const struct weft_parameter_group weft_train_parameters[];

// One run, of one seed.
struct weft_train_outcome {
    uint64_t seed;
    double lost_share;      // of the segments that were sent
    const double *accuracy; // after each epoch, of the images of the test
    const double *loss;     // of each epoch's images, in nats
};
struct weft_train_row {
    const char *name; // "smallest:10%"
    struct weft_lost lost;
    double lost_share; // mean
    // Accuracies after the last epoch, beside those without loss of the same seeds, whose weights
    // and batches are the same.
    struct weft_train_effect effect;
    const struct weft_train_outcome *runs; // a seed each
};
// A row whose chance is below this is significant; one in twenty rows without effect is.
#define WEFT_TRAIN_SIGNIFICANT 0.05

struct weft_train_result {
    const char *images_path;
    struct weft_train_options asked; // without its losses and its tally
    uint32_t train_count, test_count;
    uint32_t number_count, segment_count, layer_count; // of the net; layers that have numbers
    uint32_t seed_count;
    double test_error; // standard error of the accuracy without loss as a share of test_count
    bool stopped; // rows whose runs had not all ended are left out
    uint32_t row_count;
    const struct weft_train_row *rows; // the first one loses nothing
};
// Runs are played on the environment's threads; the result does not depend on their number. Fails
// with IO and INPUT where files or the net are wrong, with USAGE where counts do not fit together,
// with UNSUPPORTED where it would take long, with STOPPED where no row had ended.
bool weft_request_train(struct weft_train_result *result, const struct weft_train_request *request,
                        struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.train/1"
const char *weft_request_train_json(const struct weft_train_result *result,
                                    struct weft_arena *arena);

WEFT_API_END

#endif
