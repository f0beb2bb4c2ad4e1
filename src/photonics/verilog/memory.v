// SPDX-License-Identifier: Apache-2.0
// A memory whose content is an image: program rows, weights, signs, biases, tables. One parameterised
// datapath runs every net that fits these memories. Reads are within the cycle; an address is a
// count of its owner's, so that a memory with a registered read takes the count's next value.
module weft_memory #(
    parameter WIDTH = 8,
    parameter DEPTH = 16,
    parameter IMAGE = "image.hex"
) (
    input wire [31:0] address,
    output wire [WIDTH-1:0] data
);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    reg [WIDTH-1:0] words[0:DEPTH-1];
    initial $readmemh(IMAGE, words);
    assign data = words[address[BITS-1:0]];
endmodule

// Memory of LANES banks that is written lane by lane; every lane has an address of its own, so that
// LANES consecutive values that begin in the middle of a word are written, or read, in one cycle.
module weft_banks #(
    parameter LANES = 16,
    parameter WIDTH = 8,
    parameter DEPTH = 16,
    parameter BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input wire clock,
    input wire [LANES-1:0] write_enable,
    input wire [LANES*BITS-1:0] write_addresses,
    input wire [LANES*WIDTH-1:0] write_data,
    input wire [LANES*BITS-1:0] read_addresses,
    output wire [LANES*WIDTH-1:0] read_data
);
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : bank
            reg [WIDTH-1:0] words[0:DEPTH-1];
            integer i;
            initial for (i = 0; i < DEPTH; i = i + 1) words[i] = {WIDTH{1'b0}};
            always @(posedge clock)
                if (write_enable[lane])
                    words[write_addresses[lane*BITS+:BITS]] <= write_data[lane*WIDTH+:WIDTH];
            assign read_data[lane*WIDTH+:WIDTH] = words[read_addresses[lane*BITS+:BITS]];
        end
    endgenerate
endmodule
