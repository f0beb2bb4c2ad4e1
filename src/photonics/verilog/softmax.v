// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of the last layer's sums, in 1/256 nat, by tables of exp and ln:
//
//   log p(i) = -z(i) - log(sum over j of exp(-z(j))),  z(i) = (largest - sum(i)) scale >> shift
//
// n cycles for the exponentials, n for the results, eight between: a division is never needed. The
// tables (softmax.hex) are 256 of 65536 exp(-i/256), 16 of 65536 exp(-i), 256 of 256 ln(1 + i/256).
module weft_softmax #(
    parameter DEPTH = 1024 // results
) (
    input wire clock,
    input wire reset,
    input wire begin_pass, // in the cycle of the layer's last result
    input wire [31:0] count,
    input wire signed [31:0] largest,
    input wire [31:0] scale,
    input wire signed [31:0] shift,
    output wire [31:0] address, // of the result that is read in this cycle
    input wire signed [31:0] value,
    output wire end_pass,
    output wire busy,
    input wire [31:0] log_address,
    output wire signed [31:0] log_probability
);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    reg [16:0] tables[0:527];
    initial $readmemh("softmax.hex", tables);
    reg [15:0] nats_of[0:DEPTH-1];
    reg signed [31:0] logs[0:DEPTH-1];
    assign log_probability = logs[log_address[BITS-1:0]];

    // Cycle 1 follows begin_pass. Result i is read in cycle i + 1, and again, as nats, in n + 8 + i.
    reg [31:0] cycle;
    assign busy = cycle != 0;
    assign end_pass = busy && cycle == 2 * count + 8;
    assign address = cycle - 1;
    wire reading = busy && cycle <= count;
    wire [31:0] second = cycle - count - 8;
    wire writing = busy && cycle >= count + 8 && second < count;

    reg [4:1] passing;
    reg [31:0] index1, index2;
    reg [31:0] distance;
    reg [47:0] product;
    reg [15:0] nats;
    reg [16:0] fraction, whole;
    reg [63:0] total;
    reg signed [31:0] logarithm;

    wire signed [31:0] left = -shift;
    wire [63:0] up = {16'd0, product} << left[4:0];
    wire [63:0] moved = shift >= 0 ? {16'd0, product} >> (shift > 63 ? 6'd63 : shift[5:0]) : up;
    wire [15:0] nats_now = product == 0 ? 16'd0 : shift <= -16 ? 16'hffff
        : moved > 64'd65535 ? 16'hffff : moved[15:0];
    wire [33:0] both = fraction * whole;

    // The highest bit k of the sum of exponentials, which is 65536 at least, and the 8 bits below.
    reg [5:0] highest;
    integer i;
    always @* begin
        highest = 6'd0;
        for (i = 16; i < 48; i = i + 1) if (total[i]) highest = i[5:0];
    end
    wire [63:0] normal = total >> (highest - 6'd8);
    wire [31:0] octaves = ({26'd0, highest} - 32'd16) * 32'd45426 >> 8;

    always @(posedge clock) begin
        if (reset) begin
            cycle <= 0;
            passing <= 4'd0;
        end else begin
            cycle <= begin_pass ? 1 : end_pass || !busy ? 0 : cycle + 1;
            passing <= {passing[3:1], reading};
        end
        if (begin_pass) total <= 0;
        else if (passing[4]) total <= total + {46'd0, both[33:16]};
        // Behind begin_pass the largest sum is a register, too.
        distance <= largest - value;
        index1 <= address;
        product <= {16'd0, distance} * {16'd0, scale};
        index2 <= index1;
        nats <= nats_now;
        if (passing[2]) nats_of[index2[BITS-1:0]] <= nats_now;
        fraction <= nats[15:12] != 0 ? 17'd0 : tables[{2'd0, nats[7:0]}];
        whole <= tables[10'd256 + {6'd0, nats[11:8]}];
        logarithm <= octaves + {15'd0, tables[10'd272 + {2'd0, normal[7:0]}]};
        if (writing)
            logs[second[BITS-1:0]] <= -$signed({16'd0, nats_of[second[BITS-1:0]]}) - logarithm;
    end
endmodule
