// SPDX-License-Identifier: Apache-2.0
// Who holds what of a model: servers down, operators across, a cell where a server holds a
// part.
//
// Operators in a row that are placed alike share a column. Operators on all servers have one
// color, those on some a color for each set of servers. O(operators * servers).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define LEFT 56.0
#define RIGHT 980.0
#define LEGEND 30.0
#define COLUMNS_MAX 88u
#define PANELS_MAX 4u
#define ROWS_MAX 128u
#define SHADES 16u
#define NAME_LETTERS 20
#define NAME_SIZE (NAME_LETTERS + 32)

// Colors of operators on some of the servers, by set of servers in order of appearance.
static const uint32_t set_colors[] = {2, 5, 3, 4, 6};
#define SET_COLORS (sizeof set_colors / sizeof set_colors[0])
#define ALL_COLOR 0u
#define TABLE_COLOR 1u
#define COLORS SVG_COLOR_COUNT

// One operator, or several in a row that are placed alike.
struct column {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t color;
};

struct grid {
    const struct weft_model *model;
    const struct weft_strategy *strategy;
    struct column *columns;
    uint32_t column_count;
    bool folded;
    uint32_t row_step; // servers a row
    uint32_t row_count;
    double row_height;
    double names_height;
};

static uint32_t part_count(const struct weft_placement *placement)
{
    return placement->sample_parts * placement->parameter_parts;
}

static bool same_placement(const struct weft_placement *a, const struct weft_placement *b)
{
    return a->sample_parts == b->sample_parts && a->parameter_parts == b->parameter_parts &&
           memcmp(a->servers, b->servers, part_count(a) * sizeof *a->servers) == 0;
}

static bool is_table(const struct weft_operator *operator)
{
    return operator->spec.kind == WEFT_OP_EMBEDDING;
}

// A hash of the set of servers, whatever their order and how many parts each holds.
static uint64_t set_of(const struct weft_placement *placement, uint32_t server_count, bool *whole,
                       struct weft_arena scratch)
{
    bool *held = WEFT_NEW(&scratch, bool, (size_t)server_count + 1);
    uint64_t set = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < part_count(placement); i++) {
        uint32_t server = placement->servers[i];
        if (!held[server]) {
            held[server] = true;
            set += weft_hash(server + 1);
            count++;
        }
    }
    *whole = count == server_count;
    return set;
}

// Gives each column its color: tables one, operators on all servers another, the others one for
// each set of servers in order of appearance.
static void color_columns(struct grid *grid, struct weft_arena scratch)
{
    uint64_t *sets = WEFT_NEW(&scratch, uint64_t, (size_t)grid->column_count + 1);
    uint32_t set_count = 0;
    for (uint32_t c = 0; c < grid->column_count; c++) {
        struct column *column = &grid->columns[c];
        bool whole;
        uint64_t set = set_of(&grid->strategy->placements[column->first],
                              grid->strategy->server_count, &whole, scratch);
        if (is_table(&grid->model->operators[column->first])) {
            column->color = TABLE_COLOR;
            continue;
        }
        if (whole) {
            column->color = ALL_COLOR;
            continue;
        }
        uint32_t i = 0;
        while (i < set_count && sets[i] != set) {
            i++;
        }
        sets[i] = set;
        set_count += i == set_count;
        column->color = set_colors[i % SET_COLORS];
    }
}

static void find_columns(struct grid *grid, bool fold, struct weft_arena *arena)
{
    const struct weft_model *model = grid->model;
    const struct weft_placement *placements = grid->strategy->placements;
    struct column *columns = WEFT_NEW(arena, struct column, (size_t)model->operator_count + 1);
    uint32_t count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        struct column *before = count > 0 ? &columns[count - 1] : NULL;
        if (fold && before != NULL &&
            is_table(&model->operators[op]) == is_table(&model->operators[before->first]) &&
            same_placement(&placements[op], &placements[before->last])) {
            before->last = op;
            before->count++;
        } else {
            columns[count++] = (struct column){.first = op, .last = op, .count = 1};
        }
    }
    grid->columns = columns;
    grid->column_count = count;
    grid->folded = fold;
}

// ---- drawing ----

struct panel {
    const struct grid *grid;
    uint32_t from;
    uint32_t to;
    double top;  // of the rows
    double cell; // width
};

// Which part a row shows of a column: its sample part and whether the operator is divided by
// parameters; WEFT_NONE where none of its servers holds any.
static uint32_t *parts_of_rows(const struct grid *grid, const struct weft_placement *placement,
                               struct weft_arena *arena)
{
    uint32_t *parts = WEFT_NEW_RAW(arena, uint32_t, grid->row_count);
    for (uint32_t r = 0; r < grid->row_count; r++) {
        parts[r] = WEFT_NONE;
    }
    for (uint32_t i = part_count(placement); i > 0; i--) {
        parts[placement->servers[i - 1] / grid->row_step] = i - 1;
    }
    return parts;
}

