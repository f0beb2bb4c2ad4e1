// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TRAIN_H
#define WEFT_TRAIN_H

// Small nets trained on images by data-parallel workers, whose gradients may lose segments on the
// way to the sum.
//
//   images ──► gradient of each worker ──► segments lost ──► sum ──► step of descent
//
// Nets are convolutions, maximum pools and dense layers with ReLU; the loss is the cross-entropy of
// the softmax. All numbers of a net stand in one vector, layer by layer, each layer's weights
// before its biases; gradients have the same order, so that a packet is a run of floats. Sums are
// in an order that neither threads nor the processor's vectors change: the same seed gives the same
// bytes.

#include "weft/base.h"

WEFT_API_BEGIN

// ---- images ----

struct weft_images {
    uint32_t count;
    uint32_t height, width;
    const uint8_t *pixels; // [count][height][width], 0 = dark
    const uint8_t *labels; // of each, below the outputs of the net
};

// ---- nets ----

enum weft_train_kind { WEFT_TRAIN_CONV, WEFT_TRAIN_POOL, WEFT_TRAIN_DENSE };

struct weft_train_shape {
    uint32_t channels, height, width;
};

// Weights of a convolution are [output][input][ky][kx], of a dense layer [output][input]; maps are
// [channel][y][x], which is the order of PyTorch.
struct weft_train_layer {
    enum weft_train_kind kind;
    struct weft_train_shape in, out;
    uint32_t side; // of the kernel, or of the pool's window
    bool relu;
    uint32_t first; // of its numbers in the net's vector
    uint32_t weight_count;
    uint32_t bias_count; // behind the weights; a pool has neither
};

struct weft_train_net {
    uint32_t layer_count;
    const struct weft_train_layer *layers;
    uint32_t number_count;
    float *numbers; // weights and biases
    float *speed;   // momentum of each
};

#define WEFT_TRAIN_MLP "dense:300,dense:100,dense:10"
#define WEFT_TRAIN_CNN "conv:8x5,pool:2,conv:16x5,pool:2,dense:128,dense:10"

