// SPDX-License-Identifier: Apache-2.0
// Snapshots: jobs that share links, in JSON (docs/interleave.md), as weft interleave takes
// them.
//
// jansson parses; the tree is walked key by key, so that a message names its place as
// "jobs[3].links[0].phases" and a key that is one or two letters off a known one is refused
// instead of ignored. O(bytes log names).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_S 1e6
#define RATE_MAX_BPS 1e18
#define ITERATIONS_MAX 10000000u
#define PS_PER_S 1e12

// A place in the document, for messages: "jobs[3].links[0].phases".
struct place {
    const struct place *in;
    const char *key; // of an object's member; NULL: an array's item
    size_t index;
};

static size_t show_place(char *text, size_t room, const struct place *place)
{
    if (place == NULL) {
        return 0;
    }
    size_t length = show_place(text, room, place->in);
    int more = place->key == NULL ? snprintf(text + length, room - length, "[%zu]", place->index)
                                  : snprintf(text + length, room - length, "%s%s",
                                             length > 0 ? "." : "", place->key);
    length += more > 0 ? (size_t)more : 0;
    return length < room ? length : room - 1;
}

static bool wrap(struct weft_error *error, const struct place *place)
{
    char text[128] = "";
    size_t length = show_place(text, sizeof text, place);
    // "jobs[3]" and "phases: missing" read as "jobs[3].phases: missing".
    char message[sizeof error->message];
    snprintf(message, sizeof message, "%s", error->message);
    return weft_fail(error, error->code, "%s%s%s", text, length > 0 ? "." : "", message);
}

static bool fail(struct weft_error *error, const struct place *place, const char *what)
{
    char text[128] = "";
    show_place(text, sizeof text, place);
    return weft_fail(error, WEFT_INPUT, "%s: %s", text, what);
}

// Keys of other tools pass; one that looks like a misspelled key of ours does not.
static bool check_keys(const json_t *object, const char *const *keys, uint32_t count,
                       const struct place *place, struct weft_error *error)
{
    // jansson's iterators want a pointer without const; nothing is changed through it.
    json_t *open = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(open); at != NULL; at = json_object_iter_next(open, at)) {
        const char *key = json_object_iter_key(at);
        const char *near = weft_nearest_word(key, keys, count);
        if (near != NULL && strcmp(near, key) != 0 &&
            weft_word_edits(key, strlen(key), near) <= 2) {
            weft_fail(error, WEFT_INPUT, "%.64s: no such key; is it %s?", key, near);
            return wrap(error, place);
        }
    }
    return true;
}

struct reader {
    struct weft_arena *arena;
    struct weft_arena *scratch;
    struct weft_error *error;
};

static bool read_time(uint64_t *time_ps, const json_t *object, const char *key, double low_s,
                      const struct place *place, struct weft_error *error)
{
    double time_s = 0;
    if (!weft_json_real(&time_s, object, key, low_s, TIME_MAX_S, error)) {
        return wrap(error, place);
    }
    *time_ps = (uint64_t)llround(time_s * PS_PER_S);
    return true;
}

