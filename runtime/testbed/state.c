// SPDX-License-Identifier: Apache-2.0
// The state of a lab in a file, and the claim of the process that works on it.
//
// The file is written whole and renamed; its schema is versioned and every number is checked when
// it is read. A claim is a lock of the process (fcntl), which the kernel gives back however the
// process ends.

#include "testbed_private.h"

#include "runtime/netlink/message.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128 };
#define SCHEMA "weft.lab/1"

static const char *state_path(char path[PATH_BYTES], const char *name)
{
    snprintf(path, PATH_BYTES, WEFT_LAB_FOLDER "/%s.json", name);
    return path;
}

// Two folders, of which the outer may be removed by whoever needs it no longer while the inner one
// is about to be made.
static bool make_folder(struct weft_error *error)
{
    static const char *const folders[] = {"/run/weft", WEFT_LAB_FOLDER};
    for (int i = 0; i < 2;) {
        if (mkdir(folders[i], 0755) == 0 || errno == EEXIST) {
            i++;
        } else if (i == 1 && errno == ENOENT) {
            i = 0;
        } else {
            return weft_netlink_refused(error, errno, NULL, NULL, folders[i]);
        }
    }
    return true;
}

// ---- claims ----

static const char *lock_path(char path[PATH_BYTES], const char *name)
{
    snprintf(path, PATH_BYTES, WEFT_LAB_FOLDER "/%s.lock", name);
    return path;
}

// Notes in the lock who holds it. A lock with a note that nobody holds is of a holder that was
// killed: an orderly end removes the file first, and a file without a note is one that its maker
// has not locked yet. Where the disk is full there is no note, but no state of a lab that is up
// either.
static void note_holder(struct weft_lab_claim *claim, int fd, const char *name)
{
    char path[PATH_BYTES];
    struct stat lock;
    bool noted = fstat(fd, &lock) == 0 && lock.st_size > 0;
    claim->fd = fd;
    claim->abandoned = noted && access(state_path(path, name), F_OK) == 0;
    if (!noted) {
        dprintf(fd, "%d\n", (int)getpid());
    }
}

// Takes the lock of a lab's name. Whoever takes a lab away removes the lock's file, so a lock that
// was got on a removed file is worth nothing and another is tried.
bool weft_lab_claim(struct weft_lab_claim *claim, const char *name, struct weft_error *error)
{
    char path[PATH_BYTES];
    if (!weft_lab_check_name(name, error)) {
        return false;
    }
    lock_path(path, name);
    for (;;) {
        int fd = make_folder(error) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -2;
        if (fd == -2) {
            return false;
        }
        if (fd < 0 && errno == ENOENT) {
            continue; // the folder went away meanwhile
        }
        if (fd < 0) {
            return weft_netlink_refused(error, errno, NULL, NULL, path);
        }
        // A lock of the process, not of the file: children that outlive it do not keep it. Only who
        // may write the file can lock it: strangers' locks would keep its owner out.
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int number = fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno;
        if (number == 0 && weft_file_is_named(fd, path)) {
            note_holder(claim, fd, name);
            return true;
        }
        struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        bool known = fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
        close(fd);
        if (number != 0 && number != EAGAIN && number != EACCES) {
            return weft_netlink_refused(error, number, NULL, NULL, path);
        }
        if (number != 0 && known) {
            return weft_fail(error, WEFT_IO, "process %d works on lab '%s'; wait for it or end it",
                             (int)holder.l_pid, name);
        }
    }
}

bool weft_lab_has_claim(const char *name)
{
    char path[PATH_BYTES];
    return access(lock_path(path, name), F_OK) == 0;
}

void weft_lab_unclaim(struct weft_lab_claim *claim, const char *name)
{
    char path[PATH_BYTES];
    // What stands needs no lock file while nobody works on it. What a killed program left keeps
    // that program's, by which weft lab down knows it.
    if (!claim->abandoned || access(state_path(path, name), F_OK) != 0) {
        unlink(lock_path(path, name));
    }
    close(claim->fd);
    claim->fd = -1;
    // Gone unless something is in them.
    rmdir(WEFT_LAB_FOLDER);
    rmdir("/run/weft");
}

