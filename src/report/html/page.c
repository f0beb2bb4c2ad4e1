// SPDX-License-Identifier: Apache-2.0
// The frame of a page and the pieces that all sections use: style, beginning, end, headings, tiles.
//
// A page is one file that needs nothing else: the style stands inside, colors are variables that
// change with the screen's light or dark scheme, and rules for print keep figures and rows whole.

#include "html.h"
#include "report/svg/svg.h"

static const char page_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--muted:#57606a;--line:#dfe3e8;"
    "--panel:#f6f8fa;--accent:#0072b2}"
    "@media (prefers-color-scheme:dark){@media screen{:root{--bg:#0f1419;--fg:#e6edf3;"
    "--muted:#9aa7b4;--line:#2b3138;--panel:#161c24;--accent:#3d9fdb}}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    "main{max-width:1060px;margin:0 auto;padding:2.5rem 1.5rem 4rem}"
    "h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .4rem;overflow-wrap:anywhere}"
    "h2{font-size:1.25rem;margin:3rem 0 .3rem;padding-top:1.2rem;border-top:1px solid var(--line)}"
    "p{margin:.3rem 0 1rem;max-width:46rem}.muted,figcaption{color:var(--muted)}"
    "figure{margin:1rem 0}figcaption{font-size:.875rem;max-width:46rem}"
    "svg{display:block;width:100%;height:auto}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.3rem,1fr));gap:.75rem;"
    "margin:1.6rem 0 0;padding:0}"
    ".tiles div{background:var(--panel);border:1px solid var(--line);border-radius:8px;"
    "padding:.7rem .9rem}"
    ".tiles dt{font-size:.8rem;color:var(--muted)}"
    ".tiles dd{margin:0;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums}"
    ".tiles small{display:block;font-size:.8rem;font-weight:400;color:var(--muted)}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%;font-size:.875rem;margin:1rem 0;"
    "font-variant-numeric:tabular-nums}"
    "th,td{padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}th{color:var(--muted);font-weight:500;white-space:nowrap}"
    ".r{text-align:right;white-space:nowrap}tr.on td{font-weight:600}.w{width:100%}"
    "@media print{body{font-size:11pt}main{max-width:none;padding:0}"
    "h2{break-after:avoid}figure,tr,.tiles{break-inside:avoid}.wide{overflow:visible}}";

void html_begin(struct weft_text *text, const char *title, const char *what)
{
    weft_text_add(text, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                        "<title>");
    weft_text_add_escaped(text, title);
    weft_text_add(text, ": %s</title>\n<style>%s\n", what, page_style);
    svg_add_style(text);
    weft_text_add(text, "</style>\n</head>\n<body>\n<main>\n");
}

void html_end(struct weft_text *text)
{
    weft_text_add(text,
                  "<footer class=\"muted\"><p>Written by weft %s.</p></footer>\n</main>\n"
                  "</body>\n</html>\n",
                  WEFT_VERSION);
}

void html_heading(struct weft_text *text, const char *title, const char *words)
{
    weft_text_add(text, "<section>\n<h2>%s</h2>\n<p class=\"muted\">%s</p>\n", title, words);
}

void html_tile(struct weft_text *text, const char *name, const char *value, const char *small)
{
    weft_text_add(text, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", name, value, small);
}
