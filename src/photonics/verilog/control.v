// SPDX-License-Identifier: Apache-2.0
module synchronized_data_streamer (
    input wire clock, input wire reset, input wire [31:0] program_fifo,
    input wire data, input wire streaming, input wire activation_valid, input wire weight_valid,
    input wire received, output wire pop, output wire bubble,
    output wire [31:0] streams_count, output wire [31:0] in_flight_count, output wire overrun
);
    reg [31:0] flight;
    assign streams_count = {31'd0, activation_valid} + {31'd0, weight_valid};
    assign pop = data && streaming && streams_count == 2;
    assign bubble = data && streaming && streams_count != 2;
    assign in_flight_count = flight;
    assign overrun = (pop || bubble) && !received && flight == program_fifo;
    always @(posedge clock)
        if (reset) flight <= 0;
        else flight <= flight + {31'd0, pop || bubble} - {31'd0, received};
endmodule

module preamble_generator (
    input wire clock, input wire reset, input wire [31:0] layer_preamble,
    input wire busy, input wire next_layer, output wire preamble, output wire data,
    output wire [31:0] sent_count, output wire overrun
);
    reg [31:0] sent;
    assign sent_count = sent;
    assign overrun = 0;
    assign preamble = busy && sent < layer_preamble;
    assign data = busy && sent >= layer_preamble;
    always @(posedge clock)
        if (reset || next_layer) sent <= 0;
        else if (preamble) sent <= sent + 1;
endmodule

module preamble_detector (
    input wire clock, input wire reset, input wire [31:0] layer_preamble,
    input wire next_layer, input wire light, input wire [15:0] pattern,
    output wire locked, output wire [15:0] rotated, output wire mismatch,
    output wire [31:0] lit_count, output wire overrun
);
    reg [31:0] seen[0:15];
    reg [15:0] found;
    reg lit;
    integer r;
    assign locked = found != 0;
    assign rotated = found;
    assign lit_count = {31'd0, lit};
    assign overrun = 0;
    assign mismatch = light && lit && !locked && pattern == 0;
    always @(posedge clock) begin
        if (reset || next_layer) begin
            for (r = 0; r < 16; r = r + 1) seen[r] <= 0;
            found <= 0;
            lit <= 0;
        end else begin
            if (light) lit <= 1;
            for (r = 0; r < 16; r = r + 1)
                if (pattern[r] && !locked) begin
                    seen[r] <= seen[r] + 1;
                    if (seen[r] + 1 == (r > 8 ? layer_preamble - 1 : layer_preamble)) found[r] <= 1;
                end
        end
    end
endmodule

module adder_subtractor (
    input wire clock, input wire reset, input wire [31:0] layer_words,
    input wire next_layer, input wire word, output wire first, output wire emit,
    output wire [31:0] words_count, output wire overrun
);
    reg [31:0] words;
    assign words_count = words;
    assign overrun = 0;
    assign first = words == 0;
    assign emit = word && words + 1 == layer_words;
    always @(posedge clock)
        if (reset || next_layer || emit) words <= 0;
        else if (word) words <= words + 1;
endmodule

module output_counter (
    input wire clock, input wire reset, input wire [31:0] layer_outputs,
    input wire [31:0] layer_pixels, input wire next_layer, input wire emit, output wire pixel_end,
    output wire [31:0] outputs_count, output wire [31:0] pixels_count, output wire overrun
);
    reg [31:0] outputs, pixels;
    assign outputs_count = outputs;
    assign pixels_count = pixels;
    assign overrun = emit && pixels == layer_pixels;
    assign pixel_end = emit && outputs + 1 == layer_outputs;
    always @(posedge clock)
        if (reset || next_layer) begin
            outputs <= 0;
            pixels <= 0;
        end else if (emit) begin
            outputs <= pixel_end ? 0 : outputs + 1;
            pixels <= pixel_end ? pixels + 1 : pixels;
        end
endmodule

module nonlinear_selector (
    input wire clock, input wire reset, input wire sum, input wire hidden,
    output wire relu, output wire pass, output wire [31:0] layer_count, output wire overrun
);
    assign relu = sum && hidden;
    assign pass = sum && !hidden;
    assign layer_count = {31'd0, hidden};
    assign overrun = 0;
endmodule

module inter_layer_buffer (
    input wire clock, input wire reset, input wire [31:0] layer_sums,
    input wire next_layer, input wire written, output wire layer_done,
    output wire [31:0] sums_count, output wire overrun
);
    reg [31:0] sums;
    assign sums_count = sums;
    assign overrun = 0;
    assign layer_done = written && sums + 1 == layer_sums;
    always @(posedge clock)
        if (reset || next_layer || layer_done) sums <= 0;
        else if (written) sums <= sums + 1;
endmodule

module read_counters (
    input wire clock, input wire reset, input wire [31:0] layer_words,
    input wire [31:0] layer_outputs, input wire [31:0] layer_pixels,
    input wire next_layer, input wire pop, output wire streaming, output wire output_end,
    output wire patch_end, output wire [31:0] words_count, output wire [31:0] outputs_count,
    output wire [31:0] pixels_count, output wire overrun
);
    reg [31:0] words, outputs, pixels;
    assign words_count = words;
    assign outputs_count = outputs;
    assign pixels_count = pixels;
    assign overrun = 0;
    assign streaming = pixels != layer_pixels;
    assign output_end = pop && words + 1 == layer_words;
    assign patch_end = output_end && outputs + 1 == layer_outputs;
    always @(posedge clock)
        if (reset || next_layer) begin
            words <= 0;
            outputs <= 0;
            pixels <= 0;
        end else if (pop) begin
            words <= output_end ? 0 : words + 1;
            outputs <= patch_end ? 0 : output_end ? outputs + 1 : outputs;
            pixels <= patch_end ? pixels + 1 : pixels;
        end
endmodule

module normalizer (
    input wire clock, input wire reset, input wire [29:0] above,
    output wire left, output wire right, output wire [31:0] highest_count, output wire overrun
);
    reg [31:0] highest;
    integer i;
    always @* begin
        highest = 0;
        for (i = 0; i < 30; i = i + 1) highest = highest + {31'd0, above[i]};
    end
    assign highest_count = highest;
    assign left = highest < 8;
    assign right = highest >= 8;
    assign overrun = 0;
endmodule

module final_layer (
    input wire clock, input wire reset, input wire start, input wire layer_done, input wire last,
    input wire softmax, input wire softmax_end, output wire busy, output wire next_layer,
    output wire finish, output wire softmax_begin, output wire [31:0] running_count,
    output wire [31:0] layers_count, output wire overrun
);
    reg running;
    reg [31:0] layers;
    assign busy = running;
    assign running_count = {31'd0, running};
    assign layers_count = layers;
    assign overrun = 0;
    assign next_layer = (start && !running) || (running && layer_done && !last);
    assign softmax_begin = layer_done && last && softmax;
    assign finish = (layer_done && last && !softmax) || softmax_end;
    always @(posedge clock)
        if (reset || finish) begin
            running <= 0;
            layers <= 0;
        end else begin
            if (next_layer) running <= 1;
            if (layer_done && !last) layers <= layers + 1;
        end
endmodule
