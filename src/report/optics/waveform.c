// SPDX-License-Identifier: Apache-2.0
// A dot product as a waveform: a track for each converter and one for the detector, a column for
// each sample, preamble and data in colors of their own. The converters' tracks show what leaves
// the delay lines, so that the later one is seen to begin later by what the other's modulator
// lags. The first sample of the data stands beside it. Wavelengths beyond the first have tracks
// below. O(samples).

#include "report/svg/svg.h"
#include "weft/report.h"

#define WIDTH 1000.0
#define LEFT 110.0
#define RIGHT 984.0
#define TOP 56.0
#define TRACK 84.0 // from one track to the next
#define HEIGHT 62.0
#define BOTTOM 44.0
#define FULL_SCALE 255.0
#define TRACKS 3u
#define WAVELENGTHS_SHOWN 4u
enum { CYCLE = 16 };

// Where a track stands: its base line, and what a sample is wide.
struct track {
    double base;
    double sample;
    uint32_t late; // samples by which all of it is played later
};

static double x_of(const struct track *track, uint32_t sample)
{
    return LEFT + (sample + track->late) * track->sample;
}

// Samples [first, end) of a track in one color.
static void add_stretch(struct weft_text *text, const struct track *track, const uint8_t *values,
                        uint32_t first, uint32_t end, const char *classes)
{
    weft_text_add(text, "<path class=\"fill %s\" d=\"M%.2f %.2f", classes, x_of(track, first),
                  track->base);
    for (uint32_t t = first; t < end; t++) {
        while (t + 1 < end && values[t + 1] == values[t]) {
            t++; // equal samples are one step
        }
        weft_text_add(text, "V%.2fH%.2f", track->base - HEIGHT * values[t] / FULL_SCALE,
                      x_of(track, t + 1));
    }
    weft_text_add(text, "V%.2fZ\"/>\n", track->base);
}

// What a track shows: its name, what is said of it, and where its preamble begins.
struct stream {
    const char *name;
    const char *note; // with one number
    uint32_t number;
    const uint8_t *values;
    uint32_t preamble_first;
};

// One stream: dark before its preamble, preamble, data and the dark behind.
static void add_track(struct weft_text *text, const struct track *track,
                      const struct stream *stream, const struct weft_photonic_dot *dot)
{
    uint32_t samples = dot->streams.samples - track->late, first = stream->preamble_first;
    uint32_t data = first + dot->preamble * CYCLE;
    const uint8_t *values = stream->values;
    double middle = track->base - HEIGHT / 2;
    svg_line(text, LEFT, track->base, RIGHT, track->base, "x");
    svg_label(text, svg_at(LEFT - 10, middle, SVG_END), "t b", "%s", stream->name);
    if (data >= samples) { // no preamble was found
        svg_label(text, svg_at(LEFT - 10, middle + 16, SVG_END), "m n", "no preamble");
        add_stretch(text, track, values, 0, samples, "fo");
        return;
    }
    svg_label(text, svg_at(LEFT - 10, middle + 16, SVG_END), "m n", "%s %u", stream->note,
              stream->number);
    add_stretch(text, track, values, 0, first, "fo");
    add_stretch(text, track, values, first, data, "f0");
    add_stretch(text, track, values, data, samples, "f1");
    svg_line(text, x_of(track, first), track->base + 4, x_of(track, first),
             track->base - HEIGHT - 4, "s0");
    svg_line(text, x_of(track, data), track->base + 4, x_of(track, data), track->base - HEIGHT - 4,
             "s1");
}

// The tracks of one wavelength, of which the first begins below `base`.
static void add_wavelength(struct weft_text *text, const struct weft_photonic_dot *dot, uint32_t k,
                           double base)
{
    size_t at = (size_t)k * dot->streams.samples;
    uint32_t found = dot->found ? dot->first - dot->preamble * CYCLE : dot->streams.samples;
    const struct stream streams[TRACKS] = {
        {"dac_0", "delay line", dot->delay_activation, dot->streams.activation + at, 0},
        {"dac_1", "delay line", dot->delay_weight, dot->streams.weight + at, 0},
        {"detector", "rotation", dot->rotation, dot->detector + at, found},
    };
    const uint32_t late[TRACKS] = {dot->delay_activation, dot->delay_weight, 0};
    for (uint32_t i = 0; i < TRACKS; i++) {
        const struct track track = {
            .base = base + (i + 1) * TRACK,
            .sample = (RIGHT - LEFT) / dot->streams.samples,
            .late = late[i],
        };
        add_track(text, &track, &streams[i], dot);
    }
}

static void add_legend(struct weft_text *text)
{
    svg_rect(text, LEFT, 26, 12, 12, "f0");
    svg_label(text, svg_at(LEFT + 18, 36, SVG_START), "t", "preamble");
    svg_rect(text, LEFT + 100, 26, 12, 12, "f1");
    svg_label(text, svg_at(LEFT + 118, 36, SVG_START), "t", "data");
    svg_rect(text, LEFT + 170, 26, 12, 12, "fo");
    svg_label(text, svg_at(LEFT + 188, 36, SVG_START), "t", "before and without a preamble");
}

const char *weft_report_svg_waveform(const struct weft_photonic_dot *dot, const char *title,
                                     struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    const struct weft_photonic_streams *streams = &dot->streams;
    uint32_t shown =
        streams->wavelengths < WAVELENGTHS_SHOWN ? streams->wavelengths : WAVELENGTHS_SHOWN;
    double height = TOP + TRACK * TRACKS * shown + BOTTOM;
    svg_begin(&text, WIDTH, height, title, true);
    svg_label(&text, svg_at(LEFT, 18, SVG_START), "t b l", "%s", title);
    add_legend(&text);
    struct svg_field field = svg_field(LEFT, RIGHT, TOP, TOP + TRACK * TRACKS * shown);
    svg_axis_x(&text, field, 0, streams->samples, "samples, 16 a cycle");
    for (uint32_t k = 0; k < shown; k++) {
        add_wavelength(&text, dot, k, TOP + TRACK * TRACKS * k);
    }
    svg_end(&text);
    return text.data;
}
