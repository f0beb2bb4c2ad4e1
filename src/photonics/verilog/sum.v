// SPDX-License-Identifier: Apache-2.0
// Signs, the tree of adders, the accumulator that begins at the bias: words to sums.
module weft_adder_subtractor #(
    parameter LANES = 16
) (
    input wire clock,
    input wire reset,
    input wire valid,
    input wire [LANES*8-1:0] products,
    input wire [LANES-1:0] signs, // 1: not negative
    input wire signed [31:0] bias,
    input wire first,             // of a sum: begins at the bias
    output wire word,             // a word's sum reaches the accumulator in this cycle
    input wire emit,              // and it is the last one of its sum
    output reg sum_valid,
    output reg signed [31:0] sum
);
    localparam LEVELS = $clog2(LANES);
    // Registers of level k begin at node 2 LANES - 2 (LANES >> k) of the tree's; level 0 is lanes
    // with their signs, the last node the root.
    reg signed [15:0] node[0:2*LANES-2];
    reg [LEVELS:0] passing;
    assign word = passing[LEVELS];
    genvar i, k;
    generate
        for (i = 0; i < LANES; i = i + 1) begin : signed_lane
            wire signed [15:0] magnitude = $signed({8'd0, products[i*8+:8]});
            always @(posedge clock) node[i] <= signs[i] ? magnitude : -magnitude;
        end
        for (k = 1; k <= LEVELS; k = k + 1) begin : level
            localparam OUT = 2 * LANES - 2 * (LANES >> k);
            localparam IN = 2 * LANES - 2 * (LANES >> (k - 1));
            for (i = 0; i < (LANES >> k); i = i + 1) begin : adder
                always @(posedge clock) node[OUT+i] <= node[IN+2*i] + node[IN+2*i+1];
            end
        end
    endgenerate
    wire signed [31:0] root = {{16{node[2*LANES-2][15]}}, node[2*LANES-2]};
    wire signed [31:0] next = (first ? bias : sum_so_far) + root;
    reg signed [31:0] sum_so_far;
    always @(posedge clock) begin
        passing <= reset ? {(LEVELS + 1) {1'b0}} : {passing[LEVELS-1:0], valid};
        sum_valid <= !reset && word && emit;
        if (word) sum_so_far <= next;
        if (word && emit) sum <= next;
    end
endmodule

// bias >> amount with its sign, << where the amount is negative.
module weft_bias_shift (
    input wire signed [31:0] bias,
    input wire signed [31:0] amount,
    output wire signed [31:0] shifted
);
    wire [4:0] right = amount > 31 ? 5'd31 : amount[4:0];
    wire signed [31:0] back = -amount;
    wire [2:0] left = back > 7 ? 3'd7 : back[2:0];
    assign shifted = amount >= 0 ? bias >>> right : bias <<< left;
endmodule

// Where the sums of a layer go: output pixels in lines, each with all of its outputs, become cells of
// a map that is `pool` times smaller on both sides, rest lines and columns dropped.
module weft_pool (
    input wire clock,
    input wire clear,
    input wire valid,
    input wire pixel_end, // with the last sum of a pixel
    input wire [31:0] channel,
    input wire [31:0] outputs,
    input wire [31:0] out_width,
    input wire [31:0] pool,
    input wire [31:0] pooled_width,
    input wire [31:0] pooled_height,
    output wire [31:0] address, // of this sum
    output wire kept,           // it is not of the rest
    output wire first           // it is the first of its cell
);
    reg [31:0] column, inside_x, inside_y, x, y, cell_base, line_base;
    wire [31:0] next_line = line_base + pooled_width * outputs;
    wire line_end = column + 1 == out_width;
    wire x_end = inside_x + 1 == pool;
    wire y_end = inside_y + 1 == pool;
    assign address = cell_base + channel;
    assign kept = x < pooled_width && y < pooled_height;
    assign first = inside_x == 0 && inside_y == 0;
    always @(posedge clock) begin
        if (clear) begin
            column <= 0;
            inside_x <= 0;
            inside_y <= 0;
            x <= 0;
            y <= 0;
            cell_base <= 0;
            line_base <= 0;
        end else if (valid && pixel_end) begin
            column <= line_end ? 0 : column + 1;
            inside_x <= line_end || x_end ? 0 : inside_x + 1;
            x <= line_end ? 0 : x_end ? x + 1 : x;
            if (line_end) begin
                inside_y <= y_end ? 0 : inside_y + 1;
                y <= y_end ? y + 1 : y;
                line_base <= y_end ? next_line : line_base;
                cell_base <= y_end ? next_line : line_base;
            end else if (x_end) begin
                cell_base <= cell_base + outputs;
            end
        end
    end
endmodule
