// SPDX-License-Identifier: Apache-2.0
// What weft simulate writes besides its result: records of flows, series of links, a Perfetto
// trace.

#include "simulate.h"
#include "weft/report.h"

static const uint32_t flow_records_max = 4u << 20;
static const uint32_t series_rows_max = 1u << 20;
static const uint32_t trace_samples_max = 1u << 18;
static const uint32_t trace_slices_max = 1u << 20;
static const uint64_t every_default_ps = 10000000; // 10 us
enum { LOSSY_LINKS_MAX = 5 };

bool simulate_ask_records(struct simulate *simulate, bool is_job)
{
    struct cli *cli = simulate->cli;
    const struct cli_records *records = &cli->records;
    struct weft_sim_options *sim = &simulate->packets;
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    if (records->flows_path != NULL && is_job && !is_packet) {
        return cli_misuse(cli, "--flow-records of jobs are messages of packets; write --engine "
                               "packet, too");
    }
    if (records->every_ps > 0 && records->series_path == NULL && records->trace_path == NULL) {
        return cli_misuse(cli, "--every is for --series and --trace; write one of them");
    }
    if (!cli_can_write(cli, records->flows_path) || !cli_can_write(cli, records->series_path) ||
        !cli_can_write(cli, records->trace_path)) {
        return false;
    }
    bool traces = records->trace_path != NULL;
    if (is_packet && (records->flows_path != NULL || (traces && !is_job))) {
        sim->records.flow_limit = flow_records_max;
    }
    if (records->series_path != NULL || traces) {
        sim->records.sample_ps = records->every_ps > 0 ? records->every_ps : every_default_ps;
        sim->records.sample_limit = traces ? trace_samples_max : series_rows_max;
    }
    sim->timeline |= traces && is_job;
    sim->progress = &cli->environment.progress.simulation;
    return true;
}

// The records of flows that the flow engine played.
static void take_flows(struct simulate *simulate, struct weft_records *records,
                       const struct weft_flow_list *flows, const uint64_t *ends_ps)
{
    struct weft_flow_record *rows =
        WEFT_NEW(&simulate->cli->arena, struct weft_flow_record, flows->count);
    for (uint32_t i = 0; i < flows->count; i++) {
        rows[i] = (struct weft_flow_record){.start_ps = flows->start_ps[i],
                                            .end_ps = ends_ps[i],
                                            .size_bytes = flows->size_bytes[i],
                                            .from = flows->from[i],
                                            .to = flows->to[i],
                                            .task = i};
    }
    records->flows = rows;
    records->flow_count = flows->count;
}

static bool save_trace(struct simulate *simulate, const struct weft_sim_result *result,
                       const struct weft_records *records, const struct weft_sim_job *jobs,
                       uint32_t job_count)
{
    struct cli *cli = simulate->cli;
    const char *path = cli->records.trace_path;
    const struct weft_trace trace = {
        .fabric = &simulate->network->fabric,
        .jobs = jobs,
        .job_count = job_count,
        .task_start_ps = result->task_start_ps,
        .task_end_ps = result->task_end_ps,
        .records = *records,
        .slice_limit = trace_slices_max,
    };
    struct weft_arena scratch = cli->scratch;
    const void *data;
    size_t length;
    uint64_t left_out;
    if (!weft_perfetto_write(&data, &length, &left_out, &trace, &scratch, &cli->error) ||
        !weft_file_save(path, data, length, &cli->error)) {
        return false;
    }
    if (left_out > 0) {
        cli_note(cli, "%s: cut; %llu slices are left out", path, (unsigned long long)left_out);
    }
    return true;
}

