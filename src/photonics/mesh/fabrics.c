// SPDX-License-Identifier: Apache-2.0
// Two other fabrics of cells with two inputs and two outputs: a planar triangle that realizes every
// matching, and the network of Benes that realizes every permutation.
//
// Triangle, n = N, N - 2, .., 4 lines: a chain of cells (i, i + 1), i = 0 .. n - 3, carries the
// partner of line n - 1 from its line p to line n - 2 by crosses from i = p on. The last two lines
// are joined and leave. N (N - 2) / 4 cells, which suffice by induction: what is left is a matching
// of n - 2 lines.
//
// Benes ("Mathematical theory of connecting networks and telephone traffic", 1965): two outer
// stages of N / 2 cells about two networks of N / 2 lines. Inputs 2i and 2i + 1 must take different
// halves, and so must outputs 2j and 2j + 1: the constraints are cycles of even length, which are
// walked (the looping algorithm). N log2 N - N / 2 cells.

#include "weft/photonics/mesh.h"

uint32_t weft_triangle_cells(uint32_t ports)
{
    WEFT_ASSERT(ports >= 2 && ports % 2 == 0);
    return (uint32_t)((uint64_t)ports * (ports - 2) / 4);
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t value = *a;
    *a = *b;
    *b = value;
}

void weft_triangle_set(uint8_t *cells, const uint32_t *peers, uint32_t ports,
                       struct weft_arena scratch)
{
    uint32_t *lines = WEFT_NEW(&scratch, uint32_t, ports); // which port is on a line
    for (uint32_t p = 0; p < ports; p++) {
        WEFT_ASSERT(peers[p] < ports && peers[p] != p && peers[peers[p]] == p);
        lines[p] = p;
    }
    uint32_t e = 0;
    for (uint32_t n = ports; n >= 4; n -= 2) {
        bool carries = false;
        for (uint32_t i = 0; i + 2 < n; i++) {
            carries = carries || lines[i] == peers[lines[n - 1]];
            cells[e++] = carries;
            if (carries) {
                swap(&lines[i], &lines[i + 1]);
            }
        }
    }
    WEFT_ASSERT(e == weft_triangle_cells(ports));
}

void weft_triangle_trace(uint32_t *peers, uint32_t *lengths, const uint8_t *cells, uint32_t ports,
                         struct weft_arena scratch)
{
    uint32_t *lines = WEFT_NEW(&scratch, uint32_t, ports);
    uint32_t *passed = WEFT_NEW(&scratch, uint32_t, ports);
    for (uint32_t p = 0; p < ports; p++) {
        lines[p] = p;
    }
    uint32_t e = 0;
    for (uint32_t n = ports; n >= 2; n -= 2) {
        for (uint32_t i = 0; n >= 4 && i + 2 < n; i++) {
            passed[lines[i]]++;
            passed[lines[i + 1]]++;
            if (cells[e++] != 0) {
                swap(&lines[i], &lines[i + 1]);
            }
        }
        uint32_t a = lines[n - 2];
        uint32_t b = lines[n - 1];
        peers[a] = b;
        peers[b] = a;
        lengths[a] = lengths[b] = passed[a] + passed[b];
    }
}

uint32_t weft_benes_cells(uint32_t lines)
{
    WEFT_ASSERT(lines >= 2 && (lines & (lines - 1)) == 0);
    return lines == 2 ? 1 : lines + 2 * weft_benes_cells(lines / 2);
}

// A network and its two halves: first the cells of the inputs, then those of the outputs, then the
// upper half's, then the lower one's. Lines 2i and 2i + 1 enter cell i; where it is bar the first
// goes to the upper half.
void weft_benes_set(uint8_t *cells, const uint32_t *to, uint32_t lines, struct weft_arena scratch)
{
    if (lines == 2) {
        cells[0] = to[0] == 1;
        return;
    }
    uint32_t half = lines / 2;
    uint32_t *from = WEFT_NEW(&scratch, uint32_t, lines);
    uint32_t *upper = WEFT_NEW(&scratch, uint32_t, half);
    uint32_t *lower = WEFT_NEW(&scratch, uint32_t, half);
    bool *done = WEFT_NEW(&scratch, bool, half);
    for (uint32_t i = 0; i < lines; i++) {
        from[to[i]] = i;
    }
    for (uint32_t first = 0; first < half; first++) {
        // Around the cycle: an input takes the upper half, its output's neighbor the lower one,
        // whose input's neighbor takes the upper one again.
        for (uint32_t input = 2 * first; !done[input / 2];) {
            done[input / 2] = true;
            cells[input / 2] = input % 2 != 0;
            uint32_t output = to[input];
            cells[half + output / 2] = output % 2 != 0;
            upper[input / 2] = output / 2;
            uint32_t beside = from[output ^ 1u];
            lower[beside / 2] = output / 2;
            input = beside ^ 1u;
        }
    }
    uint32_t inner = weft_benes_cells(half);
    weft_benes_set(cells + lines, upper, half, scratch);
    weft_benes_set(cells + lines + inner, lower, half, scratch);
}

uint32_t weft_benes_trace(const uint8_t *cells, uint32_t lines, uint32_t input)
{
    if (lines == 2) {
        return input ^ (cells[0] != 0 ? 1u : 0u);
    }
    uint32_t half = lines / 2;
    uint32_t side = (input & 1u) ^ (cells[input / 2] != 0 ? 1u : 0u);
    const uint8_t *inner = cells + lines + side * weft_benes_cells(half);
    uint32_t output = weft_benes_trace(inner, half, input / 2);
    return 2 * output + (side ^ (cells[half + output] != 0 ? 1u : 0u));
}
