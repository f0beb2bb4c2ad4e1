// SPDX-License-Identifier: Apache-2.0
// The answer in sentences: which fabric to take, what its network costs, what binds, rails, how
// long a training takes, storage, and how sure that is.
//
// The terminal and the page both have them, so that neither says what the other does not. Each is
// a name and words, "What binds" and "computation 99.6 %"; who writes them puts a colon between
// and a full stop behind. O(text).

#include "request/buy/buy.h"

#include <string.h>

#define PERCENT 100.0

// "1,234,567": the dollars' form without their sign.
static const char *grouped(struct weft_arena *arena, double value)
{
    char unit[WEFT_UNIT_TEXT];
    return weft_arena_format(arena, "%s", weft_show_usd(unit, value) + 1);
}

const char *weft_buy_by(const struct weft_buy_row *row)
{
    return row->estimate ? "estimate" : row->moving != NULL ? "replay" : "flow engine";
}

const char *weft_buy_head(const struct weft_buy_result *result, struct weft_arena *arena)
{
    char unit[WEFT_UNIT_TEXT];
    char carried[WEFT_UNIT_TEXT];
    const struct weft_cluster *cluster = &result->cluster;
    return weft_arena_format(arena, "%u servers of %u %s, %u ports of %s each%s%s%s, balance %s",
                             cluster->server_count, cluster->accelerators_per_server,
                             cluster->accelerator, cluster->degree,
                             weft_show_rate(unit, weft_cluster_nic_rate(cluster)),
                             cluster->nic_Bps > 0 ? " (host links carry " : "",
                             cluster->nic_Bps > 0 ? weft_show_rate(carried, cluster->rate_Bps) : "",
                             cluster->nic_Bps > 0 ? ")" : "", weft_balance_words[cluster->balance]);
}

const char *weft_buy_causes(const struct weft_buy_row *row, struct weft_arena *arena)
{
    if (!row->found.hybrid) {
        return NULL;
    }
    const struct weft_hybrid_estimate *estimate = &row->found.estimates[0];
    struct cause {
        const char *name;
        uint64_t ps;
    } causes[] = {
        {"computation", estimate->compute_ps},
        {"the pipeline's bubble", estimate->bubble_ps},
        {"tensor parallelism", estimate->tensor_ps},
        {"sends of stages", estimate->pipeline_ps},
        {"experts", estimate->expert_ps},
        {"context parallelism", estimate->context_ps},
        {"gradients and parameters", estimate->data_ps},
        {"the optimizer", estimate->optimizer_ps},
        {"what the software does between", estimate->step_ps},
    };
    enum { CAUSES = sizeof causes / sizeof causes[0] };
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < CAUSES; i++) {
        uint32_t most = i;
        for (uint32_t j = i + 1; j < CAUSES; j++) {
            most = causes[j].ps > causes[most].ps ? j : most;
        }
        struct cause next = causes[most];
        causes[most] = causes[i];
        causes[i] = next;
        double share = PERCENT * (double)next.ps / (double)estimate->iteration_ps;
        if (share >= 0.05) {
            weft_text_add(&text, "%s%s %.1f %%", i > 0 ? ", " : "", next.name, share);
        }
    }
    return text.data;
}

const char *weft_buy_launch(const struct weft_launch *launch, struct weft_arena *arena)
{
    return launch->torchrun == NULL
               ? NULL
               : weft_arena_format(arena,
                                   "%s%storchrun %s \\\n    pretrain_gpt.py \\\n    %s \\\n"
                                   "    %s",
                                   launch->environment != NULL ? launch->environment : "",
                                   launch->environment != NULL ? " " : "", launch->torchrun,
                                   launch->megatron, launch->model);
}

