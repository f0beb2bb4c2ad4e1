// SPDX-License-Identifier: Apache-2.0
// What weft simulate prints for people: of jobs and flows on a fabric, or of jobs that share the
// links of a snapshot. What is printed is what the JSON says, in units for reading; the last line
// is what the run took.

#include "simulate.h"
#include "weft/report.h"

#include <string.h>

static bool is_packet(const struct weft_simulate_result *result)
{
    return result->options.engine == WEFT_ENGINE_PACKET;
}

static bool repeats(const struct weft_simulate_result *result)
{
    return result->options.iterations > 1;
}

// ---- on a fabric ----

static void print_headline(struct cli *cli, const struct weft_simulate_result *result)
{
    const struct weft_fabric *fabric = &result->network->fabric;
    const struct weft_fabric_reference *reference =
        weft_fabric_reference_named(result->fabric, NULL);
    bool chooses =
        reference != NULL ? reference->has_paths : strcmp(result->fabric, "topology") == 0;
    bool hashed = chooses && result->cluster.balance == WEFT_BALANCE_HASH;
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "%s: ", result->fabric);
    if (result->accelerators > 1) {
        cli_say(cli, "%u accelerators on ", fabric->server_count);
    }
    cli_say(cli, "%u servers, ", fabric->server_count / result->accelerators);
    if (result->cluster.degree > 1) {
        cli_say(cli, "%u ports each, ", result->cluster.degree);
    }
    cli_say(cli, "%u links, %s a port%s\n", fabric->link_count,
            weft_show_rate(unit, result->cluster.rate_Bps),
            result->network->routes.spread == WEFT_SPREAD_NICS ? ", a path by hash from each NIC"
            : hashed                                           ? ", balance hash"
                                                               : "");
}

// The links that lost the most packets.
static void print_losses(struct cli *cli, const struct weft_simulate_result *result)
{
    static const struct weft_table_column columns[] = {{"link", WEFT_ALIGN_LEFT},
                                                       {"drops", WEFT_ALIGN_RIGHT},
                                                       {"longest queue", WEFT_ALIGN_RIGHT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    if (result->lossy_count == 0) {
        return;
    }
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->lossy_count * COLUMNS);
    for (uint32_t i = 0; i < result->lossy_count; i++) {
        const struct weft_lossy_link *lossy = &result->lossy[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0].text = weft_arena_format(arena, "%s > %s", lossy->from, lossy->to);
        row[1] = weft_cell_count(arena, lossy->counts.drops);
        row[2] = weft_cell_bytes(arena, (double)lossy->counts.backlog_max_bytes);
    }
    cli_table(cli, columns, COLUMNS, cells, result->lossy_count);
}

// What MLT sent: data once and again, and control.
static void print_step(struct cli *cli, const struct weft_step_trace *step)
{
    uint64_t bytes[4] = {0};
    char shown[4][WEFT_UNIT_TEXT];
    for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
        bool is_resent = kind == WEFT_STEP_RESENT_IMPORTANT || kind == WEFT_STEP_RESENT_UNIMPORTANT;
        bytes[is_resent                           ? 2
              : kind < WEFT_STEP_RESENT_IMPORTANT ? kind
                                                  : 3] += step->sent[kind].bytes;
    }
    for (uint32_t i = 0; i < 4; i++) {
        weft_show_bytes(shown[i], (double)bytes[i]);
    }
    cli_say(cli, "sent %s important, %s unimportant, %s again, %s of control\n", shown[0], shown[1],
            shown[2], shown[3]);
}

