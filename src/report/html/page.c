// SPDX-License-Identifier: Apache-2.0
// The frame of a page and the pieces that all sections use: head, contents, headings, tables.
//
// A page is one file that needs nothing else: style (page.css) and script (page.js) stand inside,
// and a policy forbids the browser to load anything. The contents are read off the sections, so
// that none can lack. O(bytes).

#include "html.h"
#include "report/svg/svg.h"

#include <math.h>
#include <string.h>

void html_begin(struct weft_text *text, const char *title, const char *what)
{
    weft_text_add(text,
                  "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<title>");
    weft_text_add_escaped(text, title);
    weft_text_add(text, ": %s</title>\n<style>%s\n", what, html_style);
    svg_add_style(text);
    weft_text_add(text, "</style>\n</head>\n<body>\n<main>\n");
}

#define SECTION "<section id=\""
#define TITLE "\">\n<h2>"

// Names in pages are escaped, so that nobody else writes what is looked for.
static void add_contents(struct weft_text *text, const char *body)
{
    weft_text_add(text, "<nav aria-label=\"Contents\"><ul>\n");
    for (const char *at = strstr(body, SECTION); at != NULL; at = strstr(at, SECTION)) {
        at += strlen(SECTION);
        int id = (int)strcspn(at, "\"");
        const char *title = at + id + strlen(TITLE);
        int length = (int)strcspn(title, "<");
        weft_text_add(text, "<li><a href=\"#%.*s\">%.*s</a></li>\n", id, at, length, title);
    }
    weft_text_add(text, "</ul></nav>\n");
}

void html_end(struct weft_text *text, const char *body)
{
    add_contents(text, body);
    weft_text_add(text,
                  "%s<footer class=\"muted\"><p>Written by weft %s.</p></footer>\n</main>\n"
                  "<script>\n%s</script>\n</body>\n</html>\n",
                  body, WEFT_VERSION, html_script);
}

// Escapes some of a text, piece by piece.
static void add_part(struct weft_text *text, const char *at, size_t length)
{
    char piece[64];
    while (length > 0) {
        size_t count = length < sizeof piece - 1 ? length : sizeof piece - 1;
        memcpy(piece, at, count);
        piece[count] = '\0';
        weft_text_add_escaped(text, piece);
        at += count;
        length -= count;
    }
}

void html_command(struct weft_text *text, const char *command)
{
    weft_text_add(text, "<code>");
    for (const char *at = command; *at != '\0';) {
        size_t length = strcspn(at, " \n");
        bool option = *at == '-';
        weft_text_add(text, "%s", option ? "<span>" : "");
        add_part(text, at, length);
        weft_text_add(text, "%s", option ? "</span>" : "");
        at += length;
        if (*at != '\0') {
            weft_text_add(text, "%c", *at);
            at += 1 + strspn(at + 1, " ");
        }
    }
    weft_text_add(text, "</code>");
}

static void add_origin(struct weft_text *text, const char *name, const char *value)
{
    if (value != NULL) {
        weft_text_add(text, "<dt>%s</dt><dd>", name);
        weft_text_add_escaped(text, value);
        weft_text_add(text, "</dd>\n");
    }
}

void html_origin(struct weft_text *text, const char *kind, const char *title, const char *cluster,
                 const struct weft_report_origin *origin)
{
    weft_text_add(text, "<dl class=\"origin\">\n");
    add_origin(text, kind, title);
    add_origin(text, "Cluster", cluster);
    add_origin(text, "Date", origin->date);
    if (origin->command != NULL) {
        weft_text_add(text, "<dt>Command</dt><dd>");
        html_command(text, origin->command);
        weft_text_add(text, "</dd>\n");
    }
    weft_text_add(text, "</dl>\n");
}

// A section's name in addresses is its title in small letters, other signs as '-'.
void html_heading(struct weft_text *text, const char *title, const char *words)
{
    weft_text_add(text, SECTION);
    for (const char *c = title; *c != '\0'; c++) {
        bool upper = *c >= 'A' && *c <= 'Z';
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        weft_text_add(text, "%c", upper ? *c - 'A' + 'a' : plain ? *c : '-');
    }
    weft_text_add(text, TITLE);
    weft_text_add_escaped(text, title);
    weft_text_add(text, "</h2>\n<p class=\"muted\">%s</p>\n", words);
}

void html_tile(struct weft_text *text, const char *name, const char *value, const char *small)
{
    weft_text_add(text, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", name, value, small);
}

void html_figure(struct weft_text *text, const char *tools)
{
    weft_text_add(text, "<figure data-tools=\"%s\"><div class=\"scroll\">\n", tools);
}

void html_figure_end(struct weft_text *text, const char *caption)
{
    weft_text_add(text, "</div>");
    if (caption != NULL) {
        weft_text_add(text, "<figcaption>%s</figcaption>", caption);
    }
    weft_text_add(text, "</figure>\n");
}

void html_table(struct weft_text *text, const char *caption, const char *columns)
{
    bool sorts = *columns == '^';
    weft_text_add(text,
                  "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table%s>"
                  "<caption>%s</caption>\n<tr>",
                  caption, sorts ? " data-tools=\"sort\"" : "", caption);
    for (const char *at = columns + sorts; *at != '\0';) {
        const char *kind = *at == '>' ? " class=\"r\"" : *at == '<' ? " class=\"w\"" : "";
        at += *at == '>' || *at == '<';
        int length = (int)strcspn(at, "|");
        weft_text_add(text, "<th scope=\"col\"%s>%.*s</th>", kind, length, at);
        at += length;
        at += *at == '|';
    }
    weft_text_add(text, "</tr>\n");
}

void html_table_end(struct weft_text *text)
{
    weft_text_add(text, "</table></div>\n");
}

const char *html_percent(char *buffer, double ratio)
{
    double percent = 100 * ratio;
    if (fabs(percent) < 999.5) {
        snprintf(buffer, WEFT_UNIT_TEXT, fabs(percent) < 0.01 ? "%.1g %%" : "%.3g %%", percent);
    } else {
        snprintf(buffer, WEFT_UNIT_TEXT, "%.0f %%", percent);
    }
    return buffer;
}

const char *html_count(char *buffer, double count)
{
    static const char *const names[] = {"", " k", " M", " G", " T", " P", " E"};
    if (count >= 1000 && count < 1e7) {
        char dollars[WEFT_UNIT_TEXT];
        snprintf(buffer, WEFT_UNIT_TEXT, "%s", weft_show_usd(dollars, count) + 1);
        return buffer;
    }
    uint32_t i = 0;
    while (count >= 999.95 && i + 1 < sizeof names / sizeof names[0]) {
        count /= 1000;
        i++;
    }
    snprintf(buffer, WEFT_UNIT_TEXT, "%.4g%s", count, names[i]);
    return buffer;
}