// ---- the file ----

static json_t *describe(const struct weft_lab *lab)
{
    json_t *tables = json_array();
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        json_array_append_new(tables, json_pack("[I, I]", (json_int_t)lab->ocs[p].circuits_id,
                                                (json_int_t)lab->ocs[p].counts_id));
    }
    const struct classes_settings *classes = &lab->classes;
    return json_pack("{ss, ss, sb, ss, ss, si, si, sf, sf, si, si, si, si, si, sb, sb, sI, si, si, "
                     "si, so, s[iiii]}",
                     "schema", SCHEMA, "name", lab->name, "is_up", lab->is_up, "fabric",
                     lab->fabric, "plan", lab->plan_path, "servers", (int)lab->server_count,
                     "ports", (int)lab->port_count, "rate_Bps", lab->rate_Bps, "planned_rate_Bps",
                     lab->planned_rate_Bps, "mtu_bytes", (int)lab->mtu_bytes, "burst_bytes",
                     (int)lab->burst_bytes, "buffer_bytes", (int)lab->buffer_bytes, "mark_packets",
                     (int)lab->mark_packets, "marks_id", (int)lab->marks_id, "htb", lab->htb,
                     "offloads", lab->offloads, "dark_ns", (json_int_t)lab->dark_ns, "switches",
                     (int)lab->switch_count, "degree", (int)lab->degree, "radix", (int)lab->radix,
                     "tables", tables, "classes", (int)classes->queues, (int)classes->layers,
                     (int)classes->threshold_packets, (int)lab->classes_id);
}

char *weft_lab_write(const struct weft_lab *lab)
{
    json_t *object = describe(lab);
    char *text =
        object != NULL ? json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    return text;
}

bool weft_lab_save(const struct weft_lab *lab, struct weft_arena scratch, struct weft_error *error)
{
    (void)scratch;
    char path[PATH_BYTES];
    char *text = weft_lab_write(lab);
    if (text == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: the path of the plan is no UTF-8; rename the file or its folder",
                         lab->plan_path);
    }
    bool fine = make_folder(error) &&
                weft_file_save(state_path(path, lab->name), text, strlen(text), error);
    free(text);
    return fine;
}

static bool read_tables(struct weft_lab *lab, const json_t *tables)
{
    lab->ocs_count = (uint32_t)json_array_size(tables);
    if (lab->ocs_count > WEFT_LAB_PORTS_MAX) {
        return false;
    }
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        json_int_t ids[2];
        if (json_unpack(json_array_get(tables, p), "[I, I]", &ids[0], &ids[1]) != 0 || ids[0] < 0 ||
            ids[0] > UINT32_MAX || ids[1] < 0 || ids[1] > UINT32_MAX) {
            return false;
        }
        lab->ocs[p] = (struct weft_bpf_ocs){-1, (uint32_t)ids[0], (uint32_t)ids[1]};
    }
    return true;
}

static bool are_counts(const int *numbers, int n)
{
    for (int i = 0; i < n; i++) {
        if (numbers[i] < 0) {
            return false;
        }
    }
    return true;
}

// Queues, layers, threshold and the map of counts: all 0 or none.
static bool read_classes(struct weft_lab *lab, const json_t *classes)
{
    int numbers[4] = {0};
    if (json_unpack((json_t *)classes, "[iiii!]", &numbers[0], &numbers[1], &numbers[2],
                    &numbers[3]) != 0 ||
        !are_counts(numbers, 4) || numbers[0] > CLASSES_QUEUES_MAX ||
        (numbers[0] == 0) != (numbers[1] == 0) || (numbers[0] == 0) != (numbers[2] == 0) ||
        (numbers[0] == 0 && numbers[3] != 0)) {
        return false;
    }
    lab->classes =
        (struct classes_settings){(uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]};
    lab->classes_id = (uint32_t)numbers[3];
    return true;
}

