// SPDX-License-Identifier: Apache-2.0
// What weft simulate SNAPSHOT.json tells.

#include "sharing.h"
#include "weft/report.h"

static bool is_uneven(const struct sharing *sharing)
{
    bool uneven = false;
    for (uint32_t job = 1; job < sharing->set.snapshot.job_count; job++) {
        uneven = uneven || sharing->shares[job] != sharing->shares[0];
    }
    return uneven;
}

static const char *way_of(const struct sharing *sharing)
{
    return sharing->learns ? "mltcp" : is_uneven(sharing) ? "unfair" : "fair";
}

// Of the snapshot's links together, not of NICs.
static uint64_t count_marks(const struct sharing *sharing)
{
    uint64_t marks = 0;
    for (uint32_t l = 0; l < sharing->set.snapshot.link_count; l++) {
        marks += sharing->play.sim.ports[sharing->play.links[l]].marks;
    }
    return marks;
}

// ---- JSON ----

static void set_outcome(json_t *object, const struct weft_sharing_outcome *outcome)
{
    cli_set_real(object, "iteration_mean_s", outcome->mean_s);
    cli_set_real(object, "iteration_p99_s", outcome->p99_s);
    cli_set_real(object, "ideal_s", outcome->ideal_s);
    cli_set_real(object, "slowdown", outcome->slowdown);
    if (outcome->converged_after == WEFT_NONE) {
        cli_set(object, "converged_after_iterations", json_null());
    } else {
        cli_set_count(object, "converged_after_iterations", outcome->converged_after);
    }
}

