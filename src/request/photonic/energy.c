// SPDX-License-Identifier: Apache-2.0
// weft photonic energy and weft photonic stop-and-go: what a net costs by light. The
// arithmetic is src/photonics/core/energy.c; here a net becomes rows and names become figures.

#include "weft/request/photonic_core.h"
#include "weft/request/photonic_net.h"

#include <string.h>

enum { POWERS_MAX = 8, WIDTH_MAX = 65535 };

#define FIELD(path) offsetof(struct weft_photonic_energy_request, path)
const struct weft_parameter weft_photonic_energy_parameters[] = {
    {"wavelengths", weft_read_count, FIELD(wavelengths), 1, WEFT_PHOTONIC_LAB_WAVELENGTHS, NULL},
    {"power", weft_read_text, FIELD(power), 0, 0, NULL},
    {"parts", weft_read_text, FIELD(parts), 0, 0, NULL},
    {"dram", NULL, FIELD(dram), 0, 0, NULL},
    {"bus", weft_read_given_time, FIELD(bus), 0, 0, NULL},
    {"bus-rate", weft_read_given_rate, FIELD(bus_rate), 0, 0, NULL},
    {"wake", weft_read_given_time, FIELD(wake), 0, 0, NULL},
    {"rearm", weft_read_given_time, FIELD(rearm), 0, 0, NULL},
    {"host-watts", weft_read_given_number, FIELD(host_watts), 0, 1e6, NULL},
    {"weights", NULL, FIELD(weights_too), 0, 0, NULL},
};
const uint32_t weft_photonic_energy_parameter_count =
    sizeof weft_photonic_energy_parameters / sizeof weft_photonic_energy_parameters[0];

// "784-300-10": a dense layer between each two widths.
static bool read_widths(struct weft_photonic_net *net, const char *text, struct weft_arena *arena,
                        struct weft_error *error)
{
    struct weft_photonic_layer *layers =
        WEFT_NEW(arena, struct weft_photonic_layer, WEFT_PHOTONIC_WIDTHS_MAX);
    uint64_t before = 0;
    uint32_t count = 0;
    for (const char *at = text; at != NULL;) {
        const char *dash = strchr(at, '-');
        size_t length = dash == NULL ? strlen(at) : (size_t)(dash - at);
        uint64_t width;
        if (!weft_parse_count(&width, weft_arena_text(arena, at, length), 1, WIDTH_MAX, error)) {
            return weft_wrap(error, "'%s': width %u", text, count + 1);
        }
        if (count > WEFT_PHOTONIC_WIDTHS_MAX) {
            return weft_fail(error, WEFT_INPUT, "'%s' has more than %u layers", text,
                             WEFT_PHOTONIC_WIDTHS_MAX);
        }
        if (count > 0) {
            layers[count - 1] = (struct weft_photonic_layer){
                .name = weft_arena_format(arena, "%llu -> %llu", (unsigned long long)before,
                                          (unsigned long long)width),
                .kind = WEFT_PHOTONIC_DENSE,
                .activation = dash == NULL ? WEFT_PHOTONIC_LINEAR : WEFT_PHOTONIC_RELU,
                .inputs = (uint32_t)before,
                .outputs = (uint32_t)width,
            };
        }
        before = width;
        count++;
        at = dash == NULL ? NULL : dash + 1;
    }
    if (count < 2) {
        return weft_fail(error, WEFT_INPUT,
                         "'%s' is no net; write the widths of its layers as 784-300-100-10", text);
    }
    *net = (struct weft_photonic_net){.name = text, .layer_count = count - 1, .layers = layers};
    return true;
}

static bool read_power(struct weft_photonic_power *power, const char *name,
                       struct weft_error *error)
{
    const char *names[POWERS_MAX];
    WEFT_ASSERT(weft_photonic_power_count <= POWERS_MAX);
    for (uint32_t p = 0; p < weft_photonic_power_count; p++) {
        names[p] = weft_photonic_powers[p].name;
        if (name == NULL || strcmp(name, names[p]) == 0) {
            *power = weft_photonic_powers[p]; // the first where none is named
            return true;
        }
    }
    return weft_fail_word(error, "power", name, names, weft_photonic_power_count) ||
           weft_wrap(error, "{power}");
}