// Why this one, among several.
static const char *say_advice(const struct weft_buy_result *result, const struct weft_buy_row *row,
                              struct weft_arena *arena)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    if (batch->row_count == 1) {
        return NULL;
    }
    const char *why =
        weft_arena_format(arena, "of the fabrics within 1 %% of the fastest%s it costs least",
                          row->sold ? " whose ports are sold" : "");
    if (row->own == NULL || batch->bought == WEFT_NONE) {
        return why;
    }
    const struct weft_buy_row *other = &batch->rows[batch->bought];
    char time[WEFT_UNIT_TEXT];
    char usd[WEFT_UNIT_TEXT];
    return weft_arena_format(arena,
                             "%s. It has no switches: ports of servers are joined through patch "
                             "panels, and servers pass on what is for others. Of those that one "
                             "buys take %s: %s, %s",
                             why, other->fabric,
                             weft_show_time(time, weft_picoseconds(other->iteration_s)),
                             weft_show_usd(usd, other->bill.usd));
}

// Until which dark time a row whose circuits move is quicker than all that stand, by more than what
// times may be off by; 0: at none.
static uint64_t leads_until(const struct weft_buy_result *result, uint32_t row)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    uint64_t until_ps = 0;
    for (uint32_t i = 0; i < result->moved_count; i++) {
        const double *iteration_s = result->moved[i].iteration_s;
        bool leads = iteration_s[row] > 0;
        for (uint32_t r = 0; r < batch->row_count; r++) {
            bool stands = batch->rows[r].moving == NULL && iteration_s[r] > 0 &&
                          strcmp(batch->rows[r].fabric, "ideal") != 0;
            leads = leads && !(stands && iteration_s[r] <= iteration_s[row] * AS_FAST_RATIO);
        }
        until_ps = leads ? result->moved[i].dark_ps : until_ps;
    }
    return until_ps;
}

// "mixnet up to 10 ms, fat-tree from 100 ms on; quicker than all that stand: mixnet up to 10 ms".
static const char *say_dark(const struct weft_buy_result *result, struct weft_arena *arena)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    char time[WEFT_UNIT_TEXT];
    struct weft_text text;
    uint32_t starts = 0; // where the fastest became so
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < result->moved_count; i++) {
        const struct weft_buy_moved *moved = &result->moved[i];
        bool goes_on = i > 0 && moved->fastest == moved[-1].fastest;
        bool last = i + 1 == result->moved_count;
        const char *name =
            moved->fastest == WEFT_NONE ? "none" : batch->rows[moved->fastest].fabric;
        if (!goes_on) {
            weft_text_add(&text, "%s%s", i > 0 ? ", " : "", name);
            starts = i;
            if (i > 0) {
                weft_text_add(&text, " from %s", weft_show_time(time, moved->dark_ps));
            }
        }
        if (last) {
            weft_text_add(&text, "%s", starts > 0 ? " on" : " at all of them");
        } else if (moved[1].fastest != moved->fastest) {
            weft_text_add(&text, " up to %s", weft_show_time(time, moved->dark_ps));
        }
    }
    for (uint32_t r = 0, said = 0; r < batch->row_count; r++) {
        uint64_t until_ps = batch->rows[r].moving != NULL ? leads_until(result, r) : 0;
        if (batch->rows[r].moving == NULL) {
            continue;
        }
        weft_text_add(&text, "%s%s %s",
                      said++ > 0 ? ", " : "; quicker than all that stand: ", batch->rows[r].fabric,
                      until_ps > 0 ? "up to " : "never");
        if (until_ps > 0) {
            weft_text_add(&text, "%s", weft_show_time(time, until_ps));
        }
    }
    return result->moved_count > 0 ? text.data : NULL;
}

// Whether the bill has switches with a price of their own, beside the price book's.
static bool has_own_prices(const struct weft_bill *bill)
{
    uint32_t i = 0;
    while (i < bill->row_count &&
           (bill->rows[i].model == NULL || !(bill->rows[i].model->usd > 0))) {
        i++;
    }
    return i < bill->row_count;
}

static const char *say_network(const struct weft_buy_result *result, const struct weft_buy_row *row,
                               struct weft_arena *arena)
{
    char unit[WEFT_UNIT_TEXT];
    return weft_arena_format(arena, "%s and %.1f kW by %sthe prices of %s",
                             weft_show_usd(unit, row->bill.usd), row->bill.watts / 1e3,
                             has_own_prices(&row->bill)
                                 ? "the cluster's own prices of switches and, for the rest, "
                                 : "",
                             result->cluster.prices.source);
}

