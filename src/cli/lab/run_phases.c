// SPDX-License-Identifier: Apache-2.0
// The phases of an iteration that a lab played, measured beside what the engines predict, as every
// part of weft lab run shows them. A phase lasts while any of its tasks is under way; the last
// phase of an experiment is the whole iteration.

#include "request/json/json.h"
#include "run.h"

struct weft_report_phase lab_run_whole(const struct lab_experiment *experiment, const char *name)
{
    const struct lab_phase *whole = &experiment->phases[experiment->phase_count - 1];
    return (struct weft_report_phase){name, whole->predicted_flow_s, whole->predicted_packet_s,
                                      whole->measured_mean_s, whole->measured_p99_s};
}

json_t *lab_run_phases_json(const struct lab_experiment *experiment)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < experiment->phase_count; i++) {
        const struct lab_phase *phase = &experiment->phases[i];
        json_t *object = json_object();
        weft_set_text(object, "name", phase->name);
        weft_set_count(object, "tasks", phase->task_count);
        weft_set_real(object, "predicted_flow_s", phase->predicted_flow_s);
        weft_set_real(object, "predicted_packet_s", phase->predicted_packet_s);
        weft_set_real(object, "measured_mean_s", phase->measured_mean_s);
        weft_set_real(object, "measured_p99_s", phase->measured_p99_s);
        json_array_append_new(list, object);
    }
    return list;
}