// Reads a phase of a job's demand, which must end with the iteration at the latest. What misses the
// end by no more than decimal seconds lose is shortened.
static bool read_phase(struct weft_demand_phase *phase, const json_t *item, uint64_t iteration_ps,
                       const struct place *place, struct weft_error *error)
{
    static const char *const keys[] = {"start_s", "duration_s", "rate_Bps"};
    if (!json_is_object(item)) {
        return fail(error, place,
                    "not an object; write {\"start_s\", \"duration_s\", "
                    "\"rate_Bps\"}");
    }
    if (!check_keys(item, keys, 3, place, error) ||
        !read_time(&phase->start_ps, item, "start_s", 0, place, error) ||
        !read_time(&phase->duration_ps, item, "duration_s", 0, place, error)) {
        return false;
    }
    if (!weft_json_real(&phase->rate_Bps, item, "rate_Bps", 0, RATE_MAX_BPS, error)) {
        return wrap(error, place);
    }
    // Sums of decimal seconds may miss the iteration's end by a rounding.
    uint64_t end_ps = phase->start_ps + phase->duration_ps;
    if (end_ps > iteration_ps && end_ps - iteration_ps <= 2 + iteration_ps / 1000000000u &&
        phase->start_ps <= iteration_ps) {
        phase->duration_ps = iteration_ps - phase->start_ps;
    }
    if (phase->start_ps + phase->duration_ps > iteration_ps) {
        return fail(error, place,
                    "ends after iteration_s; what goes on into the next iteration is a phase of "
                    "its own from 0 on");
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct weft_demand_phase *x = a;
    const struct weft_demand_phase *y = b;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

// Reads the phases of a job, in any order, and sorts them. Times are rounded to picoseconds, so
// two phases that meet may overlap by 2 ps afterwards: the first is shortened then; more is an
// error.
static bool read_demand(struct weft_demand *demand, const json_t *object, uint64_t iteration_ps,
                        const struct place *place, struct reader *reader)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, object, "phases", reader->error)) {
        return wrap(reader->error, place);
    }
    size_t count = json_array_size(items);
    WEFT_ASSERT(count <= UINT32_MAX);
    struct weft_demand_phase *phases = WEFT_NEW(reader->arena, struct weft_demand_phase, count);
    const struct place array = {place, "phases", 0};
    for (size_t i = 0; i < count; i++) {
        const struct place here = {&array, NULL, i};
        if (!read_phase(&phases[i], json_array_get(items, i), iteration_ps, &here, reader->error)) {
            return false;
        }
    }
    qsort(phases, count, sizeof phases[0], by_start);
    for (size_t i = 1; i < count; i++) {
        uint64_t end_ps = phases[i - 1].start_ps + phases[i - 1].duration_ps;
        // Likewise where one ends as the next begins.
        if (end_ps > phases[i].start_ps && end_ps - phases[i].start_ps <= 2) {
            phases[i - 1].duration_ps = phases[i].start_ps - phases[i - 1].start_ps;
            end_ps = phases[i].start_ps;
        }
        if (end_ps > phases[i].start_ps) {
            return fail(reader->error, &array, "two of them overlap; add their rates up");
        }
    }
    *demand = (struct weft_demand){iteration_ps, phases, (uint32_t)count};
    return true;
}

// ---- links ----

// Links by name.
struct name_entry {
    const char *name;
    uint32_t index;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct name_entry *)a)->name, ((const struct name_entry *)b)->name);
}

struct names {
    struct name_entry *entries;
    uint32_t count;
};

static bool sort_names(struct names *names, const char *key, struct weft_error *error)
{
    qsort(names->entries, names->count, sizeof names->entries[0], by_name);
    for (uint32_t i = 1; i < names->count; i++) {
        if (strcmp(names->entries[i - 1].name, names->entries[i].name) == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "%s[%u].name: '%.64s' is there twice; names tell "
                             "%s apart",
                             key, names->entries[i].index, names->entries[i].name, key);
        }
    }
    return true;
}

static bool read_name(const char **name, const json_t *object, const struct place *place,
                      struct reader *reader)
{
    if (!json_is_object(object)) {
        return fail(reader->error, place, "not an object; it should start with {");
    }
    if (!weft_json_text(name, object, "name", reader->arena, reader->error)) {
        return wrap(reader->error, place);
    }
    if ((*name)[0] == '\0') {
        return fail(reader->error, place, "an empty name; name it");
    }
    return true;
}