static uint32_t shade_of(const struct weft_placement *placement, uint32_t part)
{
    uint32_t sample = part / placement->parameter_parts;
    return placement->sample_parts == 1 ? 0 : sample * SHADES / placement->sample_parts;
}

// All cells of one color and shade as one path; runs of rows are joined.
static void add_cells(struct weft_text *text, const struct panel *panel, uint32_t color,
                      uint32_t shade, struct weft_arena scratch)
{
    const struct grid *grid = panel->grid;
    double gap = panel->cell > 4 ? 1 : 0;
    bool open = false;
    for (uint32_t c = panel->from; c < panel->to; c++) {
        if (grid->columns[c].color != color) {
            continue;
        }
        const struct weft_placement *placement =
            &grid->strategy->placements[grid->columns[c].first];
        struct weft_arena inner = scratch;
        uint32_t *parts = parts_of_rows(grid, placement, &inner);
        double x = LEFT + (c - panel->from) * panel->cell;
        for (uint32_t r = 0; r < grid->row_count; r++) {
            if (parts[r] == WEFT_NONE || shade_of(placement, parts[r]) != shade) {
                continue;
            }
            if (!open) {
                weft_text_add(text, "<path class=\"o%u\" fill-opacity=\"%.2f\" d=\"", color,
                              1 - 0.55 * shade / SHADES);
                open = true;
            }
            double height = grid->row_height - (grid->row_height > 6 ? 1 : 0);
            weft_text_add(text, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, panel->top + r * grid->row_height,
                          panel->cell - gap, height, panel->cell - gap);
        }
    }
    if (open) {
        weft_text_add(text, "\"/>\n");
    }
}

// A stroke through every part of an operator whose parameters are divided.
static void add_hatch(struct weft_text *text, const struct panel *panel, struct weft_arena scratch)
{
    const struct grid *grid = panel->grid;
    bool open = false;
    for (uint32_t c = panel->from; c < panel->to; c++) {
        const struct weft_placement *placement =
            &grid->strategy->placements[grid->columns[c].first];
        if (placement->parameter_parts == 1) {
            continue;
        }
        struct weft_arena inner = scratch;
        uint32_t *parts = parts_of_rows(grid, placement, &inner);
        double x = LEFT + (c - panel->from) * panel->cell;
        for (uint32_t r = 0; r < grid->row_count; r++) {
            if (parts[r] == WEFT_NONE) {
                continue;
            }
            if (!open) {
                weft_text_add(text, "<path class=\"bs\" stroke-width=\"1.2\" d=\"");
                open = true;
            }
            weft_text_add(text, "M%.1f %.1fl%.1f -%.1f", x,
                          panel->top + (r + 1) * grid->row_height - 1, panel->cell - 1,
                          grid->row_height - 1);
        }
    }
    if (open) {
        weft_text_add(text, "\"/>\n");
    }
}

// The column's name, long ones cut, with how many operators follow the first.
static const char *name_column(char *shown, size_t size, const struct grid *grid, uint32_t c)
{
    const struct column *column = &grid->columns[c];
    const char *name = grid->model->operators[column->first].spec.name;
    char count[24] = "";
    if (column->count > 1) {
        snprintf(count, sizeof count, " +%u", column->count - 1);
    }
    bool cut = strlen(name) > NAME_LETTERS;
    snprintf(shown, size, "%.*s%s%s", cut ? NAME_LETTERS - 1 : NAME_LETTERS, name, cut ? ".." : "",
             count);
    return shown;
}

static double find_names_height(const struct grid *grid)
{
    char shown[NAME_SIZE];
    size_t longest = 0;
    for (uint32_t c = 0; c < grid->column_count; c++) {
        size_t length = strlen(name_column(shown, sizeof shown, grid, c));
        longest = length > longest ? length : longest;
    }
    return 16 + 5.9 * (double)longest;
}

static void add_name(struct weft_text *text, const struct grid *grid, uint32_t c, double x,
                     double y)
{
    char shown[NAME_SIZE];
    name_column(shown, sizeof shown, grid, c);
    weft_text_add(text, "<text class=\"m n\" transform=\"translate(%.1f %.1f)rotate(-90)\">", x, y);
    weft_text_add_escaped(text, shown);
    weft_text_add(text, "</text>\n");
}

// Frame, servers' numbers and operators' names.
static void add_frame(struct weft_text *text, const struct panel *panel)
{
    const struct grid *grid = panel->grid;
    double right = LEFT + (panel->to - panel->from) * panel->cell;
    double bottom = panel->top + grid->row_count * grid->row_height;
    uint32_t every = 1;
    while (every * grid->row_height < 12) {
        every *= 2;
    }
    for (uint32_t r = 0; r < grid->row_count; r += every) {
        svg_label(
            text,
            svg_at(LEFT - 8, panel->top + r * grid->row_height + grid->row_height / 2 + 3, SVG_END),
            "m n", "%u", r * grid->row_step);
    }
    svg_rect(text, LEFT - 1, panel->top - 1, right - LEFT + 1, bottom - panel->top + 1, "p");
    uint32_t step = (uint32_t)ceil(10 / panel->cell);
    for (uint32_t c = panel->from; c < panel->to; c += step) {
        add_name(text, grid, c, LEFT + (c - panel->from + 0.5) * panel->cell + 3, panel->top - 6);
    }
    weft_text_add(text,
                  "<text class=\"m n\" transform=\"translate(14 %.1f)rotate(-90)\" "
                  "text-anchor=\"end\">server</text>\n",
                  panel->top);
}

