// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PHOTONIC_SERVING_H
#define WEFT_CLI_PHOTONIC_SERVING_H

// What the sub-verbs share that serve requests or ask for them. They work on processes, sockets and
// namespaces of this machine, so that they are no requests: they call runtime/ directly.

#include "cli/cli.h"
#include "runtime/photonic/client.h"
#include "weft/photonics.h"

// The folder of "7=digits", and 7; of "digits" alone the folder, and *id stays as it is.
const char *photonic_split_folder(uint32_t *id, const char *word);
// Compiled folders, each as DIR or NUMBER=DIR (its place where no number is said), as the models of
// one datapath whose answers fit packets of that MTU.
bool photonic_load_models(struct weft_photonic_models *models, struct cli *cli,
                          const char *const *folders, uint32_t count, uint32_t mtu_bytes)
    WEFT_MUST_USE;

// A file of inputs, one after the other, for a model.
struct photonic_inputs {
    const uint8_t *bytes;
    uint32_t count;
};
bool photonic_load_inputs(struct photonic_inputs *inputs, struct cli *cli, const char *path,
                          uint32_t input_bytes) WEFT_MUST_USE;

// ---- options of whoever asks: --model, --in, --timeout ----

enum { PHOTONIC_MODEL = 210, PHOTONIC_IN, PHOTONIC_TIMEOUT };
#define PHOTONIC_ASK_OPTIONS                                                                       \
    {"model", PHOTONIC_MODEL, "ID", 0, "number of the model (0)", 0},                              \
        {"in", PHOTONIC_IN, "NAMESPACE", 0, "ask from that network namespace", 0},                 \
    {                                                                                              \
        "timeout", PHOTONIC_TIMEOUT, "TIME", 0, "of one try (200ms)", 0                            \
    }
struct photonic_ask {
    struct weft_nic_target target;
    uint32_t model;
};
// False: the key is another's. *result: 0 or EINVAL.
bool photonic_take_ask(error_t *result, struct cli *cli, struct photonic_ask *ask, int key,
                       const char *argument);

#endif