// A lab from its JSON; false where a member is missing, has another type or is out of range. The
// limits hold because numbers become sizes of arrays.
static bool read_state(struct weft_lab *lab, json_t *object)
{
    const char *schema = "";
    const char *name = "";
    const char *fabric = "";
    const char *plan = "";
    json_t *tables = NULL;
    json_t *classes = NULL;
    int is_up = 0;
    int htb = 0;
    int offloads = 0;
    int counts[7] = {0};
    int shape[3] = {0}; // switches, degree, radix
    json_int_t dark_ns = 0;
    struct weft_lab made = {0};
    struct weft_error ignored;
    if (json_unpack(object,
                    "{ss, ss, sb, ss, ss, si, si, sF, sF, si, si, si, si, si, sb, sb, sI, si, si, "
                    "si, so, so}",
                    "schema", &schema, "name", &name, "is_up", &is_up, "fabric", &fabric, "plan",
                    &plan, "servers", &counts[0], "ports", &counts[1], "rate_Bps", &made.rate_Bps,
                    "planned_rate_Bps", &made.planned_rate_Bps, "mtu_bytes", &counts[2],
                    "burst_bytes", &counts[3], "buffer_bytes", &counts[4], "mark_packets",
                    &counts[5], "marks_id", &counts[6], "htb", &htb, "offloads", &offloads,
                    "dark_ns", &dark_ns, "switches", &shape[0], "degree", &shape[1], "radix",
                    &shape[2], "tables", &tables, "classes", &classes) != 0 ||
        !are_counts(counts, 7) || !are_counts(shape, 3) || shape[0] > WEFT_LAB_SWITCHES_MAX ||
        dark_ns < 0 || made.rate_Bps < 0 || made.planned_rate_Bps < 0 ||
        strcmp(schema, SCHEMA) != 0 || strlen(name) >= sizeof made.name ||
        strlen(fabric) >= sizeof made.fabric || strlen(plan) >= sizeof made.plan_path ||
        !weft_lab_check_name(name, &ignored) || counts[0] < 2 ||
        (uint32_t)counts[0] > WEFT_LAB_SERVERS_MAX || counts[1] < 1 ||
        (uint32_t)counts[1] > WEFT_LAB_PORTS_MAX || !read_tables(&made, tables) ||
        !read_classes(&made, classes) ||
        (made.ocs_count != 0 && made.ocs_count != (uint32_t)counts[1])) {
        return false;
    }
    snprintf(made.name, sizeof made.name, "%s", name);
    snprintf(made.fabric, sizeof made.fabric, "%s", fabric);
    snprintf(made.plan_path, sizeof made.plan_path, "%s", plan);
    made.is_up = is_up;
    made.htb = htb;
    made.offloads = offloads;
    made.server_count = (uint32_t)counts[0];
    made.port_count = (uint32_t)counts[1];
    made.mtu_bytes = (uint32_t)counts[2];
    made.burst_bytes = (uint32_t)counts[3];
    made.buffer_bytes = (uint32_t)counts[4];
    made.mark_packets = (uint32_t)counts[5];
    made.marks_id = (uint32_t)counts[6];
    made.dark_ns = (uint64_t)dark_ns;
    made.switch_count = (uint32_t)shape[0];
    made.degree = (uint32_t)shape[1];
    made.radix = (uint32_t)shape[2];
    *lab = made;
    return true;
}

bool weft_lab_read(struct weft_lab *lab, const char *text, size_t length)
{
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    bool fine = object != NULL && read_state(lab, object);
    json_decref(object);
    return fine;
}

bool weft_lab_load(struct weft_lab *lab, const char *name, struct weft_arena scratch,
                   struct weft_error *error)
{
    char path[PATH_BYTES];
    const char *data = NULL;
    size_t length = 0;
    if (!weft_lab_check_name(name, error)) {
        return false;
    }
    if (access(state_path(path, name), F_OK) != 0) {
        return weft_fail(error, WEFT_IO, "lab '%s' is not up; weft lab up raises it", name);
    }
    if (!weft_file_load(&data, &length, path, 1 << 20, &scratch, error)) {
        return false;
    }
    bool fine = weft_lab_read(lab, data, length) && strcmp(lab->name, name) == 0;
    if (!fine || !lab->is_up) {
        return weft_fail(error, WEFT_IO,
                         "lab '%s' is what a killed run left; weft lab down takes it away", name);
    }
    return true;
}
