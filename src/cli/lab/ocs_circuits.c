// SPDX-License-Identifier: Apache-2.0
// weft lab ocs show and apply: reads what switches hold, and sets all circuits of a plan at once.
// Switches of a lab and real ones are reached through the same driver table (runtime/ocs/ocs.h);
// what is read back is checked to be a matching before anything is printed.

#include "ocs.h"
#include "request/json/json.h"

#include "runtime/ocs/light.h"
#include "runtime/testbed/testbed.h"
#include <stdlib.h>
#include <string.h>

bool ocs_open(struct weft_ocs *ocs, const struct ocs_request *request, const struct weft_lab *lab,
              uint32_t plane)
{
    struct cli *cli = request->cli;
    const struct weft_ocs_access access = {
        .address = request->remote.address,
        .user = request->remote.user,
        .password = request->remote.password,
        .ca_file = request->remote.ca_path,
        .insecure = request->remote.insecure,
        .loss_max_db = request->remote.loss_max_db,
    };
    return request->remote.address != NULL
               ? weft_ocs_open(ocs, &access, &cli->arena, &cli->error)
               : weft_lab_open_ocs(ocs, lab, plane, &cli->arena, &cli->error);
}

// ---- show ----

// What is shown of an input and of the output with its number.
struct row {
    uint32_t index;
    uint32_t output; // where the input leads
    const struct weft_ocs_port *port;
    bool measures_light;
    enum weft_ocs_light light; // at this output
};

// What light says against what the switch says; NULL = nothing.
static const char *name_contradiction(enum weft_ocs_light light)
{
    return light == WEFT_LIGHT_STRAY     ? "stray"
           : light == WEFT_LIGHT_MISSING ? "missing"
           : light == WEFT_LIGHT_DOUBLE  ? "double"
                                         : NULL;
}

static json_t *describe_row(const struct row *row)
{
    const struct weft_ocs_port *port = row->port;
    json_t *object = json_object();
    weft_set_count(object, "input", row->index);
    weft_set(object, "output",
             row->output == WEFT_NONE ? json_null() : json_integer((json_int_t)row->output));
    if (port->has_input_dbm) {
        weft_set_real(object, "input_dbm", port->input_dbm);
    }
    if (port->has_output_dbm) {
        weft_set_real(object, "output_dbm", port->output_dbm);
    }
    if (name_contradiction(row->light) != NULL) {
        weft_set_text(object, "light", name_contradiction(row->light));
    }
    if (!row->measures_light) {
        weft_set_count(object, "packets", port->packets);
        weft_set_count(object, "bytes", port->bytes);
        weft_set_count(object, "dark_packets", port->dark_packets);
        weft_set_count(object, "unlit_packets", port->unlit_packets);
    }
    return object;
}

static void print_level(struct cli *cli, const char *side, bool is_known, double dbm)
{
    if (is_known) {
        cli_say(cli, "  %s %6.1f dBm", side, dbm);
    } else {
        cli_say(cli, "  %s      - dBm", side);
    }
}

static void print_row(struct cli *cli, const struct row *row)
{
    const struct weft_ocs_port *port = row->port;
    if (row->output == WEFT_NONE) {
        cli_say(cli, "  %4u -> dark", row->index);
    } else {
        cli_say(cli, "  %4u -> %-4u", row->index, row->output);
    }
    if (!row->measures_light) {
        cli_say(cli, "  %10llu packets %14llu bytes  lost: %llu dark, %llu unlit\n",
                (unsigned long long)port->packets, (unsigned long long)port->bytes,
                (unsigned long long)port->dark_packets, (unsigned long long)port->unlit_packets);
        return;
    }
    print_level(cli, "in", port->has_input_dbm, port->input_dbm);
    print_level(cli, "out", port->has_output_dbm, port->output_dbm);
    const char *contradiction = name_contradiction(row->light);
    if (contradiction != NULL) {
        cli_say(cli, "  %s light at output %u", contradiction, row->index);
    }
    cli_say(cli, "\n");
}

// Reads one switch and adds it to the list of the JSON result, or prints it at once where text is
// requested. Fails where the switch holds no matching, which a healthy one always does.
static bool show_switch(json_t *list, const struct ocs_request *request, const struct weft_lab *lab,
                        uint32_t plane)
{
    struct cli *cli = request->cli;
    struct weft_ocs ocs;
    if (!ocs_open(&ocs, request, lab, plane)) {
        return false;
    }
    uint32_t n = ocs.port_count;
    uint32_t *outputs = WEFT_NEW(&cli->arena, uint32_t, n);
    struct weft_ocs_port *ports = WEFT_NEW(&cli->arena, struct weft_ocs_port, n);
    bool fine =
        weft_ocs_read(outputs, &ocs, &cli->error) && weft_ocs_statistics(ports, &ocs, &cli->error);
    const char *driver = ocs.driver->name;
    bool measures_light = ocs.driver->measures_light;
    weft_ocs_close(&ocs);
    if (!fine || !weft_ocs_check_matching(outputs, n, cli->scratch, &cli->error)) {
        return false;
    }
    struct weft_ocs_sight *sights = WEFT_NEW(&cli->arena, struct weft_ocs_sight, n);
    weft_ocs_see(sights, &ocs, outputs, ports);
    json_t *object = json_object();
    json_t *rows = json_array();
    weft_set_count(object, "switch", plane);
    weft_set_text(object, "driver", driver);
    if (!cli->json) {
        cli_say(cli, "switch %u (%s)\n", plane, driver);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct row row = {i, outputs[i], &ports[i], measures_light, sights[i].light};
        json_array_append_new(rows, describe_row(&row));
        if (!cli->json) {
            print_row(cli, &row);
        }
    }
    weft_set(object, "ports", rows);
    json_array_append_new(list, object);
    return true;
}