// Reads the shared links and sorts their names, by which jobs refer to them.
static bool read_links(struct weft_snapshot *snapshot, struct names *names, const json_t *root,
                       struct reader *reader)
{
    static const char *const keys[] = {"name", "capacity_Bps"};
    const json_t *items = NULL;
    if (!weft_json_array(&items, root, "links", reader->error)) {
        return false;
    }
    size_t count = json_array_size(items);
    struct weft_shared_link *links = WEFT_NEW(reader->arena, struct weft_shared_link, count);
    struct name_entry *entries = WEFT_NEW(reader->scratch, struct name_entry, count);
    const struct place array = {NULL, "links", 0};
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);
        const struct place here = {&array, NULL, i};
        if (!read_name(&links[i].name, item, &here, reader) ||
            !check_keys(item, keys, 2, &here, reader->error)) {
            return false;
        }
        if (!weft_json_real(&links[i].capacity_Bps, item, "capacity_Bps", 1e-9, RATE_MAX_BPS,
                            reader->error)) {
            return wrap(reader->error, &here);
        }
        entries[i] = (struct name_entry){links[i].name, (uint32_t)i};
    }
    *names = (struct names){entries, (uint32_t)count};
    snapshot->links = links;
    snapshot->link_count = (uint32_t)count;
    return sort_names(names, "links", reader->error);
}

// ---- jobs ----

// A link of a job: its index and, where it has phases of its own, its place in the document.
struct use {
    uint32_t link;
    const json_t *own; // NULL = the job's phases
    size_t index;
};

static int by_link(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

static bool find_link(uint32_t *link, const json_t *item, const struct names *names,
                      const struct place *place, struct weft_error *error)
{
    const json_t *name = json_is_object(item) ? json_object_get(item, "name") : item;
    if (!json_is_string(name)) {
        return fail(error, place,
                    "not a link's name; write \"NAME\" or {\"name\": \"NAME\", \"phases\": [...]}");
    }
    const struct name_entry key = {json_string_value(name), 0};
    const struct name_entry *found =
        bsearch(&key, names->entries, names->count, sizeof key, by_name);
    if (found == NULL) {
        char text[128] = "";
        show_place(text, sizeof text, place);
        return weft_fail(error, WEFT_INPUT, "%s: '%.64s' is none of links[].name; add it there",
                         text, key.name);
    }
    *link = found->index;
    return true;
}

static bool read_own_demands(struct weft_sharing_job *job, const struct use *uses,
                             const struct place *place, struct reader *reader)
{
    static const char *const keys[] = {"name", "phases"};
    struct weft_demand *demands = WEFT_NEW(reader->arena, struct weft_demand, job->link_count);
    const struct place array = {place, "links", 0};
    for (uint32_t i = 0; i < job->link_count; i++) {
        const struct place here = {&array, NULL, uses[i].index};
        demands[i] = job->demand;
        if (uses[i].own != NULL &&
            (!check_keys(uses[i].own, keys, 2, &here, reader->error) ||
             !read_demand(&demands[i], uses[i].own, job->demand.iteration_ps, &here, reader))) {
            return false;
        }
    }
    job->link_demands = demands;
    return true;
}

// Reads the links of a job, sorted by link. A link may have phases of its own instead of the
// job's; where all have, the job needs none.
static bool read_job_links(struct weft_sharing_job *job, const json_t *item,
                           const struct names *names, const struct place *place,
                           struct reader *reader)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, item, "links", reader->error)) {
        return wrap(reader->error, place);
    }
    size_t count = json_array_size(items);
    struct weft_arena scratch = *reader->scratch;
    struct use *uses = WEFT_NEW(&scratch, struct use, count);
    const struct place array = {place, "links", 0};
    bool own = false;
    bool all_own = count > 0;
    for (size_t i = 0; i < count; i++) {
        const struct place here = {&array, NULL, i};
        const json_t *use = json_array_get(items, i);
        if (!find_link(&uses[i].link, use, names, &here, reader->error)) {
            return false;
        }
        uses[i].own = json_object_get(use, "phases") == NULL ? NULL : use;
        uses[i].index = i;
        own = own || uses[i].own != NULL;
        all_own = all_own && uses[i].own != NULL;
    }
    qsort(uses, count, sizeof uses[0], by_link);
    uint32_t *links = WEFT_NEW(reader->arena, uint32_t, count);
    for (size_t i = 0; i < count; i++) {
        links[i] = uses[i].link;
        if (i > 0 && links[i] == links[i - 1]) {
            return fail(reader->error, &array, "a link is there twice; keep one");
        }
    }
    job->links = links;
    job->link_count = (uint32_t)count;
    if (json_object_get(item, "phases") == NULL && all_own) {
        job->demand.phase_count = 0;
    } else if (!read_demand(&job->demand, item, job->demand.iteration_ps, place, reader)) {
        return false;
    }
    return !own || read_own_demands(job, uses, place, reader);
}