// "dacs=7e-12": joules, or watts of what runs by time.
static bool read_part(struct weft_photonic_power *power, const char *word, struct weft_arena *arena,
                      struct weft_error *error)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        return weft_fail(error, WEFT_USAGE, "'%s' has no value; write %s=1e-12", word, word);
    }
    const char *name = weft_arena_text(arena, word, (size_t)(equals - word));
    for (uint32_t p = 0; p < WEFT_PHOTONIC_PARTS; p++) {
        if (strcmp(name, weft_photonic_part_names[p]) == 0) {
            power->sources[p] = "as given";
            return weft_parse_number(&power->per_unit[p], equals + 1, 0, 1e9, error);
        }
    }
    return weft_fail_word(error, "part", name, weft_photonic_part_names, WEFT_PHOTONIC_PARTS);
}

static bool read_parts(struct weft_photonic_power *power, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    const char *const *words = NULL;
    uint32_t count = 0;
    bool fine = text == NULL || weft_split_list(&words, &count, text, arena, error);
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = read_part(power, words[i], arena, error);
    }
    return fine || weft_wrap(error, "{parts}");
}

static struct weft_photonic_host host_of(const struct weft_photonic_energy_request *request)
{
    struct weft_photonic_host host = weft_photonic_host_default;
    host.bus_s = request->bus.given ? weft_seconds(request->bus.ps) : host.bus_s;
    host.bus_Bps = request->bus_rate.given ? request->bus_rate.Bps : host.bus_Bps;
    host.wake_s = request->wake.given ? weft_seconds(request->wake.ps) : host.wake_s;
    host.rearm_s = request->rearm.given ? weft_seconds(request->rearm.ps) : host.rearm_s;
    host.watts = request->host_watts.given ? request->host_watts.value : host.watts;
    host.weights_too = request->weights_too;
    return host;
}

// Widths, a layer list or a model of the zoo. Memories are as large as the net asks for: what is
// asked is what it costs, not whether it fits.
static bool read_program(struct weft_photonic_program *program,
                         const struct weft_photonic_energy_request *request,
                         struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_photonic_compile_options options = {.wavelengths = request->wavelengths};
    size_t length = strlen(request->net);
    bool model = strspn(request->net, "0123456789-") != length &&
                 (length < 5 || strcmp(request->net + length - 5, ".json") != 0);
    if (!model) { // which is counted without limits
        options.limits.weight_bytes = UINT32_MAX;
        options.limits.activation_count = UINT32_MAX;
    }
    if (strspn(request->net, "0123456789-") != length) {
        struct weft_photonic_compile_result compiled;
        if (!weft_request_photonic_compile(
                &compiled,
                &(struct weft_photonic_compile_request){.model = request->net, .options = options},
                environment)) {
            return false;
        }
        if (compiled.left_count > 0) {
            weft_request_note(environment, "%u operator%s of %s left to a host, not counted",
                              compiled.left_count, compiled.left_count == 1 ? "" : "s",
                              request->net);
        }
        *program = compiled.program;
        program->name = request->net; // a list need not name itself
        return true;
    }
    struct weft_photonic_net net;
    return read_widths(&net, request->net, base->arena, base->error) &&
           (weft_photonic_compile(program, &net, &options, base->arena, base->scratch,
                                  base->error) ||
            weft_wrap(base->error, "%s", request->net));
}

bool weft_request_photonic_energy(struct weft_photonic_energy_result *result,
                                  const struct weft_photonic_energy_request *request,
                                  struct weft_request_environment *environment)
{
    struct weft_arena *arena = environment->base.arena;
    struct weft_error *error = environment->base.error;
    struct weft_photonic_energy_result made = {.dram = request->dram, .host = host_of(request)};
    if (made.host.bus_Bps <= 0) {
        return weft_fail(error, WEFT_USAGE, "{bus-rate}: a bus that moves nothing");
    }
    if (!read_power(&made.power, request->power, error) ||
        !read_parts(&made.power, request->parts, arena, error)) {
        return false;
    }
    uint32_t samples;
    if (!read_program(&made.program, request, environment) ||
        !weft_photonic_path_samples(&samples, &weft_photonic_path_default, error)) {
        return false;
    }
    struct weft_photonic_stop_row *rows =
        WEFT_NEW(arena, struct weft_photonic_stop_row, made.program.row_count);
    weft_photonic_energy_of(&made.energy, &made.program, samples, &made.power, made.dram);
    weft_photonic_stop_and_go(rows, &made.program, samples, &made.power, &made.host);
    made.rows = rows;
    *result = made;
    return true;
}