// What packets met, and what the run took.
static void print_last_lines(struct cli *cli, const struct weft_simulate_result *result)
{
    const struct weft_packet_counts *counts = &result->sim.packets;
    if (is_packet(result)) {
        char buffer[WEFT_UNIT_TEXT];
        cli_say(cli,
                "%s%s, packets of %u bytes, ports of %s: %llu packets, %s%llu drops, %llu marked, "
                "%llu sent again, %llu timeouts\n",
                weft_transport_name(result->options.transport),
                result->options.dctcp.counts_acks ? " as recorded (preset topoopt)" : "",
                result->options.packet_bytes,
                weft_show_bytes(buffer, (double)result->options.packet->buffer_bytes),
                (unsigned long long)counts->packets,
                counts->trims > 0 ? weft_arena_format(&cli->arena, "%llu cut to their headers, ",
                                                      (unsigned long long)counts->trims)
                                  : "",
                (unsigned long long)counts->drops, (unsigned long long)counts->ecn_marks,
                (unsigned long long)counts->retransmits, (unsigned long long)counts->timeouts);
        if (result->options.packet->port.loss_ratio > 0) {
            cli_say(cli, "lost on links by chance: %llu\n", (unsigned long long)counts->corrupted);
        }
        if (result->options.transport == WEFT_TRANSPORT_MLT && counts->delivered.of_bytes > 0) {
            cli_say(cli,
                    "delivered %.4f of all bytes, %.4f of a message at least; %llu important "
                    "packets lost in ports\n",
                    counts->delivered.bytes / counts->delivered.of_bytes,
                    counts->delivered.min_ratio, (unsigned long long)counts->important_lost);
        }
        if (result->sim.step != NULL) {
            print_step(cli, result->sim.step);
        }
        print_losses(cli, result);
    }
    const struct weft_skip_counts *skips = &result->sim.skips;
    if (is_packet(result) && result->options.packet->skip) {
        char bytes[WEFT_UNIT_TEXT];
        char all[WEFT_UNIT_TEXT];
        cli_say(cli,
                "skipped %s of %s in %llu spans, and %llu messages as before; %llu samples differ "
                "by %.2f %% at most, %.2f %% on average\n",
                weft_show_bytes(bytes, skips->bytes), weft_show_bytes(all, skips->of_bytes),
                (unsigned long long)skips->spans, (unsigned long long)skips->repeated,
                (unsigned long long)skips->samples, 100 * skips->error_max_ratio,
                100 * skips->error_mean_ratio);
    }
    if (result->options.partitions.count > 0) {
        cli_say(cli, "played in %u of %u parts\n", result->sim.partitions.count,
                result->options.partitions.count);
    }
    cli_say(cli, "%llu flow%s, %llu events, %.3f s\n", (unsigned long long)result->sim.flow_count,
            result->sim.flow_count == 1 ? "" : "s", (unsigned long long)result->sim.event_count,
            result->wall_s);
}

static void print_times(struct cli *cli, const char *of, const struct weft_simulated_times *times)
{
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "a %-9s mean %s", of, weft_show_time(unit, weft_picoseconds(times->mean_s)));
    cli_say(cli, ", median %s", weft_show_time(unit, times->median_ps));
    cli_say(cli, ", 99th percentile %s", weft_show_time(unit, times->p99_ps));
}

static void print_flows(struct cli *cli, const struct weft_simulate_result *result)
{
    char unit[WEFT_UNIT_TEXT];
    print_headline(cli, result);
    bool trees = result->algorithm != NULL && strcmp(result->algorithm, "ring") != 0;
    cli_say(cli, "%s%s%s\n", result->load, trees ? ", by " : "", trees ? result->algorithm : "");
    cli_say(cli, "completion  %s\n", weft_show_time(unit, result->sim.end_ps));
    if (repeats(result)) {
        cli_say(cli, "iteration   mean %s", weft_show_time(unit, result->jobs[0].iteration_ps));
        cli_say(cli, ", 99th percentile %s\n", weft_show_time(unit, result->jobs[0].p99_ps));
    }
    if (result->times.count > 0) {
        print_times(cli, "flow", &result->times);
        cli_say(cli, ", longest %s\n", weft_show_time(unit, result->times.max_ps));
    }
    print_last_lines(cli, result);
}