static bool read_play(struct weft_job_play *play, const json_t *item, const struct place *place,
                      struct weft_error *error)
{
    *play = (struct weft_job_play){.weight = 1};
    if (json_object_get(item, "iterations") != NULL &&
        !weft_json_u32(&play->iterations, item, "iterations", 1, ITERATIONS_MAX, error)) {
        return wrap(error, place);
    }
    if (json_object_get(item, "weight") != NULL &&
        !weft_json_real(&play->weight, item, "weight", 1e-6, 1e6, error)) {
        return wrap(error, place);
    }
    return (json_object_get(item, "jitter_s") == NULL ||
            read_time(&play->jitter_ps, item, "jitter_s", 0, place, error)) &&
           (json_object_get(item, "start_s") == NULL ||
            read_time(&play->start_ps, item, "start_s", 0, place, error));
}

static bool read_job(struct weft_sharing_job *job, struct weft_job_play *play, const json_t *item,
                     const struct names *links, const struct place *place, struct reader *reader)
{
    static const char *const keys[] = {"name",       "iteration_s", "phases",  "links",
                                       "iterations", "jitter_s",    "start_s", "weight"};
    if (!read_name(&job->name, item, place, reader) ||
        !check_keys(item, keys, sizeof keys / sizeof keys[0], place, reader->error) ||
        !read_time(&job->demand.iteration_ps, item, "iteration_s", -TIME_MAX_S, place,
                   reader->error)) {
        return false;
    }
    if ((int64_t)job->demand.iteration_ps <= 0) {
        const struct place key = {place, "iteration_s", 0};
        return fail(reader->error, &key, "an iteration must take time; write seconds, more than 0");
    }
    return read_job_links(job, item, links, place, reader) &&
           read_play(play, item, place, reader->error);
}

// Reads the whole snapshot: links before jobs, which name them. The names of jobs must differ, too,
// since time-shifts are found by them.
static bool read_root(struct weft_job_set *set, const json_t *root, struct reader *reader)
{
    static const char *const keys[] = {"links", "jobs"};
    const json_t *items = NULL;
    struct names links = {0};
    if (!check_keys(root, keys, 2, NULL, reader->error) ||
        !read_links(&set->snapshot, &links, root, reader) ||
        !weft_json_array(&items, root, "jobs", reader->error)) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count == 0) {
        return weft_fail(reader->error, WEFT_INPUT, "jobs: there are none; list at least one");
    }
    struct weft_sharing_job *jobs = WEFT_NEW(reader->arena, struct weft_sharing_job, count);
    struct weft_job_play *plays = WEFT_NEW(reader->arena, struct weft_job_play, count);
    struct names names = {WEFT_NEW(reader->scratch, struct name_entry, count), (uint32_t)count};
    const struct place array = {NULL, "jobs", 0};
    for (size_t i = 0; i < count; i++) {
        const struct place here = {&array, NULL, i};
        if (!read_job(&jobs[i], &plays[i], json_array_get(items, i), &links, &here, reader)) {
            return false;
        }
        names.entries[i] = (struct name_entry){jobs[i].name, (uint32_t)i};
    }
    set->snapshot.jobs = jobs;
    set->snapshot.job_count = (uint32_t)count;
    set->plays = plays;
    return sort_names(&names, "jobs", reader->error) &&
           weft_snapshot_check(&set->snapshot, reader->error);
}