// Reads "conv:6x5,pool:2,dense:10": channels x kernel, window, outputs. The last layer is linear,
// all others are rectified. Weights are He's (2015): normal, of variance 2 / inputs; biases are 0.
// Fails with INPUT.
bool weft_train_net_build(struct weft_train_net *net, const char *text,
                          struct weft_train_shape input, struct weft_rng *rng,
                          struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- batches ----

// What one worker needs to compute: the values of every layer for a batch of images.
struct weft_train_worker;
struct weft_train_worker *weft_train_worker_build(const struct weft_train_net *net,
                                                  uint32_t batch_max, struct weft_arena *arena);
// Adds an image, moved by (dy, dx) with dark pixels from outside, to the worker's batch.
void weft_train_load(struct weft_train_worker *worker, const struct weft_images *images,
                     uint32_t index, int32_t dy, int32_t dx);
// The slopes of the batch's summed loss by all numbers of the net, written over `gradient`; the
// batch is empty then. Returns that loss, in nats. O(images * numbers of dense layers and
// multiplications of convolutions).
double weft_train_gradient(float *gradient, struct weft_train_worker *worker,
                           const struct weft_train_net *net);
// How many images of [first, first + count) of `order` (NULL: themselves) the net names rightly.
uint32_t weft_train_count_right(struct weft_train_worker *worker, const struct weft_train_net *net,
                                const struct weft_images *images, const uint32_t *order,
                                uint32_t count);

struct weft_train_descent {
    float rate;     // of learning, by the summed gradient: that of the mean over the images
    float momentum; // 0: plain descent
    float decay;    // of the numbers
};
void weft_train_descend(struct weft_train_net *net, const float *gradient,
                        const struct weft_train_descent *descent);

// ---- segments ----

// A gradient in packets: every layer with numbers is a tensor, cut into segments of as many floats
// but for its last.
struct weft_train_segments {
    uint32_t count;
    const uint32_t *first;  // count + 1: where each begins in the vector; their end
    const uint32_t *tensor; // of each, from 0
    uint32_t tensor_count;
};
void weft_train_segments_build(struct weft_train_segments *segments,
                               const struct weft_train_net *net, uint32_t floats,
                               struct weft_arena *arena);

enum weft_lost_kind {
    WEFT_LOST_NONE,
    WEFT_LOST_RANDOM,   // any
    WEFT_LOST_SMALLEST, // those of the least L2 norm in the worker's gradient
    WEFT_LOST_LARGEST,
    WEFT_LOST_LAYER, // any of one layer
    WEFT_LOST_LAST,  // the end of the vector: the same ones in every step
    // Each hop of a ring reduce-scatter misses a segment with this probability, and so do all who
    // have been summed into it.
    WEFT_LOST_RING,
    WEFT_LOST_KINDS
};
extern const char *const weft_lost_words[WEFT_LOST_KINDS + 1]; // ends with NULL

struct weft_lost {
    enum weft_lost_kind kind;
    double share;    // of the segments (of the layer), rounded down; of a ring the probability
    uint32_t tensor; // of WEFT_LOST_LAYER, from 0
};
// "random:10%", "smallest:0.1", "layer:1:10%", "ring:1.4%"; layers with numbers count from 1. Fails
// with INPUT.
bool weft_lost_parse(struct weft_lost *lost, const char *text, struct weft_arena *arena,
                     struct weft_error *error) WEFT_MUST_USE;

// One step's losses. Of a ring of n ranks, segment s of S is summed at rank floor(s n / S); the
// others stand before it in the order of ranks.
struct weft_train_loss {
    const struct weft_train_segments *segments;
    struct weft_lost lost;
    uint32_t worker_count;
    uint32_t *survives; // of a ring, per segment: who stands before this place of it is lost
};
void weft_train_loss_build(struct weft_train_loss *loss, const struct weft_train_segments *segments,
                           const struct weft_lost *lost, uint32_t worker_count,
                           struct weft_arena *arena);
// Draws what all workers of a step share. To be called before each step.
void weft_train_loss_step(struct weft_train_loss *loss, struct weft_rng *rng);
// Marks which segments of a worker's gradient are lost. Returns their number: floor(share * count)
// but of a ring. O(numbers), of norms O(segments log segments) beside that.
uint32_t weft_train_lose(bool *lost, const struct weft_train_loss *loss, const float *gradient,
                         uint32_t worker, struct weft_rng *rng, struct weft_arena scratch);

// ---- runs ----

struct weft_train_options {
    const char *net; // as weft_train_net_build reads it
    uint32_t worker_count;
    uint32_t batch; // images of a step, of all workers together; at least worker_count
    uint32_t epochs;
    uint32_t segment_floats;
    double rate, momentum;
    struct weft_lost lost;
    bool rescales; // each segment's sum over those that arrived; else what is lost counts as 0
    struct weft_tally *tally; // images; NULL
};

// Images that are trained on and that are kept for the test, as places in them.
struct weft_train_split {
    uint32_t train_count, test_count;
    const uint32_t *train, *test;
};

// Draws which images are kept for the test, at least one; the seed's own stream decides, so that
// all runs of a seed have the same. O(count).
void weft_train_split_draw(struct weft_train_split *split, uint32_t count, uint32_t test_count,
                           uint64_t seed, struct weft_arena *arena);

struct weft_train_run {
    const double *accuracy; // after each epoch, of the test
    const double *loss;     // mean of each epoch's images before the step that they are part of
    double lost_share;      // of the segments that workers sent
};
// Trains one net. An epoch visits the images in a new order; a step takes the next batch, worker w
// of n its images from floor(w * batch / n) on, and what is left at the end of an epoch is left
// out. Fails with INPUT where the net does not fit the images, or a lost layer is not there.
bool weft_train_play(struct weft_train_run *run, const struct weft_images *images,
                     const struct weft_train_split *split, const struct weft_train_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

// ---- what losses change ----

// Runs with losses beside runs without, a pair for each seed.
struct weft_train_effect {
    double mean;
    double mean_error; // standard error over the seeds; NaN of one seed, as what follows from it
    double difference; // of the means
    double difference_error;
    // That runs which do not differ differ by as much: two-sided, by Student's t of the pairs.
    double chance;
};
void weft_train_compare(struct weft_train_effect *effect, const double *values,
                        const double *others, uint32_t count);

WEFT_API_END

#endif