static void add_legend_entry(struct weft_text *text, double *x, const char *color, bool hatched,
                             const char *name)
{
    svg_rect(text, *x, 8, 14, 12, color);
    if (hatched) {
        weft_text_add(text, "<path class=\"bs\" stroke-width=\"1.2\" d=\"M%.1f 20l14 -12\"/>\n",
                      *x);
    }
    svg_label(text, svg_at(*x + 20, 18, SVG_START), "t", "%s", name);
    *x += 40 + 6.6 * (double)strlen(name);
}

// Explains the colors and hatches that the grid has, from left to right.
static void add_legend(struct weft_text *text, const struct grid *grid)
{
    bool some = false;
    bool tables = false;
    bool whole = false;
    bool hatched = false;
    for (uint32_t c = 0; c < grid->column_count; c++) {
        uint32_t color = grid->columns[c].color;
        tables |= color == TABLE_COLOR;
        whole |= color == ALL_COLOR;
        some |= color != TABLE_COLOR && color != ALL_COLOR;
        hatched |= grid->strategy->placements[grid->columns[c].first].parameter_parts > 1;
    }
    double x = LEFT;
    if (whole) {
        add_legend_entry(text, &x, "o0", false, "on all servers");
    }
    if (some) {
        for (uint32_t i = 0; i < 4; i++) {
            char color[8];
            snprintf(color, sizeof color, "o%u", set_colors[i]);
            svg_rect(text, x, 8, 14, 12, color);
            x += i < 3 ? 16 : 0;
        }
        add_legend_entry(text, &x, "o4", false, "on some: a color for each set of servers");
    }
    if (tables) {
        add_legend_entry(text, &x, "o1", false, "embedding table");
    }
    if (hatched) {
        add_legend_entry(text, &x, "fo", true, "parameters divided");
    }
}

static void add_panel(struct weft_text *text, const struct panel *panel, struct weft_arena scratch)
{
    add_frame(text, panel);
    for (uint32_t color = 0; color < COLORS; color++) {
        for (uint32_t shade = 0; shade < SHADES; shade++) {
            add_cells(text, panel, color, shade, scratch);
        }
    }
    add_hatch(text, panel, scratch);
}

void picture_operators(struct weft_text *text, const struct weft_model *model,
                       const struct weft_strategy *strategy, struct weft_arena scratch)
{
    uint32_t n = strategy->server_count;
    struct grid grid = {.model = model, .strategy = strategy};
    find_columns(&grid, false, &scratch);
    if (grid.column_count > COLUMNS_MAX) {
        find_columns(&grid, true, &scratch);
    }
    color_columns(&grid, scratch);
    grid.row_step = (n + ROWS_MAX - 1) / ROWS_MAX;
    grid.row_count = (n + grid.row_step - 1) / grid.row_step;
    double small = grid.row_count <= 64 ? 8 : 4;
    grid.row_height = grid.row_count <= 16 ? 16 : small;
    uint32_t panel_count = (grid.column_count + COLUMNS_MAX - 1) / COLUMNS_MAX;
    uint32_t shown = panel_count < PANELS_MAX ? panel_count : PANELS_MAX;
    // Panels of one width, so that cells line up.
    uint32_t across = panel_count > 0 ? (grid.column_count + panel_count - 1) / panel_count : 1;
    double cell = fmin(across <= 6 ? 120 : 28, (RIGHT - LEFT) / across);
    grid.names_height = find_names_height(&grid);
    double panel_height = grid.names_height + grid.row_count * grid.row_height + 14;
    bool cut = shown < panel_count;
    svg_begin(text, WIDTH, LEGEND + shown * panel_height + (cut ? 24 : 4),
              "Which server holds which part of which operator", false);
    add_legend(text, &grid);
    for (uint32_t p = 0; p < shown; p++) {
        uint32_t to = (p + 1) * across;
        struct panel panel = {.grid = &grid,
                              .from = p * across,
                              .to = to < grid.column_count ? to : grid.column_count,
                              .top = LEGEND + p * panel_height + grid.names_height,
                              .cell = cell};
        add_panel(text, &panel, scratch);
    }
    if (cut) {
        svg_label(text, svg_at(LEFT, LEGEND + shown * panel_height + 12, SVG_START), "m",
                  "%u further columns are not drawn.", grid.column_count - shown * across);
    }
    svg_end(text);
}
