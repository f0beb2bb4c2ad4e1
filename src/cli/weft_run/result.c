// SPDX-License-Identifier: Apache-2.0
// The result of a run of weft-run, as text and as JSON ("weft.run/1").
//
// Times of the iterations, what was checked, and what sockets and TCP counted. The text has means
// and extremes; the JSON has every iteration, so that a bench can take its own statistics.

#include "request/json/json.h"
#include "run.h"

#include <inttypes.h>
#include <math.h>

struct summary {
    double mean_s;
    double least_s;
    double most_s;
    double after_late_s; // mean
    double worst_ratio;
};

static struct summary summarize(const struct lab_ranks_result *result)
{
    struct summary summary = {.least_s = (double)INFINITY};
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        const struct lab_ranks_time *time = &result->times[i];
        summary.mean_s += time->seconds / result->iteration_count;
        summary.after_late_s += time->after_late_s / result->iteration_count;
        summary.least_s = fmin(summary.least_s, time->seconds);
        summary.most_s = fmax(summary.most_s, time->seconds);
        summary.worst_ratio = fmax(summary.worst_ratio, time->worst_ratio);
    }
    return summary;
}

static double sent_bytes(const struct lab_ranks_result *result)
{
    const struct lab_mlt_counts *mlt = &result->mlt;
    return (double)(result->counts.sent_bytes + mlt->important.bytes + mlt->unimportant.bytes +
                    mlt->resent.bytes + mlt->control.bytes);
}

static double delivered(const struct lab_mlt_counts *mlt)
{
    return (double)mlt->contributions_came / (double)mlt->contributions_due;
}

static void set_class(json_t *object, const char *name, const struct lab_mlt_class_counts *counts)
{
    json_t *class = json_object();
    weft_set_count(class, "packets", counts->packets);
    weft_set_count(class, "bytes", counts->bytes);
    json_object_set_new(object, name, class);
}

// What MLT's ends counted, of all ranks together.
static void set_mlt(json_t *object, const struct lab_ranks_options *ranks,
                    const struct lab_mlt_counts *mlt)
{
    json_t *all = json_object();
    weft_set_real(all, "loss_bound", ranks->mlt.bound);
    weft_set_real(all, "unimportant", ranks->mlt.unimportant);
    weft_set_count(all, "paths", ranks->mlt.paths == 0 ? 1 : ranks->mlt.paths);
    weft_set_real(all, "delivered_ratio", delivered(mlt));
    weft_set_real(all, "delivered_min_ratio", mlt->delivered_min_ratio);
    set_class(all, "important", &mlt->important);
    set_class(all, "unimportant_sent", &mlt->unimportant);
    set_class(all, "resent", &mlt->resent);
    set_class(all, "control", &mlt->control);
    weft_set_count(all, "stops", mlt->kinds[WEFT_MLT_STOP]);
    weft_set_count(all, "probes", mlt->kinds[WEFT_MLT_PROBE]);
    weft_set_count(all, "bitmaps", mlt->kinds[WEFT_MLT_BITMAP]);
    weft_set_count(all, "reports", mlt->kinds[WEFT_MLT_REPORT]);
    weft_set_count(all, "received_packets", mlt->received_packets);
    weft_set_count(all, "marked_packets", mlt->marked_packets);
    weft_set_count(all, "duplicates", mlt->verdicts[WEFT_MLT_DUPLICATE]);
    weft_set_count(all, "late", mlt->verdicts[WEFT_MLT_LATE]);
    weft_set_count(all, "stale", mlt->verdicts[WEFT_MLT_STALE]);
    weft_set_count(all, "early", mlt->verdicts[WEFT_MLT_EARLY]);
    weft_set_count(all, "strange", mlt->verdicts[WEFT_MLT_STRANGE]);
    weft_set_count(all, "malformed", mlt->verdicts[WEFT_MLT_MALFORMED]);
    for (uint32_t i = WEFT_MLT_READ + 1; i < WEFT_MLT_DROPS; i++) {
        char key[32];
        snprintf(key, sizeof key, "dropped_%s", weft_mlt_drop_name((enum weft_mlt_drop)i));
        weft_set_count(all, key, mlt->drops[i]);
    }
    json_object_set_new(object, "mlt", all);
}