static json_t *list_jobs(const struct sharing *sharing)
{
    json_t *list = json_array();
    for (uint32_t job = 0; job < sharing->set.snapshot.job_count; job++) {
        json_t *object = json_object();
        cli_set_text(object, "name", sharing->set.snapshot.jobs[job].name);
        set_outcome(object, &sharing->play.jobs[job]);
        cli_set_real(object, "start_s", weft_seconds(sharing->paces[job].start_ps));
        cli_set_real(object, "weight", sharing->shares[job]);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *list_links(const struct sharing *sharing)
{
    const struct weft_sim_result *sim = &sharing->play.sim;
    json_t *list = json_array();
    for (uint32_t l = 0; l < sharing->set.snapshot.link_count; l++) {
        const struct weft_shared_link *link = &sharing->set.snapshot.links[l];
        uint32_t id = sharing->play.links[l];
        json_t *object = json_object();
        cli_set_text(object, "name", link->name);
        cli_set_real(object, "bytes", sim->link_bytes[id]);
        cli_set_real(object, "used_ratio",
                     sim->link_bytes[id] / link->capacity_Bps / weft_seconds(sim->end_ps));
        if (sim->ports != NULL) {
            cli_set_count(object, "ecn_marks", sim->ports[id].marks);
            cli_set_count(object, "drops", sim->ports[id].drops);
            cli_set_count(object, "max_backlog_bytes", sim->ports[id].backlog_max_bytes);
        }
        json_array_append_new(list, object);
    }
    return list;
}

void simulate_sharing_json(struct simulate *simulate, const struct sharing *sharing)
{
    const struct weft_sim_result *sim = &sharing->play.sim;
    json_t *object = cli_object("weft.simulation/1");
    bool is_packet = simulate->packets.engine == WEFT_ENGINE_PACKET;
    cli_set_text(object, "snapshot", simulate->paths[0]);
    cli_set_text(object, "engine", is_packet ? "packet" : "flow");
    cli_set_text(object, "transport", weft_transport_name(simulate->packets.transport));
    cli_set_text(object, "sharing", way_of(sharing));
    cli_set_count(object, "iterations", simulate->packets.iterations);
    set_outcome(object, &sharing->play.all);
    cli_set(object, "jobs", list_jobs(sharing));
    cli_set(object, "links", list_links(sharing));
    cli_set_real(object, "completion_s", weft_seconds(sim->end_ps));
    cli_set_count(object, "realigned", sim->wait_count);
    cli_set_count(object, "flows", sim->flow_count);
    cli_set_count(object, "events", sim->event_count);
    if (is_packet) {
        cli_set_count(object, "packets", sim->packets.packets);
        cli_set_count(object, "drops", sim->packets.drops);
        cli_set_count(object, "ecn_marks", count_marks(sharing));
        cli_set_count(object, "retransmits", sim->packets.retransmits);
        cli_set_count(object, "timeouts", sim->packets.timeouts);
    } else {
        cli_set_count(object, "solves", sim->solve_count);
        cli_set_count(object, "share_steps", sim->share_count);
    }
    cli_set_real(object, "wall_s", cli_elapsed_s(simulate->cli));
    cli_json(simulate->cli, object);
}

// ---- text ----

static const char *show_seconds(struct weft_arena *arena, double time_s)
{
    char unit[WEFT_UNIT_TEXT];
    return weft_arena_format(arena, "%s", weft_show_time(unit, weft_picoseconds(time_s)));
}

static void fill_row(const char **row, struct weft_arena *arena, const char *name,
                     const struct weft_sharing_outcome *outcome)
{
    row[0] = name;
    row[1] = show_seconds(arena, outcome->ideal_s);
    row[2] = show_seconds(arena, outcome->mean_s);
    row[3] = show_seconds(arena, outcome->p99_s);
    row[4] = weft_arena_format(arena, "%.3f", outcome->slowdown);
    row[5] = outcome->converged_after == WEFT_NONE
                 ? "never"
                 : weft_arena_format(arena, "%u", outcome->converged_after);
}

void simulate_sharing_tell(struct simulate *simulate, const struct sharing *sharing)
{
    static const struct weft_table_column columns[] = {
        {"job", WEFT_ALIGN_LEFT},         {"alone", WEFT_ALIGN_RIGHT},
        {"mean", WEFT_ALIGN_RIGHT},       {"99th percentile", WEFT_ALIGN_RIGHT},
        {"over alone", WEFT_ALIGN_RIGHT}, {"within 5 % after", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = simulate->cli;
    struct weft_arena *arena = &cli->arena;
    const struct weft_sharing_play *play = &sharing->play;
    uint32_t count = sharing->set.snapshot.job_count;
    bool is_packet = simulate->packets.engine == WEFT_ENGINE_PACKET;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)(count + 1) * COLUMNS);
    for (uint32_t job = 0; job < count; job++) {
        fill_row(cells + (size_t)job * COLUMNS, arena, sharing->set.snapshot.jobs[job].name,
                 &play->jobs[job]);
    }
    fill_row(cells + (size_t)count * COLUMNS, arena, "(mean)", &play->all);
    cli_say(cli, "%s: jobs %u, links %u, %s, %s; later half of %u iterations\n", simulate->paths[0],
            count, sharing->set.snapshot.link_count, way_of(sharing),
            is_packet ? weft_transport_name(simulate->packets.transport) : "fluid",
            simulate->packets.iterations);
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, count + 1, arena));
    if (play->sim.wait_count > 0) {
        cli_say(cli, "waited to keep in step: %llu iterations\n",
                (unsigned long long)play->sim.wait_count);
    }
    if (is_packet) {
        cli_say(cli, "%llu packets, %llu drops, %llu marked on the links, %llu sent again\n",
                (unsigned long long)play->sim.packets.packets,
                (unsigned long long)play->sim.packets.drops,
                (unsigned long long)count_marks(sharing),
                (unsigned long long)play->sim.packets.retransmits);
    }
    cli_say(cli, "%llu flows, %llu events, %.3f s\n", (unsigned long long)play->sim.flow_count,
            (unsigned long long)play->sim.event_count, cli_elapsed_s(cli));
}
