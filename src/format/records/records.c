// SPDX-License-Identifier: Apache-2.0
// What a run recorded of flows and links, as CSV or JSON (docs/simulation-outputs.md).
//
// Times are exact: whole picoseconds have twelve decimal places of a second. Files are written
// whole or not at all. O(records).

#include "weft/format.h"

#include <string.h>

#define PS_PER_S ((uint64_t)WEFT_PS_PER_S)

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

// Exact seconds: whole picoseconds have twelve places.
static void add_time(struct weft_text *text, uint64_t time_ps)
{
    weft_text_add(text, "%llu.%012llu", (unsigned long long)(time_ps / PS_PER_S),
                  (unsigned long long)(time_ps % PS_PER_S));
}

static void add_flow_row(struct weft_text *text, const struct weft_flow_record *flow)
{
    weft_text_add(text, "%u,%u,%u,%u,%llu,", flow->job, flow->task, flow->from, flow->to,
                  (unsigned long long)flow->size_bytes);
    add_time(text, flow->start_ps);
    weft_text_add(text, ",");
    add_time(text, flow->end_ps);
    weft_text_add(text, ",%u,%u,%u,%u\n", flow->packets, flow->retransmits, flow->ecn_marks,
                  flow->timeouts);
}

static void add_flow_object(struct weft_text *text, const struct weft_flow_record *flow)
{
    weft_text_add(text,
                  "{\"job\": %u, \"task\": %u, \"from\": %u, \"to\": %u, \"size_bytes\": %llu, "
                  "\"start_s\": ",
                  flow->job, flow->task, flow->from, flow->to,
                  (unsigned long long)flow->size_bytes);
    add_time(text, flow->start_ps);
    weft_text_add(text, ", \"end_s\": ");
    add_time(text, flow->end_ps);
    weft_text_add(text,
                  ", \"packets\": %u, \"retransmits\": %u, \"ecn_marks\": %u, \"timeouts\": %u}",
                  flow->packets, flow->retransmits, flow->ecn_marks, flow->timeouts);
}

bool weft_records_save_flows(const char *path, const struct weft_records *records,
                             struct weft_arena scratch, struct weft_error *error)
{
    struct weft_text text;
    weft_text_init(&text, &scratch);
    if (ends_with(path, ".json")) {
        weft_text_add(&text,
                      "{\"schema\": \"weft.flows/1\", \"flows_left_out\": %llu, \"flows\": [\n",
                      (unsigned long long)records->flows_left_out);
        for (uint32_t i = 0; i < records->flow_count; i++) {
            add_flow_object(&text, &records->flows[i]);
            weft_text_add(&text, i + 1 < records->flow_count ? ",\n" : "\n");
        }
        weft_text_add(&text, "]}\n");
    } else {
        weft_text_add(&text, "job,task,from,to,size_bytes,start_s,end_s,packets,retransmits,"
                             "ecn_marks,timeouts\n");
        for (uint32_t i = 0; i < records->flow_count; i++) {
            add_flow_row(&text, &records->flows[i]);
        }
    }
    return weft_file_save(path, text.data, text.length, error);
}

bool weft_records_save_series(const char *path, const struct weft_records *records,
                              const struct weft_fabric *fabric, struct weft_arena scratch,
                              struct weft_error *error)
{
    struct weft_text text;
    weft_text_init(&text, &scratch);
    weft_text_add(&text, "time_s,link,from,to,utilization_ratio,bytes,backlog_bytes,drops\n");
    for (uint32_t i = 0; i < records->sample_count; i++) {
        const struct weft_link_sample *row = &records->samples[i];
        const struct weft_link *link = &fabric->links[row->link];
        double room_bytes = link->rate_Bps * (double)records->sample_ps / (double)PS_PER_S;
        add_time(&text, row->time_ps);
        weft_text_add(&text, ",%u,%u,%u,%.6g,%llu,%llu,%u\n", row->link, link->from, link->to,
                      (double)row->bytes / room_bytes, (unsigned long long)row->bytes,
                      (unsigned long long)row->backlog_bytes, row->drops);
    }
    return weft_file_save(path, text.data, text.length, error);
}