// The result as "weft.run/1": all times, and the counts that the text leaves out.
static void print_json(const struct run_request *request, const struct weft_schedule *schedule,
                       const struct lab_ranks_result *result)
{
    struct summary summary = summarize(result);
    json_t *object = weft_set_object("weft.run/1");
    weft_set_text(object, "algorithm", schedule->name);
    weft_set_text(object, "collective", weft_collective_name(schedule->kind));
    weft_set_count(object, "ranks", schedule->rank_count);
    weft_set_count(object, "size_bytes", request->ranks.size_bytes);
    weft_set_text(object, "type", request->ranks.type == LAB_FLOAT32 ? "f32" : "bf16");
    weft_set_text(object, "transport", request->ranks.uses_mlt ? "mlt" : "tcp");
    weft_set_count(object, "lanes", request->ranks.lanes);
    weft_set_truth(object, "zero_copy", request->ranks.connections.zero_copy);
    weft_set_truth(object, "checked", request->ranks.check);
    weft_set_count(object, "iterations", result->iteration_count);
    weft_set_real(object, "mean_s", summary.mean_s);
    weft_set_real(object, "least_s", summary.least_s);
    weft_set_real(object, "most_s", summary.most_s);
    weft_set_real(object, "late_s", 1e-9 * (double)request->ranks.late_ns);
    weft_set_real(object, "after_late_s", summary.after_late_s);
    weft_set_real(object, "rounding_ratio", summary.worst_ratio);
    json_t *times = weft_set_list(object, "seconds");
    for (uint32_t i = 0; i < result->iteration_count; i++) {
        json_array_append_new(times, json_real(result->times[i].seconds));
    }
    weft_set_real(object, "cpu_s", result->cpu_s);
    weft_set_count(object, "preemptions", result->preemptions);
    weft_set_count(object, "sent_bytes", (uint64_t)sent_bytes(result));
    weft_set_real(object, "cpu_s_per_byte", result->cpu_s / sent_bytes(result));
    weft_set_count(object, "sends", result->counts.sends + result->mlt.sends);
    weft_set_count(object, "receives", result->counts.receives + result->mlt.receives);
    weft_set_count(object, "waits", result->counts.waits + result->mlt.waits);
    weft_set_count(object, "kept_bytes", result->counts.kept_bytes);
    weft_set_count(object, "zero_copies", result->counts.zero_copies);
    weft_set_count(object, "zero_copies_copied", result->counts.copies);
    weft_set_count(object, "retransmits", result->tcp.retransmits);
    weft_set_count(object, "ecn_marks", result->tcp.ecn_marks);
    if (request->ranks.uses_mlt) {
        set_mlt(object, &request->ranks, &result->mlt);
    }
    cli_say(request->input.cli, "%s", weft_set_finish(object, &request->input.cli->arena));
}

// The result in a few lines.
static void print_text(const struct run_request *request, const struct weft_schedule *schedule,
                       const struct lab_ranks_result *result)
{
    struct cli *cli = request->input.cli;
    struct summary summary = summarize(result);
    char size[WEFT_UNIT_TEXT];
    char mean[WEFT_UNIT_TEXT];
    char least[WEFT_UNIT_TEXT];
    char most[WEFT_UNIT_TEXT];
    char rate[WEFT_UNIT_TEXT];
    double size_bytes = (double)request->ranks.size_bytes;
    cli_say(cli, "%s: %s of %s (%s) by %u processes\n", schedule->name,
            weft_collective_name(schedule->kind), weft_show_bytes(size, size_bytes),
            request->ranks.type == LAB_FLOAT32 ? "f32" : "bf16", schedule->rank_count);
    if (request->ranks.check && request->ranks.mlt.bound > 0) {
        cli_say(cli, "sums     the same bits at all ranks in %u iteration%s\n",
                result->iteration_count, plural(result->iteration_count));
    } else if (request->ranks.check) {
        cli_say(cli, "sums     right in %u iteration%s: whole numbers exactly%s",
                result->iteration_count, plural(result->iteration_count),
                result->iteration_count < 2 ? "\n" : "");
        if (result->iteration_count > 1) {
            cli_say(cli, ", rounded ones within %.2g of their bound\n", summary.worst_ratio);
        }
    }
    cli_say(cli, "time     %s in mean, %s to %s, %u iteration%s\n",
            weft_show_time(mean, weft_picoseconds(summary.mean_s)),
            weft_show_time(least, weft_picoseconds(summary.least_s)),
            weft_show_time(most, weft_picoseconds(summary.most_s)), result->iteration_count,
            plural(result->iteration_count));
    if (request->ranks.late_ns > 0) {
        cli_say(cli, "late     %s after rank %u began\n",
                weft_show_time(mean, weft_picoseconds(summary.after_late_s)),
                request->ranks.late_rank);
    }
    cli_say(cli, "rate     %s of the collective's size\n",
            weft_show_rate(rate, size_bytes / summary.mean_s));
    if (request->ranks.uses_mlt) {
        const struct lab_mlt_counts *mlt = &result->mlt;
        cli_say(cli,
                "sent     %s in %" PRIu64 " packets, %" PRIu64 " of them again, %" PRIu64
                " of control; %.2f s of CPU\n",
                weft_show_bytes(size, sent_bytes(result)),
                mlt->important.packets + mlt->unimportant.packets + mlt->resent.packets,
                mlt->resent.packets, mlt->control.packets, result->cpu_s);
        cli_say(cli, "kept     %.4f of all contributions, %.4f of a tensor at least\n",
                delivered(mlt), mlt->delivered_min_ratio);
        return;
    }
    cli_say(cli, "sent     %s in %" PRIu64 " sends, %" PRIu64 " retransmits; %.2f s of CPU\n",
            weft_show_bytes(size, (double)result->counts.sent_bytes), result->counts.sends,
            result->tcp.retransmits, result->cpu_s);
}

void run_tell(const struct run_request *request, const struct weft_schedule *schedule,
              const struct lab_ranks_result *result)
{
    if (request->input.cli->json) {
        print_json(request, schedule, result);
    } else {
        print_text(request, schedule, result);
    }
}
