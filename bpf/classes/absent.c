// SPDX-License-Identifier: Apache-2.0
// classes.h and loss.h where Weft was built without clang or libbpf.
//
// Ports sort nothing and lose nothing then, and whoever wants that gets an error that says what is
// missing.

#include "bpf/absent.h"
#include "classes.h"
#include "loss.h"

bool weft_classifier_load(struct weft_classifier *classifier,
                          const struct classes_settings *settings, struct weft_error *error)
{
    (void)classifier;
    (void)settings;
    return weft_bpf_absent(error);
}

void weft_classifier_close(struct weft_classifier *classifier)
{
    (void)classifier;
}

bool weft_classifier_counts(struct classes_count *counts, uint32_t id, struct weft_error *error)
{
    (void)counts;
    (void)id;
    return weft_bpf_absent(error);
}

bool weft_loss_load(int *program_fd, uint32_t *program_id, struct weft_error *error)
{
    (void)program_fd;
    (void)program_id;
    return weft_bpf_absent(error);
}

bool weft_loss_set(uint32_t program_id, double probability, struct weft_error *error)
{
    (void)program_id;
    (void)probability;
    return weft_bpf_absent(error);
}

bool weft_loss_read(struct classes_loss *loss, uint32_t program_id, struct weft_error *error)
{
    (void)loss;
    (void)program_id;
    return weft_bpf_absent(error);
}