// A row for each job. Ranks have a column only where they are accelerators, the percentile where
// jobs have several iterations.
static void print_jobs(struct cli *cli, const struct weft_simulate_result *result)
{
    enum { COLUMNS_MAX = 6 };
    struct weft_table_column columns[COLUMNS_MAX];
    static const char *const titles[COLUMNS_MAX] = {"job",   "ranks",     "servers",
                                                    "first", "iteration", "99th percentile"};
    const bool shows[COLUMNS_MAX] = {true, result->accelerators > 1, true, true,
                                     true, repeats(result)};
    uint32_t shown = 0;
    for (uint32_t c = 0; c < COLUMNS_MAX; c++) {
        if (shows[c]) {
            columns[shown++] =
                (struct weft_table_column){titles[c], c == 0 ? WEFT_ALIGN_LEFT : WEFT_ALIGN_RIGHT};
        }
    }
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->job_count * shown);
    uint32_t at = 0;
    for (uint32_t j = 0; j < result->job_count; j++) {
        const struct weft_simulated_job *job = &result->jobs[j];
        const struct weft_table_cell row[COLUMNS_MAX] = {
            {.text = job->name},
            weft_cell_count(arena, job->rank_count),
            weft_cell_count(arena, job->server_count),
            weft_cell_count(arena, job->first_server),
            weft_cell_time(arena, weft_seconds(job->iteration_ps)),
            weft_cell_time(arena, weft_seconds(job->p99_ps)),
        };
        for (uint32_t c = 0; c < COLUMNS_MAX; c++) {
            if (shows[c]) {
                cells[at++] = row[c];
            }
        }
    }
    print_headline(cli, result);
    cli_table(cli, columns, shown, cells, result->job_count);
    if (result->times.count > 0) {
        print_times(cli, "transfer", &result->times);
        cli_say(cli, "\n");
    }
    print_last_lines(cli, result);
}

// ---- of a snapshot ----

static void fill_row(struct weft_table_cell *row, struct weft_arena *arena, const char *name,
                     const struct weft_sharing_outcome *outcome)
{
    row[0].text = name;
    row[1] = weft_cell_time(arena, outcome->ideal_s);
    row[2] = weft_cell_time(arena, outcome->mean_s);
    row[3] = weft_cell_time(arena, outcome->p99_s);
    row[4] = weft_cell_number(arena, 3, outcome->slowdown);
    row[5] = outcome->converged_after == WEFT_NONE
                 ? (struct weft_table_cell){.text = "never"}
                 : weft_cell_count(arena, outcome->converged_after);
}

// A row for each job of a snapshot and one for their means: an iteration alone, together with the
// others, and after how many iterations it stays within 5 % of alone.
static void print_shared(struct cli *cli, const struct weft_simulate_result *result)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},         {"alone", WEFT_ALIGN_RIGHT},
        {"mean", WEFT_ALIGN_RIGHT},       {"99th percentile", WEFT_ALIGN_RIGHT},
        {"over alone", WEFT_ALIGN_RIGHT}, {"within 5 % after", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    const struct weft_snapshot *snapshot = &result->shared.set.snapshot;
    const struct weft_sharing_play *play = &result->shared.play;
    uint32_t count = snapshot->job_count;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)(count + 1) * COLUMNS);
    for (uint32_t job = 0; job < count; job++) {
        fill_row(cells + (size_t)job * COLUMNS, arena, snapshot->jobs[job].name, &play->jobs[job]);
    }
    fill_row(cells + (size_t)count * COLUMNS, arena, "(mean)", &play->all);
    cli_say(cli, "%s: jobs %u, links %u, %s, %s; later half of %u iterations\n", result->load,
            count, snapshot->link_count, result->shared.policy,
            is_packet(result) ? weft_transport_name(result->options.transport) : "fluid",
            result->options.iterations);
    cli_table(cli, columns, COLUMNS, cells, count + 1);
    if (play->sim.wait_count > 0) {
        cli_say(cli, "waited to keep in step: %llu iterations\n",
                (unsigned long long)play->sim.wait_count);
    }
    if (is_packet(result)) {
        const struct weft_packet_counts *counts = &play->sim.packets;
        cli_say(cli, "%llu packets, %llu drops, %llu marked on the links, %llu sent again\n",
                (unsigned long long)counts->packets, (unsigned long long)counts->drops,
                (unsigned long long)result->shared.mark_count,
                (unsigned long long)counts->retransmits);
    }
    cli_say(cli, "%llu flows, %llu events, %.3f s\n", (unsigned long long)play->sim.flow_count,
            (unsigned long long)play->sim.event_count, result->wall_s);
}

void simulate_print(struct cli *cli, const struct weft_simulate_result *result)
{
    switch (result->kind) {
    case WEFT_SIMULATE_JOBS:
        print_jobs(cli, result);
        return;
    case WEFT_SIMULATE_FLOWS:
        print_flows(cli, result);
        return;
    case WEFT_SIMULATE_SHARED:
        print_shared(cli, result);
        return;
    }
}