bool ocs_show(const struct ocs_request *request, const struct weft_lab *lab)
{
    struct cli *cli = request->cli;
    json_t *list = json_array();
    bool all = request->plane == WEFT_NONE && request->remote.address == NULL;
    uint32_t first = all || request->plane == WEFT_NONE ? 0 : request->plane;
    uint32_t end = all ? lab->ocs_count : first + 1;
    bool fine = true;
    if (request->remote.address == NULL && lab->ocs_count == 0) {
        fine = weft_fail(&cli->error, WEFT_INPUT, "lab '%s' has no optical switches", lab->name);
    }
    for (uint32_t p = first; p < end && fine; p++) {
        fine = show_switch(list, request, lab, p);
    }
    if (!fine || !cli->json) {
        json_decref(list);
        return fine;
    }
    json_t *object = weft_set_object("weft.lab-ocs/1");
    weft_set(object, "switches", list);
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
    return true;
}

// ---- apply ----

// The circuits of one plane of a plan, to a switch that is reached over the network.
static bool apply_external(struct weft_lab_move *move, const struct ocs_request *request,
                           const struct weft_lab_wiring *wiring)
{
    struct cli *cli = request->cli;
    struct weft_ocs ocs;
    if (request->plane == WEFT_NONE && wiring->port_count > 1) {
        return cli_misuse(cli, "the plan has %u planes; write --switch P", wiring->port_count);
    }
    uint32_t plane = request->plane == WEFT_NONE ? 0 : request->plane;
    if (plane >= wiring->port_count) {
        return cli_misuse(cli, "--switch: the plan has planes 0 to %u", wiring->port_count - 1);
    }
    if (!ocs_open(&ocs, request, NULL, plane)) {
        return false;
    }
    bool fine = true;
    if (ocs.port_count < wiring->server_count) {
        fine =
            weft_fail(&cli->error, WEFT_INFEASIBLE, "the switch has %u inputs, the plan %u servers",
                      ocs.port_count, wiring->server_count);
    }
    if (fine) {
        // Inputs beyond the plan's servers belong to others.
        struct weft_ocs_circuit *circuits =
            WEFT_NEW(&cli->arena, struct weft_ocs_circuit, wiring->server_count);
        for (uint32_t i = 0; i < wiring->server_count; i++) {
            uint32_t to = wiring->planes[(size_t)plane * wiring->server_count + i];
            circuits[i] = (struct weft_ocs_circuit){i, to == i ? WEFT_NONE : to};
        }
        double begun_s = cli_elapsed_s(cli);
        fine = weft_ocs_connect(&move->circuits, &ocs, circuits, wiring->server_count, cli->scratch,
                                &cli->error);
        move->circuits_s = cli_elapsed_s(cli) - begun_s;
    }
    weft_ocs_close(&ocs);
    return fine;
}

// The lab's state names the plan from now on.
static bool remember(const struct ocs_request *request, const struct weft_lab *moved,
                     const char *path)
{
    struct cli *cli = request->cli;
    struct weft_lab lab;
    if (!weft_lab_load(&lab, moved->name, cli->scratch, &cli->error)) {
        return false;
    }
    char *full = realpath(path, NULL);
    bool fits = full != NULL && strlen(full) < sizeof lab.plan_path;
    snprintf(lab.plan_path, sizeof lab.plan_path, "%s", fits ? full : "");
    free(full);
    snprintf(lab.fabric, sizeof lab.fabric, "plan");
    return weft_lab_save(&lab, cli->scratch, &cli->error);
}

static void print_move(struct cli *cli, const struct weft_lab_move *move)
{
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-ocs-apply/1");
        weft_set_count(object, "changed", move->circuits.changed);
        weft_set_count(object, "untouched", move->circuits.untouched);
        weft_set_count(object, "seen", move->circuits.seen);
        weft_set_real(object, "circuits_s", move->circuits_s);
        weft_set_real(object, "routes_s", move->routes_s);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return;
    }
    cli_say(cli, "%u circuits changed, %u untouched, in %.3f ms; routes in %.1f ms\n",
            move->circuits.changed, move->circuits.untouched, 1e3 * move->circuits_s,
            1e3 * move->routes_s);
}

bool ocs_apply(const struct ocs_request *request, struct weft_lab *lab)
{
    struct cli *cli = request->cli;
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    struct weft_lab_wiring wiring;
    struct weft_lab_move move = {0};
    if (request->argument_count != 1) {
        return cli_misuse(cli, "which plan? write %s apply PLAN.json", cli->program);
    }
    if (!weft_plan_load(plan, request->arguments[0], &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (!weft_lab_wire_plan(&wiring, plan, &cli->arena, cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->arguments[0]);
    }
    bool external = request->remote.address != NULL;
    bool fine = external
                    ? apply_external(&move, request, &wiring)
                    : weft_lab_apply(&move, lab, &wiring, !request->circuits_only, cli->scratch,
                                     &cli->error) &&
                          (request->circuits_only || remember(request, lab, request->arguments[0]));
    if (fine) {
        print_move(cli, &move);
    }
    return fine;
}
