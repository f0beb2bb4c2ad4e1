// SPDX-License-Identifier: Apache-2.0
// Data-parallel convolutional networks: every server holds the whole model and a share of the
// batch; gradients are summed over all servers in buckets while the backward pass goes on.

#include "job.h"

#define IMAGES_PER_SERVER 128.0 // 32 an accelerator, as Goyal et al. 2017
#define BUCKET_BYTES 25e6       // as PyTorch's DistributedDataParallel
#define GRADIENT_BYTES 4.0      // fp32
#define LAYERS_MAX 64u

// One step of the forward pass: its parameters and its multiply-adds for one image.
struct layer {
    double parameters;
    double multiply_adds;
};

static double sum_parameters(const struct layer *layers, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += layers[i].parameters;
    }
    return sum;
}

static uint32_t add_layer(struct job *job, uint32_t server, const struct layer *layer,
                          double passes, enum weft_task_kind kind)
{
    double flops = passes * 2 * layer->multiply_adds * IMAGES_PER_SERVER;
    return job_compute(job, kind, server, conv_seconds(flops));
}

// Forward through all layers, backward (twice the work) in reverse. Buckets close, as they fill, at
// the layer whose backward task completes them.
static void add_data_parallel(struct job *job, const struct layer *layers, uint32_t count)
{
    uint32_t n = job->server_count;
    const uint32_t *everyone = job_members(job, 0, 1, n);
    uint32_t *last = WEFT_NEW_RAW(job->arena, uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t task = add_layer(job, s, &layers[i], 1, WEFT_TASK_FORWARD);
            if (i > 0) {
                job_link(job, last[s], task);
            }
            last[s] = task;
        }
    }
    double bucket_bytes = 0;
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t s = 0; s < n; s++) {
            uint32_t task = add_layer(job, s, &layers[i], 2, WEFT_TASK_BACKWARD);
            job_link(job, last[s], task);
            last[s] = task;
        }
        bucket_bytes += layers[i].parameters * GRADIENT_BYTES;
        if (bucket_bytes >= BUCKET_BYTES || i == 0) {
            uint32_t sum = job_allreduce(job, everyone, n, bucket_bytes,
                                         local_allreduce_seconds(bucket_bytes));
            for (uint32_t s = 0; s < n; s++) {
                job_link(job, last[s], sum);
            }
            bucket_bytes = 0;
        }
    }
}

// VGG-16 (Simonyan and Zisserman 2015, configuration D) on 224 x 224 images: 138,357,544
// parameters, 15.47 G multiply-adds.
void job_add_cnn_vgg16(struct job *job)
{
    static const struct layer layers[] = {
        {1792, 86704128},       // conv1_1 3 -> 64
        {36928, 1849688064},    // conv1_2 64 -> 64
        {73856, 924844032},     // conv2_1 64 -> 128, 112 x 112
        {147584, 1849688064},   // conv2_2
        {295168, 924844032},    // conv3_1 128 -> 256, 56 x 56
        {590080, 1849688064},   // conv3_2
        {590080, 1849688064},   // conv3_3
        {1180160, 924844032},   // conv4_1 256 -> 512, 28 x 28
        {2359808, 1849688064},  // conv4_2
        {2359808, 1849688064},  // conv4_3
        {2359808, 462422016},   // conv5_1 512 -> 512, 14 x 14
        {2359808, 462422016},   // conv5_2
        {2359808, 462422016},   // conv5_3
        {102764544, 102760448}, // fc6 25088 -> 4096
        {16781312, 16777216},   // fc7 4096 -> 4096
        {4097000, 4096000},     // fc8 4096 -> 1000
    };
    uint32_t count = sizeof layers / sizeof layers[0];
    WEFT_ASSERT(sum_parameters(layers, count) == 138357544);
    add_data_parallel(job, layers, count);
}

// A convolution without bias, with batch norm (two parameters a channel), on size x size outputs.
static void add_convolution(struct layer *block, double kernel, double from, double to, double size)
{
    double weights = kernel * kernel * from * to;
    block->parameters += weights + 2 * to;
    block->multiply_adds += weights * size * size;
}

// ResNet-50 (He et al. 2016) on 224 x 224 images: 25,557,032 parameters, 4.09 G multiply-adds; one
// step is a block of three convolutions (four where the shape changes).
void job_add_cnn_resnet50(struct job *job)
{
    static const uint32_t block_counts[] = {3, 4, 6, 3};
    struct layer layers[LAYERS_MAX] = {{0}};
    uint32_t count = 0;
    add_convolution(&layers[count++], 7, 3, 64, 112);
    double from = 64;
    double width = 64;
    double size = 56;
    for (uint32_t stage = 0; stage < 4; stage++) {
        for (uint32_t b = 0; b < block_counts[stage]; b++) {
            struct layer *block = &layers[count++];
            double before = b == 0 && stage > 0 ? 2 * size : size; // the stride is in the 3 x 3
            add_convolution(block, 1, from, width, before);
            add_convolution(block, 3, width, width, size);
            add_convolution(block, 1, width, 4 * width, size);
            if (b == 0) {
                add_convolution(block, 1, from, 4 * width, size);
            }
            from = 4 * width;
        }
        width *= 2;
        size /= 2;
    }
    layers[count++] = (struct layer){2048 * 1000 + 1000, 2048 * 1000};
    WEFT_ASSERT(count <= LAYERS_MAX && sum_parameters(layers, count) == 25557032);
    add_data_parallel(job, layers, count);
}
