// SPDX-License-Identifier: Apache-2.0
// Behind the detector: patterns of the preamble, words put together again, and which of them count.

// Two stages. First the mean of a word's 16 samples of wavelength 0; then which samples reach it, and
// whether those are a rotation of the preamble's eight bright samples.
module weft_pattern #(
    parameter WAVELENGTHS = 1
) (
    input wire clock,
    input wire [WAVELENGTHS*128-1:0] samples,
    output reg [WAVELENGTHS*128-1:0] word, // the samples, two cycles later
    output reg light,                      // of that word: not dark
    output reg [15:0] pattern              // one-hot: the rotation that it is, or none
);
    reg [WAVELENGTHS*128-1:0] held;
    reg [11:0] total;
    reg [11:0] sum;
    reg [15:0] bits;
    integer i;
    always @* begin
        sum = 12'd0;
        for (i = 0; i < 16; i = i + 1) sum = sum + {4'd0, samples[i*8+:8]};
        for (i = 0; i < 16; i = i + 1) bits[i] = {held[i*8+:8], 4'd0} >= total;
    end
    wire [31:0] twice = {bits, bits};
    always @(posedge clock) begin
        held <= samples;
        total <= sum;
        word <= held;
        light <= total != 0;
        for (i = 0; i < 16; i = i + 1) pattern[i] <= total != 0 && twice[i+:16] == 16'h00ff;
    end
endmodule

// Word by word a rotation of r is undone: the last 16 - r samples of the word before, then the
// first r of this one, in every wavelength. With r = 0 a word is whole at once.
module weft_realign #(
    parameter WAVELENGTHS = 1
) (
    input wire clock,
    input wire [WAVELENGTHS*128-1:0] in,
    input wire [3:0] rotation,
    output wire [WAVELENGTHS*128-1:0] out
);
    reg [WAVELENGTHS*128-1:0] previous;
    always @(posedge clock) previous <= in;
    genvar w;
    generate
        for (w = 0; w < WAVELENGTHS; w = w + 1) begin : wavelength
            wire [255:0] both = {in[w*128+:128], previous[w*128+:128]} >> {rotation, 3'b000};
            assign out[w*128+:128] = rotation == 0 ? in[w*128+:128] : both[127:0];
        end
    endgenerate
endmodule

// For each cycle of data what is under way as light: whether it is a word or a bubble, and signs.
// A word that is pushed into an empty queue can be taken in the same cycle (no latency at all).
module weft_shadow_fifo #(
    parameter WIDTH = 17,
    parameter DEPTH = 64 // a power of two
) (
    input wire clock,
    input wire reset,
    input wire push,
    input wire [WIDTH-1:0] in,
    input wire pop,
    output wire some,
    output wire [WIDTH-1:0] out
);
    localparam BITS = $clog2(DEPTH);
    reg [WIDTH-1:0] words[0:DEPTH-1];
    reg [BITS-1:0] head, tail;
    reg stored;
    assign some = stored || push;
    assign out = stored ? words[head] : in;
    wire [BITS-1:0] head_next = head + {{(BITS - 1) {1'b0}}, pop};
    wire [BITS-1:0] tail_next = tail + {{(BITS - 1) {1'b0}}, push};
    always @(posedge clock) begin
        if (reset) begin
            head <= 0;
            tail <= 0;
            stored <= 1'b0;
        end else begin
            if (push) words[tail] <= in;
            head <= head_next;
            tail <= tail_next;
            if (push != pop) stored <= head_next != tail_next;
        end
    end
endmodule