static const char *say_rails(const struct weft_buy_row *row, struct weft_arena *arena)
{
    const struct weft_hybrid_rails *rails = &row->rails;
    unsigned long long all = rails->exchanges;
    unsigned long long crossing = rails->crossing;
    if (all == 0) {
        return NULL;
    }
    const char *kept =
        crossing == 0
            ? weft_arena_format(arena,
                                "no exchange between servers leaves its rail (%llu looked at)", all)
            : weft_arena_format(arena,
                                "%llu of %llu exchanges between servers leave their rail, %s first",
                                crossing, all, rails->crosses);
    return weft_arena_format(arena, "%s%s%s", kept, row->rails_note != NULL ? "; " : "",
                             row->rails_note != NULL ? row->rails_note : "");
}

static struct weft_report_sentence say_training(const struct weft_buy_result *result,
                                                const struct weft_buy_row *row,
                                                struct weft_arena *arena)
{
    if (!(row->tokens_per_s > 0)) {
        return (struct weft_report_sentence){.words = NULL};
    }
    if (!(result->tokens > 0)) {
        return (struct weft_report_sentence){"Training",
                                             "--tokens 300G says how long so many tokens take"};
    }
    const struct weft_buy_training *training = &row->training;
    bool trillions = result->tokens >= 1e12;
    const char *energy =
        training->kwh > 0
            ? weft_arena_format(arena,
                                ", %s kWh (accelerators at their makers' watts and the network, "
                                "without hosts and cooling)",
                                grouped(arena, training->kwh))
            : "";
    return (struct weft_report_sentence){
        weft_arena_format(arena, "Training on %.4g%s tokens",
                          result->tokens / (trillions ? 1e12 : 1e9), trillions ? "T" : "G"),
        weft_arena_format(arena, "%.1f days, %s accelerator hours%s", training->days,
                          grouped(arena, training->accelerator_hours), energy)};
}

static const char *say_storage(const struct weft_buy_result *result, struct weft_arena *arena)
{
    char bytes[WEFT_UNIT_TEXT];
    char rate[WEFT_UNIT_TEXT];
    char time[WEFT_UNIT_TEXT];
    const struct weft_buy_storage *storage = &result->storage;
    const struct weft_storage *stated = &result->cluster.storage;
    if (storage->bill.row_count == 0) {
        return NULL;
    }
    return weft_arena_format(
        arena,
        "a checkpoint of parameters and optimizer state is %s; over %u port%s of %s a server it "
        "takes at least %s to write or to load, all servers at once and storage no slower",
        weft_show_bytes(bytes, storage->checkpoint_bytes), stated->ports,
        stated->ports == 1 ? "" : "s", weft_show_rate(rate, stated->rate_Bps),
        weft_show_time(time, weft_picoseconds(storage->checkpoint_s)));
}

void weft_buy_say(struct weft_report_sentence said[WEFT_BUY_SENTENCES],
                  const struct weft_buy_result *result, const struct weft_buy_row *row,
                  struct weft_arena *arena)
{
    const char *fabric = row->fabric;
    const struct weft_report_sentence sentences[WEFT_BUY_SENTENCES] = {
        [WEFT_BUY_ESTIMATED] = {weft_arena_format(arena, "%s is by estimate", fabric),
                                row->found.why_estimated},
        [WEFT_BUY_ADVICE] = {weft_arena_format(arena, "Take %s", fabric),
                             say_advice(result, row, arena)},
        [WEFT_BUY_DARK] = {"Fastest by dark time", say_dark(result, arena)},
        [WEFT_BUY_NETWORK] = {weft_arena_format(arena, "The network, %s%s", fabric,
                                                result->storage.bill.row_count > 0
                                                    ? ", and that of storage"
                                                    : ""),
                              say_network(result, row, arena)},
        [WEFT_BUY_BINDS] = {"What binds", weft_buy_causes(row, arena)},
        [WEFT_BUY_RAILS] = {"Rails", say_rails(row, arena)},
        [WEFT_BUY_TRAINING] = say_training(result, row, arena),
        [WEFT_BUY_STORAGE] = {"Storage", say_storage(result, arena)},
        [WEFT_BUY_SURENESS] = {"How sure", result->sureness},
    };
    memcpy(said, sentences, sizeof sentences);
}