bool simulate_save_records(struct simulate *simulate, const struct weft_sim_result *result,
                           const struct weft_sim_job *jobs, uint32_t job_count,
                           const struct weft_flow_list *flows, const uint64_t *ends_ps)
{
    struct cli *cli = simulate->cli;
    const struct cli_records *asked = &cli->records;
    struct weft_records records = result->records;
    bool is_packet = simulate->packets.engine == WEFT_ENGINE_PACKET;
    if (!is_packet && flows != NULL && (asked->flows_path != NULL || asked->trace_path != NULL)) {
        take_flows(simulate, &records, flows, ends_ps);
    }
    if (records.flows_left_out > 0) {
        cli_note(cli, "records of %llu flows are left out; the first %u are there",
                 (unsigned long long)records.flows_left_out, records.flow_count);
    }
    if (records.sample_ps > simulate->packets.records.sample_ps) {
        char unit[WEFT_UNIT_TEXT];
        cli_note(cli, "links are sampled every %s, to bound what is written",
                 weft_show_time(unit, records.sample_ps));
    }
    if (asked->flows_path != NULL &&
        !weft_records_save_flows(asked->flows_path, &records, cli->scratch, &cli->error)) {
        return false;
    }
    if (asked->series_path != NULL &&
        !weft_records_save_series(asked->series_path, &records, &simulate->network->fabric,
                                  cli->scratch, &cli->error)) {
        return false;
    }
    return asked->trace_path == NULL || save_trace(simulate, result, &records, jobs, job_count);
}

// ---- links that lose packets ----

// The links with the most drops, at most LOSSY_LINKS_MAX, by falling drops.
static uint32_t find_lossy(uint32_t links[LOSSY_LINKS_MAX], const struct weft_port_counts *ports,
                           uint32_t link_count)
{
    uint32_t count = 0;
    for (uint32_t link = 0; link < link_count; link++) {
        if (ports[link].drops == 0 ||
            (count == LOSSY_LINKS_MAX && ports[links[count - 1]].drops >= ports[link].drops)) {
            continue;
        }
        uint32_t place = count < LOSSY_LINKS_MAX ? count++ : count - 1;
        for (; place > 0 && ports[links[place - 1]].drops < ports[link].drops; place--) {
            links[place] = links[place - 1];
        }
        links[place] = link;
    }
    return count;
}

static const char *show_node(struct simulate *simulate, uint32_t node)
{
    uint32_t servers = simulate->network->fabric.server_count;
    return node < servers ? weft_arena_format(&simulate->cli->arena, "server %u", node)
                          : weft_arena_format(&simulate->cli->arena, "switch %u", node - servers);
}

void simulate_tell_drops(struct simulate *simulate, json_t *object,
                         const struct weft_sim_result *result)
{
    static const struct weft_table_column columns[] = {{"link", WEFT_ALIGN_LEFT},
                                                       {"drops", WEFT_ALIGN_RIGHT},
                                                       {"longest queue", WEFT_ALIGN_RIGHT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_fabric *fabric = &simulate->network->fabric;
    uint32_t links[LOSSY_LINKS_MAX];
    if (result->ports == NULL) {
        return;
    }
    uint32_t count = find_lossy(links, result->ports, fabric->link_count);
    json_t *list = json_array();
    struct weft_arena *arena = &simulate->cli->arena;
    const char *cells[LOSSY_LINKS_MAX * COLUMNS];
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_link *link = &fabric->links[links[i]];
        const struct weft_port_counts *port = &result->ports[links[i]];
        json_t *row = json_object();
        char unit[WEFT_UNIT_TEXT];
        cli_set_count(row, "link", links[i]);
        cli_set_text(row, "from", show_node(simulate, link->from));
        cli_set_text(row, "to", show_node(simulate, link->to));
        cli_set_count(row, "drops", port->drops);
        cli_set_count(row, "max_backlog_bytes", port->backlog_max_bytes);
        json_array_append_new(list, row);
        cells[i * COLUMNS] = weft_arena_format(arena, "%s > %s", show_node(simulate, link->from),
                                               show_node(simulate, link->to));
        cells[i * COLUMNS + 1] = weft_arena_format(arena, "%llu", (unsigned long long)port->drops);
        cells[i * COLUMNS + 2] =
            weft_arena_format(arena, "%s", weft_show_bytes(unit, (double)port->backlog_max_bytes));
    }
    if (object != NULL) {
        cli_set(object, "lossy_links", list);
        return;
    }
    json_decref(list);
    if (count > 0) {
        cli_say(simulate->cli, "%s", weft_report_table(columns, COLUMNS, cells, count, arena));
    }
}