bool weft_snapshot_read(struct weft_job_set *set, const char *data, size_t length,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    struct weft_job_set found = {0};
    struct reader reader = {arena, &scratch, error};
    bool fine = read_root(&found, root, &reader);
    json_decref(root);
    if (fine) {
        *set = found;
    }
    return fine;
}

bool weft_snapshot_load(struct weft_job_set *set, const char *path, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, arena, error)) {
        return false;
    }
    return weft_snapshot_read(set, data, length, arena, scratch, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_SNAPSHOT);
}

// ---- writing ----

static void add_phases(struct weft_text *text, const struct weft_demand *demand)
{
    weft_text_add(text, "\"phases\": [");
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        weft_text_add(text, "%s{", p > 0 ? ", " : "");
        weft_json_field_real(text, "start_s", weft_seconds(phase->start_ps), ", ");
        weft_json_field_real(text, "duration_s", weft_seconds(phase->duration_ps), ", ");
        weft_json_field_real(text, "rate_Bps", phase->rate_Bps, "}");
    }
    weft_text_add(text, "]");
}

static void add_play(struct weft_text *text, const struct weft_job_play *play)
{
    if (play->iterations > 0) {
        weft_text_add(text, ", \"iterations\": %u", play->iterations);
    }
    if (play->jitter_ps > 0) {
        weft_text_add(text, ", ");
        weft_json_field_real(text, "jitter_s", weft_seconds(play->jitter_ps), "");
    }
    if (play->start_ps > 0) {
        weft_text_add(text, ", ");
        weft_json_field_real(text, "start_s", weft_seconds(play->start_ps), "");
    }
    if (play->weight != 1) {
        weft_text_add(text, ", ");
        weft_json_field_real(text, "weight", play->weight, "");
    }
}

// Writes a job as read_job_links takes it: links by name alone, or with phases of their own.
static void add_job(struct weft_text *text, const struct weft_snapshot *snapshot,
                    const struct weft_sharing_job *job, const struct weft_job_play *play)
{
    weft_text_add(text, "{");
    weft_json_field_text(text, "name", job->name, ", ");
    weft_json_field_real(text, "iteration_s", weft_seconds(job->demand.iteration_ps), "");
    if (job->demand.phase_count > 0 || job->link_demands == NULL) {
        weft_text_add(text, ", ");
        add_phases(text, &job->demand);
    }
    weft_text_add(text, ", \"links\": [");
    for (uint32_t i = 0; i < job->link_count; i++) {
        weft_text_add(text, "%s", i > 0 ? ", " : "");
        if (job->link_demands != NULL) {
            weft_text_add(text, "{\"name\": ");
        }
        weft_json_add_text(text, snapshot->links[job->links[i]].name);
        if (job->link_demands != NULL) {
            weft_text_add(text, ", ");
            add_phases(text, &job->link_demands[i]);
            weft_text_add(text, "}");
        }
    }
    weft_text_add(text, "]");
    if (play != NULL) {
        add_play(text, play);
    }
    weft_text_add(text, "}");
}

const char *weft_snapshot_write(const struct weft_job_set *set, struct weft_arena *arena)
{
    const struct weft_snapshot *snapshot = &set->snapshot;
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"links\": [");
    for (uint32_t l = 0; l < snapshot->link_count; l++) {
        weft_text_add(&text, "%s\n  {", l > 0 ? "," : "");
        weft_json_field_text(&text, "name", snapshot->links[l].name, ", ");
        weft_json_field_real(&text, "capacity_Bps", snapshot->links[l].capacity_Bps, "}");
    }
    weft_text_add(&text, "],\n \"jobs\": [");
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        weft_text_add(&text, "%s\n  ", j > 0 ? "," : "");
        add_job(&text, snapshot, &snapshot->jobs[j], set->plays == NULL ? NULL : &set->plays[j]);
    }
    weft_text_add(&text, "]}\n");
    return text.data;
}
