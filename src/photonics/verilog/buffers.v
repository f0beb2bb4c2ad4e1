// SPDX-License-Identifier: Apache-2.0
// The two buffers between layers, of LANES banks each, with values of 32 bits. One is read by the
// assembler, shifted to 8 bits; into the other go results, one a cycle, the largest of a pool's
// window by reading what is there. At a change of layers they swap. Inputs are loaded, eight bytes a
// cycle, into the one that will be read.
module weft_buffers #(
    parameter LANES = 16,
    parameter DEPTH = 4096 // words of LANES values
) (
    input wire clock,
    input wire side, // which is read
    input wire load,
 // addresses are counts of 32 bits
    input wire [31:0] load_address, // of the first of eight values, a multiple of eight
    input wire [63:0] load_data,
    input wire [31:0] read_base,
    output wire [LANES*8-1:0] read_bytes, // bank b's in lane b
    input wire [31:0] shift_left,
    input wire [31:0] shift_right,
    input wire write,
    input wire first,               // nothing is there yet
    input wire [31:0] write_address, // while nothing is written, of `result`
    input wire signed [31:0] write_value,
    output wire signed [31:0] result, // what is in the buffer that is not read
    output wire signed [31:0] kept    // what is written
);
    localparam LOG = $clog2(LANES);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    wire [LOG-1:0] write_bank = write_address[LOG-1:0];
    wire [BITS-1:0] write_word = write_address[LOG+:BITS];
    wire [LANES*32-1:0] reads0, reads1;
    wire [LANES*32-1:0] reads = side ? reads1 : reads0;
    wire [LANES*32-1:0] others = side ? reads0 : reads1;
    assign result = others[write_bank*32+:32];
    assign kept = first || write_value > result ? write_value : result;

    wire [LANES*BITS-1:0] addresses, write_addresses, other_addresses;
    wire [LANES-1:0] load_enable, result_enable;
    wire [LANES*32-1:0] load_values;
    wire [LANES*BITS-1:0] load_addresses;
    genvar b;
    generate
        for (b = 0; b < LANES; b = b + 1) begin : bank
            localparam [LOG-1:0] BANK = b;
            localparam [LOG-1:0] EIGHT = b / 8 * 8;
            wire [BITS-1:0] next = {{(BITS - 1) {1'b0}}, BANK < read_base[LOG-1:0]};
            assign addresses[b*BITS+:BITS] = read_base[LOG+:BITS] + next;
            assign other_addresses[b*BITS+:BITS] = write_word;
            assign write_addresses[b*BITS+:BITS] = write_word;
            assign load_addresses[b*BITS+:BITS] = load_address[LOG+:BITS];
            assign load_enable[b] = load && load_address[LOG-1:0] == EIGHT;
            assign result_enable[b] = write && write_bank == BANK;
            assign load_values[b*32+:32] = {24'd0, load_data[b%8*8+:8]};
            wire [31:0] shifted = (reads[b*32+:32] >> shift_right) << shift_left;
            assign read_bytes[b*8+:8] = shifted[7:0];
        end
    endgenerate
    weft_banks #(.LANES(LANES), .WIDTH(32), .DEPTH(DEPTH)) buffer0 (
        .clock(clock),
        .write_enable(side ? result_enable : load_enable),
        .write_addresses(side ? write_addresses : load_addresses),
        .write_data(side ? {LANES{kept}} : load_values),
        .read_addresses(side ? other_addresses : addresses),
        .read_data(reads0)
    );
    weft_banks #(.LANES(LANES), .WIDTH(32), .DEPTH(DEPTH)) buffer1 (
        .clock(clock),
        .write_enable(side ? load_enable : result_enable),
        .write_addresses(side ? load_addresses : write_addresses),
        .write_data(side ? load_values : {LANES{kept}}),
        .read_addresses(side ? addresses : other_addresses),
        .read_data(reads1)
    );
endmodule
