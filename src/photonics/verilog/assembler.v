// SPDX-License-Identifier: Apache-2.0
// The patch assembler (im2col). The patch of an output pixel is `kernel` runs of `run_values`
// consecutive values of the map, channels last; outside of the map there are zeros. Each cycle takes
// up to LANES values of one run out of the banked buffer, wherever they begin, and writes them behind
// those that the patch already has. There are two patches: one is used while the next is assembled.
// A word is readable in the cycle after its last value was written. A dense layer is one run.
module weft_assembler #(
    parameter LANES = 16,
    parameter DEPTH = 64 // words of a patch
) (
    input wire clock,
    input wire reset,
    input wire clear,
    input wire enable,
    input wire [31:0] height,
    input wire [31:0] width,
    input wire [31:0] channels,
    input wire [31:0] kernel,
    input wire [31:0] stride,
    input wire [31:0] padding,
    input wire [31:0] run_values,
    input wire [31:0] out_width,
    input wire [31:0] pixels,
    output wire [31:0] read_base,          // of the LANES values that are read in this cycle
    input wire [LANES*8-1:0] read_bytes,   // bank b's byte in lane b
    input wire [31:0] word,                // which the streamer wants
    input wire patch_end,                  // the streamer took the last word of the last output
    output wire readable,
    output wire [LANES*8-1:0] bytes
);
    localparam LOG = $clog2(LANES);
    localparam BITS = $clog2(2 * DEPTH);
    localparam [31:0] ALL = LANES;

    // What a row says of all of its patches; constant from the layer's first cycle on.
    wire signed [31:0] line_values = $signed(width * channels);
    wire signed [31:0] step_values = $signed(stride * channels);
    wire signed [31:0] left_values = $signed(padding * channels);

    reg [31:0] remaining;         // patches that are not assembled yet
    reg first;                    // the first cycle of a layer: origins are not registers yet
    reg signed [31:0] origin_x;   // of the patch, in values of a line, negative in the padding
    reg signed [31:0] origin_y;   // in lines
    reg [31:0] column;            // of the output pixel
    reg [31:0] run;               // of the patch
    reg [31:0] offset;            // in the run
    reg fill;                     // which patch is assembled
    reg use_side;                 // which patch is used
    reg [1:0] full;
    reg [31:0] written0, written1;

    wire signed [31:0] x = first ? -left_values : origin_x;
    wire signed [31:0] y = first ? -$signed(padding) : origin_y;
    wire [31:0] left = first ? pixels : remaining;
    wire active = enable && left != 0 && !full[fill];
    wire [31:0] rest = run_values - offset;
    wire [31:0] count = rest < ALL ? rest : ALL;
    wire signed [31:0] line = y + $signed(run);
    wire line_in_map = line >= 0 && line < $signed(height);
    wire signed [31:0] start = x + $signed(offset); // in the line
    assign read_base = line * line_values + start;

    wire [31:0] position = fill ? written1 : written0;
    wire run_end = active && rest <= ALL;
    wire patch_done = run_end && run + 1 == kernel;
    wire line_end = column + 1 == out_width;

    // Lane l gets the value k = l - position of this step, which bank read_base + k has: one rotation.
    wire [LOG-1:0] turn = read_base[LOG-1:0] - position[LOG-1:0];
    wire [2*LANES*8-1:0] turned = {read_bytes, read_bytes} >> {turn, 3'b000};
    wire [LANES-1:0] write_enable;
    wire [LANES*8-1:0] write_data;
    wire [LANES*BITS-1:0] write_addresses;
    wire [LANES*BITS-1:0] read_addresses;
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : pack
            localparam [LOG-1:0] LANE = lane;
            wire [LOG-1:0] k = LANE - position[LOG-1:0];
            wire signed [31:0] at = start + $signed({{(32 - LOG) {1'b0}}, k});
            wire in_map = line_in_map && at >= 0 && at < line_values;
            assign write_enable[lane] = active && {{(32 - LOG) {1'b0}}, k} < count;
            assign write_data[lane*8+:8] = in_map ? turned[lane*8+:8] : 8'd0;
            wire [BITS-2:0] next = {{(BITS - 2) {1'b0}}, LANE < position[LOG-1:0]};
            assign write_addresses[lane*BITS+:BITS] = {fill, position[LOG+:BITS-1] + next};
            assign read_addresses[lane*BITS+:BITS] = {use_side, word[BITS-2:0]};
        end
    endgenerate
    wire [LANES*8-1:0] stored;
    weft_banks #(.LANES(LANES), .WIDTH(8), .DEPTH(2 ** BITS)) patches (
        .clock(clock),
        .write_enable(write_enable),
        .write_addresses(write_addresses),
        .write_data(write_data),
        .read_addresses(read_addresses),
        .read_data(stored)
    );

    // The last word of a patch may be part of a word; its other lanes are dark.
    wire [31:0] have = (use_side ? written1 : written0) - {word[31-LOG:0], {LOG{1'b0}}};
    wire some = !have[31] && have != 0;
    wire whole = !have[31] && have >= ALL;
    assign readable = whole || (some && full[use_side]);
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : dark
            assign bytes[lane*8+:8] = whole || have > lane ? stored[lane*8+:8] : 8'd0;
        end
    endgenerate

    always @(posedge clock) begin
        if (reset || clear) begin
            first <= 1'b1;
            remaining <= 0;
            column <= 0;
            run <= 0;
            offset <= 0;
            fill <= 1'b0;
            use_side <= 1'b0;
            full <= 2'b00;
            written0 <= 0;
            written1 <= 0;
            origin_x <= 0;
            origin_y <= 0;
        end else if (enable) begin
            first <= 1'b0;
            if (first) begin
                remaining <= pixels;
                origin_x <= x;
                origin_y <= y;
            end
            if (active) begin
                offset <= run_end ? 0 : offset + count;
                if (run_end) run <= patch_done ? 0 : run + 1;
                if (fill) written1 <= written1 + count;
                else written0 <= written0 + count;
            end
            if (patch_done) begin
                full[fill] <= 1'b1;
                fill <= !fill;
                remaining <= left - 1;
                column <= line_end ? 0 : column + 1;
                origin_x <= line_end ? -left_values : x + step_values;
                origin_y <= line_end ? y + $signed(stride) : y;
            end
            if (patch_end) begin
                full[use_side] <= 1'b0;
                use_side <= !use_side;
                if (use_side) written1 <= 0;
                else written0 <= 0;
            end
        end
    end
endmodule
