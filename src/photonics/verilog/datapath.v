// SPDX-License-Identifier: Apache-2.0
// The datapath: a program of layers, weights, signs and biases as memory images, activations in,
// sums out, and light between. No processor has a part in a run: ten modules of counts, targets and
// actions (countaction.txt, of which their Verilog is made) drive what stands here.
//
//   buffer -> assembler -+
//                        +-> streamer -> converters -> delay lines -> light -> detector -+
//   weights, signs ------+       |                                                       |
//                                +-----------------> shadow FIFO ---------------+        |
//                                                                               v        v
//   buffer <- pool <- non-linear unit <- accumulator <- tree <- signs <----- realigned words
//
// docs/lightning.md has what happens in which cycle.
`include "parameters.vh"
module weft_datapath #(
    parameter LANES = `WEFT_LANES,
    parameter PROGRAM_DEPTH = `WEFT_PROGRAM_DEPTH,
    parameter WEIGHT_DEPTH = `WEFT_WEIGHT_DEPTH,
    parameter BIAS_DEPTH = `WEFT_BIAS_DEPTH,
    parameter BUFFER_DEPTH = `WEFT_BUFFER_DEPTH, // words of LANES values
    parameter PATCH_DEPTH = `WEFT_PATCH_DEPTH,   // words of a patch, a power of two
    parameter RESULT_DEPTH = `WEFT_RESULT_DEPTH, // results of a layer with softmax
    parameter FIFO_DEPTH = 64
) (
    input wire clock,
    input wire reset,
    // Activations of the next run: eight a cycle, from an address that is a multiple of eight.
    input wire load,
    input wire [31:0] load_address,
    input wire [63:0] load_data,
    // Registers. Writing bit 0 of register 3 starts a run.
    input wire register_write,
    input wire [5:0] register_address,
    input wire [31:0] register_data,
    output reg [31:0] register_value,
    // The weight memory does not deliver in this cycle.
    input wire weight_stall,
    // Results of the last run.
    input wire [31:0] result_address,
    output wire signed [31:0] result_value,
    output wire signed [31:0] log_probability,
    output wire busy,
    output reg done
);
    localparam WAVELENGTHS = LANES / 16;
    integer i;

    // ---- registers that are written ----
    reg [31:0] request, compensation, delay_activation, delay_weight, skew_activation, skew_weight;
    reg [31:0] latency, first_row, monitor;
    reg error;
    reg abort; // a run that cannot go on: no preamble is found, or the FIFO is too short
    wire start = register_write && register_address == 6'd3 && register_data[0] && !busy;
    always @(posedge clock) begin
        if (reset) begin
            request <= 0;
            compensation <= 256;
            delay_activation <= 0;
            delay_weight <= 35;
            skew_activation <= 35;
            skew_weight <= 0;
            latency <= 128;
            first_row <= 0;
            monitor <= 96;
        end else if (register_write) begin
            case (register_address)
                6'd0: request <= register_data;
                6'd17: compensation <= register_data;
                6'd20: delay_activation <= register_data;
                6'd21: delay_weight <= register_data;
                6'd22: skew_activation <= register_data;
                6'd23: skew_weight <= register_data;
                6'd25: latency <= register_data;
                6'd26: first_row <= register_data;
                6'd27: monitor <= register_data;
                default: ;
            endcase
        end
    end

    // ---- the program: a row is a layer ----
    wire control_reset = reset || abort;
    wire next_layer, layer_done, finish, softmax_begin, softmax_end;
    reg [31:0] layer;
    wire [31:0] layer_next = start ? 0 : layer + 1;
    wire [1023:0] row_next;
    reg [1023:0] row;
    weft_memory #(.WIDTH(1024), .DEPTH(PROGRAM_DEPTH), .IMAGE("program.hex")) program_rows (
        first_row + layer_next, row_next);
    reg first_cycle, first_layer; // the layer's first cycle; of the first layer
    always @(posedge clock) begin
        first_cycle <= next_layer && !control_reset;
        if (control_reset) begin
            layer <= 0;
        end else if (next_layer) begin
            layer <= layer_next;
            first_layer <= start;
            row <= row_next;
        end
    end
    wire flag_relu = row[0], flag_softmax = row[1], flag_last = row[2], flag_bias = row[3];
    wire [31:0] layer_words = row[1*32+:32], layer_outputs = row[2*32+:32];
    wire [31:0] layer_pixels = row[3*32+:32], layer_sums = row[4*32+:32];
    wire [31:0] layer_results = row[5*32+:32];
    wire [31:0] out_width = row[14*32+:32], weight_first = row[18*32+:32];
    wire [31:0] bias_first = row[19*32+:32], bias_shift = row[20*32+:32];
    wire [31:0] softmax_scale = row[21*32+:32], softmax_shift = row[22*32+:32];
    wire [31:0] layer_preamble = row[23*32+:32];

    final_layer final_layer (
        .clock(clock), .reset(control_reset), .start(start), .layer_done(layer_done),
        .last(flag_last), .softmax(flag_softmax), .softmax_end(softmax_end), .busy(busy),
        .next_layer(next_layer), .finish(finish), .softmax_begin(softmax_begin),
        .running_count(), .layers_count(), .overrun());

    // ---- normalization: what the layer before was shifted by ----
    reg [31:0] peak; // all values of the layer that are not negative, or-ed: its highest bit counts
    wire [29:0] above;
    wire to_left, to_right;
    wire [31:0] highest;
    genvar g;
    generate
        for (g = 0; g < 30; g = g + 1) begin : above_bit
            assign above[g] = peak[30:g+1] != 0;
        end
    endgenerate
    normalizer normalizer (
        .clock(clock), .reset(control_reset), .above(above), .left(to_left), .right(to_right),
        .highest_count(highest), .overrun());
    reg [31:0] held_left, held_right;
    reg signed [31:0] exponent, held_exponent; // right shifts of all layers before
    wire [31:0] shift_left = !first_cycle ? held_left : to_left && !first_layer ? 7 - highest : 0;
    wire [31:0] shift_right = !first_cycle ? held_right : to_right && !first_layer ? highest - 7 : 0;
    always @* begin
        exponent = held_exponent;
        if (first_cycle) exponent = first_layer ? 0 : held_exponent + $signed(highest) - 7;
    end
    always @(posedge clock) begin
        held_left <= shift_left;
        held_right <= shift_right;
        held_exponent <= exponent;
    end

    // ---- activations ----
    reg side;
    wire [31:0] read_base;
    wire [LANES*8-1:0] read_bytes, patch_bytes;
    wire activation_valid, patch_end;
    wire [31:0] read_word;
    always @(posedge clock)
        if (reset) side <= 1'b0;
        else if (next_layer && !start) side <= !side;
    weft_assembler #(.LANES(LANES), .DEPTH(PATCH_DEPTH)) assembler (
        .clock(clock), .reset(control_reset), .clear(next_layer), .enable(busy),
        .height(row[7*32+:32]), .width(row[8*32+:32]), .channels(row[9*32+:32]),
        .kernel(row[10*32+:32]), .stride(row[11*32+:32]), .padding(row[12*32+:32]),
        .run_values(row[13*32+:32]), .out_width(out_width), .pixels(layer_pixels),
        .read_base(read_base), .read_bytes(read_bytes), .word(read_word), .patch_end(patch_end),
        .readable(activation_valid), .bytes(patch_bytes));

    // ---- weights ----
    reg [31:0] weight_word; // of the pixel
    wire [LANES*8-1:0] weight_bytes;
    wire [LANES-1:0] weight_signs;
    wire pop, bubble, streaming, preamble, data, received;
    wire [31:0] weight_address = weight_first + weight_word;
    weft_memory #(.WIDTH(LANES * 8), .DEPTH(WEIGHT_DEPTH), .IMAGE("weights.hex")) weights (
        weight_address, weight_bytes);
    weft_memory #(.WIDTH(LANES), .DEPTH(WEIGHT_DEPTH), .IMAGE("signs.hex")) signs (
        weight_address, weight_signs);
    always @(posedge clock)
        if (control_reset || next_layer || patch_end) weight_word <= 0;
        else if (pop) weight_word <= weight_word + 1;

    // ---- both streams, in step ----
    wire fifo_overrun;
    localparam [31:0] FIFO = FIFO_DEPTH;
    synchronized_data_streamer synchronized_data_streamer (
        .clock(clock), .reset(control_reset), .program_fifo(FIFO), .data(data),
        .streaming(streaming), .activation_valid(activation_valid),
        .weight_valid(!weight_stall), .received(received), .pop(pop), .bubble(bubble),
        .streams_count(), .in_flight_count(), .overrun(fifo_overrun));
    read_counters read_counters (
        .clock(clock), .reset(control_reset), .layer_words(layer_words),
        .layer_outputs(layer_outputs), .layer_pixels(layer_pixels), .next_layer(next_layer),
        .pop(pop), .streaming(streaming), .output_end(), .patch_end(patch_end),
        .words_count(read_word), .outputs_count(), .pixels_count(), .overrun());
    preamble_generator preamble_generator (
        .clock(clock), .reset(control_reset), .layer_preamble(layer_preamble), .busy(busy),
        .next_layer(next_layer), .preamble(preamble), .data(data), .sent_count(), .overrun());

    // ---- converters, delay lines, light ----
    reg [LANES*16-1:0] activation_converter, weight_converter;
    always @(posedge clock)
        for (i = 0; i < LANES; i = i + 1) begin
            activation_converter[i*16+:16] <= preamble ? 16'hffff
                : pop ? {1'b0, patch_bytes[i*8+:8], 7'd0} : 16'd0;
            weight_converter[i*16+:16] <= preamble ? (i % 16 < 8 ? 16'hffff : 16'h8000)
                : pop ? {1'b0, weight_bytes[i*8+:8], 7'd0} : 16'd0;
        end
    wire [LANES*16-1:0] activation_light, weight_light;
    wire [LANES*8-1:0] detected;
    wire [LANES*8-1:0] samples;
    generate
        for (g = 0; g < WAVELENGTHS; g = g + 1) begin : delays
            weft_delay_line activation_delay (
                clock, activation_converter[g*256+:256], delay_activation,
                activation_light[g*256+:256]);
            weft_delay_line weight_delay (
                clock, weight_converter[g*256+:256], delay_weight, weight_light[g*256+:256]);
        end
        for (g = 0; g < LANES; g = g + 1) begin : compensate
            wire [31:0] louder = {24'd0, detected[g*8+:8]} * compensation;
            assign samples[g*8+:8] = louder[31:16] != 0 ? 8'd255 : louder[15:8];
        end
    endgenerate
    weft_core #(.WAVELENGTHS(WAVELENGTHS)) core (
        clock, activation_light, weight_light, skew_activation, skew_weight, latency, detected);

    // ---- the preamble's rotation, realigned words ----
    wire [LANES*8-1:0] word, whole_word;
    wire light, locked, mismatch;
    wire [15:0] pattern, rotated;
    weft_pattern #(.WAVELENGTHS(WAVELENGTHS)) detector (clock, samples, word, light, pattern);
    preamble_detector preamble_detector (
        .clock(clock), .reset(control_reset), .layer_preamble(layer_preamble),
        .next_layer(next_layer), .light(light), .pattern(pattern), .locked(locked),
        .rotated(rotated), .mismatch(mismatch), .lit_count(), .overrun());
    reg [3:0] rotation;
    always @* begin
        rotation = 4'd0;
        for (i = 0; i < 16; i = i + 1) if (rotated[i]) rotation = i[3:0];
    end
    reg locked_before;
    always @(posedge clock) locked_before <= locked && !control_reset;
    weft_realign #(.WAVELENGTHS(WAVELENGTHS)) realign (clock, word, rotation, whole_word);

    wire fifo_some, fifo_valid;
    wire [LANES-1:0] fifo_signs;
    assign received = locked && (rotation == 0 || locked_before) && fifo_some;
    weft_shadow_fifo #(.WIDTH(LANES + 1), .DEPTH(FIFO_DEPTH)) shadow_fifo (
        .clock(clock), .reset(control_reset), .push(pop || bubble), .in({pop, weight_signs}),
        .pop(received), .some(fifo_some), .out({fifo_valid, fifo_signs}));
    reg realigned_valid;
    reg [LANES*8-1:0] realigned;
    reg [LANES-1:0] realigned_signs;
    always @(posedge clock) begin
        realigned_valid <= received && fifo_valid && !control_reset;
        realigned <= whole_word;
        realigned_signs <= fifo_signs;
    end

    // ---- sums ----
    wire tree_word, sum_first, emit, pixel_end, sum_valid;
    wire [31:0] output_index;
    wire signed [31:0] bias, bias_now, sum;
    weft_memory #(.WIDTH(32), .DEPTH(BIAS_DEPTH), .IMAGE("bias.hex")) biases (
        bias_first + output_index, bias);
    weft_bias_shift bias_shifter (bias, $signed(bias_shift) + exponent, bias_now);
    weft_adder_subtractor #(.LANES(LANES)) adder (
        .clock(clock), .reset(control_reset), .valid(realigned_valid), .products(realigned),
        .signs(realigned_signs), .bias(flag_bias ? bias_now : 0), .first(sum_first),
        .word(tree_word), .emit(emit), .sum_valid(sum_valid), .sum(sum));
    adder_subtractor adder_subtractor (
        .clock(clock), .reset(control_reset), .layer_words(layer_words), .next_layer(next_layer),
        .word(tree_word), .first(sum_first), .emit(emit), .words_count(), .overrun());
    output_counter output_counter (
        .clock(clock), .reset(control_reset), .layer_outputs(layer_outputs),
        .layer_pixels(layer_pixels), .next_layer(next_layer), .emit(emit), .pixel_end(pixel_end),
        .outputs_count(output_index), .pixels_count(), .overrun());

    // ---- non-linear unit, pool, buffer ----
    reg [31:0] channel, write_address;
    reg sum_ends_pixel, written, write_kept, write_first;
    reg signed [31:0] write_value;
    wire relu, pass, pool_kept, pool_first;
    wire [31:0] pool_address;
    wire signed [31:0] buffer_result, kept_value;
    nonlinear_selector nonlinear_selector (
        .clock(clock), .reset(control_reset), .sum(sum_valid), .hidden(flag_relu), .relu(relu),
        .pass(pass), .layer_count(), .overrun());
    weft_pool pool_unit (
        .clock(clock), .clear(next_layer || control_reset), .valid(sum_valid),
        .pixel_end(sum_ends_pixel), .channel(channel), .outputs(layer_outputs),
        .out_width(out_width), .pool(row[15*32+:32]), .pooled_width(row[16*32+:32]),
        .pooled_height(row[17*32+:32]), .address(pool_address), .kept(pool_kept),
        .first(pool_first));
    always @(posedge clock) begin
        channel <= output_index;
        sum_ends_pixel <= pixel_end;
        written <= (relu || pass) && !control_reset;
        write_value <= relu && sum < 0 ? 0 : sum;
        write_address <= pool_address;
        write_kept <= pool_kept;
        write_first <= pool_first;
    end
    wire write = written && write_kept;
    wire softmax_busy;
    wire [31:0] softmax_address;
    weft_buffers #(.LANES(LANES), .DEPTH(BUFFER_DEPTH)) buffers (
        .clock(clock), .side(side), .load(load), .load_address(load_address),
        .load_data(load_data), .read_base(read_base), .read_bytes(read_bytes),
        .shift_left(shift_left), .shift_right(shift_right), .write(write), .first(write_first),
        .write_address(written ? write_address : softmax_busy ? softmax_address : result_address),
        .write_value(write_value), .result(buffer_result), .kept(kept_value));
    assign result_value = buffer_result;
    inter_layer_buffer inter_layer_buffer (
        .clock(clock), .reset(control_reset), .layer_sums(layer_sums), .next_layer(next_layer),
        .written(written), .layer_done(layer_done), .sums_count(), .overrun());
    always @(posedge clock)
        if (write) peak <= peak | (write_value < 0 ? 0 : write_value);
        else if (first_cycle) peak <= 0;

    // ---- the last layer: class, log-probabilities ----
    reg any; // a value of the last layer is written
    reg signed [31:0] largest;
    reg [31:0] class_index;
    wire better = !any || kept_value > largest
        || (kept_value == largest && write_address < class_index);
    weft_softmax #(.DEPTH(RESULT_DEPTH)) softmax (
        .clock(clock), .reset(control_reset), .begin_pass(softmax_begin), .count(layer_results),
        .largest(largest), .scale(softmax_scale), .shift($signed(softmax_shift) - exponent),
        .address(softmax_address), .value(buffer_result), .end_pass(softmax_end),
        .busy(softmax_busy), .log_address(result_address), .log_probability(log_probability));

    // ---- registers that are read ----
    reg [31:0] cycles, errors, stalls, overruns, waited;
    reg [31:0] sums[0:9];
    reg [7:0] heights[0:15];
    reg [3:0] last_rotation;
    reg layer_ended;
    reg [31:0] layer_of_end;
    always @(posedge clock) layer_of_end <= layer;
    always @(posedge clock) begin
        layer_ended <= layer_done && !control_reset;
        abort <= !reset && !abort && busy && (waited > monitor || fifo_overrun);
        if (locked) last_rotation <= rotation;
        if (reset) begin
            done <= 1'b0;
            error <= 1'b0;
            any <= 1'b0;
            last_rotation <= 4'd0;
            cycles <= 0;
            errors <= 0;
            stalls <= 0;
            overruns <= 0;
            waited <= 0;
            class_index <= 0;
            for (i = 0; i < 10; i = i + 1) sums[i] <= 0;
            for (i = 0; i < 16; i = i + 1) heights[i] <= 8'd0;
        end else if (start) begin
            done <= 1'b0;
            error <= 1'b0;
            any <= 1'b0;
            cycles <= 0;
            errors <= 0;
            stalls <= 0;
            overruns <= 0;
            waited <= 0;
            for (i = 0; i < 10; i = i + 1) sums[i] <= 0;
            for (i = 0; i < 16; i = i + 1) heights[i] <= 8'd0;
        end else begin
            if (busy) cycles <= cycles + 1;
            if (bubble) stalls <= stalls + 1;
            if (mismatch) errors <= errors + 1;
            if (busy && fifo_overrun) overruns <= overruns + 1;
            waited <= busy && data && !locked ? waited + 1 : 0;
            if (finish || abort) done <= 1'b1;
            if (abort) error <= 1'b1;
            if (write && flag_last && better) begin
                any <= 1'b1;
                largest <= kept_value;
                class_index <= write_address;
            end
            if (write && flag_last && write_address < 10) sums[write_address[3:0]] <= kept_value;
            if (layer_ended) heights[layer_of_end[3:0]] <= highest[7:0];
        end
    end
    always @* begin
        register_value = 0;
        if (register_address >= 32 && register_address < 48)
            register_value = {24'd0, heights[register_address[3:0]]};
        else if (register_address >= 4 && register_address < 14)
            register_value = sums[register_address - 4];
        else
            case (register_address)
                6'd0: register_value = request;
                6'd1: register_value = class_index;
                6'd2: register_value = cycles;
                6'd3: register_value = {29'd0, error, done, busy};
                6'd14: register_value = {28'd0, last_rotation};
                6'd15: register_value = errors;
                6'd16: register_value = stalls;
                6'd17: register_value = compensation;
                6'd20: register_value = delay_activation;
                6'd21: register_value = delay_weight;
                6'd22: register_value = skew_activation;
                6'd23: register_value = skew_weight;
                6'd24: register_value = overruns;
                6'd25: register_value = latency;
                6'd26: register_value = first_row;
                6'd27: register_value = monitor;
                6'd28: register_value = layer_preamble;
                default: register_value = 0;
            endcase
    end
endmodule
