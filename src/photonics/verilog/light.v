// SPDX-License-Identifier: Apache-2.0
// A stream of samples, delayed by any number of them: 16 samples are a cycle, so that a delay that
// is no multiple of 16 rotates words. The digital delay lines before the modulators are of this
// kind, and so are, in the model of the light's path, what modulators lag behind and the latency.
module weft_delay_line #(
    parameter WIDTH = 16, // bits of a sample
    parameter DEPTH = 16  // cycles, a power of two
) (
    input wire clock,
    input wire [16*WIDTH-1:0] in,
    input wire [31:0] delay, // samples, less than 16 (DEPTH - 1)
    output wire [16*WIDTH-1:0] out
);
    localparam BITS = $clog2(DEPTH);
    reg [16*WIDTH-1:0] words[0:DEPTH-1];
    reg [BITS-1:0] head;
    integer i;
    initial begin
        head = 0;
        for (i = 0; i < DEPTH; i = i + 1) words[i] = {(16 * WIDTH) {1'b0}};
    end
    always @(posedge clock) begin
        words[head] <= in;
        head <= head + 1'b1;
    end
    wire [BITS-1:0] cycles = delay[4+:BITS];
    wire [BITS-1:0] newest = head - cycles;
    wire [BITS-1:0] previous = newest - 1'b1;
    wire [16*WIDTH-1:0] late = cycles == 0 ? in : words[newest];
    wire [16*WIDTH-1:0] later = words[previous];
    // The first samples of a word are the last ones of the word before.
    wire [31:0] kept = (16 - {28'd0, delay[3:0]}) * WIDTH;
    wire [32*WIDTH-1:0] both = {late, later} >> kept;
    assign out = both[16*WIDTH-1:0];
endmodule

// The photonic core as a model: what stands between the converters. A product is of two magnitudes
// of 8 bits and has 8 bits. Not synthesizable in earnest: in the device this is light.
module weft_core #(
    parameter WAVELENGTHS = 1
) (
    input wire clock,
    input wire [WAVELENGTHS*256-1:0] activations,
    input wire [WAVELENGTHS*256-1:0] weights,
    input wire [31:0] skew_activation, // samples
    input wire [31:0] skew_weight,
    input wire [31:0] latency,
    output wire [WAVELENGTHS*128-1:0] products // 8 bits a sample
);
    genvar w, lane;
    generate
        for (w = 0; w < WAVELENGTHS; w = w + 1) begin : wavelength
            wire [127:0] a, b, a_late, b_late, product;
            for (lane = 0; lane < 16; lane = lane + 1) begin : modulator
                assign a[lane*8+:8] = activations[(w*16+lane)*16+7+:8];
                assign b[lane*8+:8] = weights[(w*16+lane)*16+7+:8];
                wire [15:0] exact = a_late[lane*8+:8] * b_late[lane*8+:8];
                assign product[lane*8+:8] = exact[15:8];
            end
            weft_delay_line #(.WIDTH(8)) lag_a (clock, a, skew_activation, a_late);
            weft_delay_line #(.WIDTH(8)) lag_b (clock, b, skew_weight, b_late);
            weft_delay_line #(.WIDTH(8), .DEPTH(32)) path (
                clock, product, latency, products[w*128+:128]);
        end
    endgenerate
endmodule
