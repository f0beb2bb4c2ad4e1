// SPDX-License-Identifier: Apache-2.0
// The datapath's bench, self-checking: runs images and compares every register and sum with the lines
// that the twin wrote into expected.txt.
//
//   $ verilator --binary -O3 --top-module bench *.v && obj_dir/Vbench +count=1
//   $ iverilog -g2012 -s bench -o bench *.v && ./bench +count=1
//
// Plusargs: +input=FILE (a byte a line in hexadecimal; input.hex), +expected=FILE (expected.txt),
// +count=N images (1), +first=ROW, +stall=SEED (the weight memory makes the datapath wait, by chance),
// +delay_activation= +delay_weight= +skew_activation= +skew_weight= +latency= (samples), +timeline
// (what happens in which cycle), +watch=CYCLES (a run that takes longer has come to a stop).
`timescale 1ns / 1ps
module bench;
    reg clock = 1'b0;
    always #2 clock = !clock;

    reg reset = 1'b1;
    reg load = 1'b0;
    reg [31:0] load_address = 0;
    reg [63:0] load_data = 0;
    reg register_write = 1'b0;
    reg [5:0] register_address = 6'd0;
    reg [31:0] register_data = 0;
    wire [31:0] register_value;
    reg [31:0] result_address = 0;
    wire signed [31:0] result_value, log_probability;
    wire busy, done;
    reg [31:0] noise = 0; // 0: the weight memory never stalls
    wire weight_stall = noise[7:0] != 0 && noise[9:8] == 2'd0;

    weft_datapath datapath (
        .clock(clock), .reset(reset), .load(load), .load_address(load_address),
        .load_data(load_data), .register_write(register_write),
        .register_address(register_address), .register_data(register_data),
        .register_value(register_value), .weight_stall(weight_stall),
        .result_address(result_address), .result_value(result_value),
        .log_probability(log_probability), .busy(busy), .done(done));

    // Xorshift of 32 bits (Marsaglia).
    reg [31:0] step1, step2;
    always @(posedge clock) begin
        step1 = noise ^ (noise << 13);
        step2 = step1 ^ (step1 >> 17);
        noise <= reset ? stall_seed : step2 ^ (step2 << 5);
    end

    reg [8*256-1:0] input_name, expected_name;
    integer input_file, expected_file, code, failures, count, image, i, rows, watch;
    integer delay_activation, delay_weight, skew_activation, skew_weight, latency, first_row;
    integer stall_seed, samples, longer;
    integer wanted, got, at_cycle, has_path, show;
    reg [1023:0] row;
    reg [31:0] inputs, results, byte_value;
    reg softmax;
    reg [31:0] register_read[0:15];

    // What drives the datapath changes at the falling edge, so that the order in which a simulator
    // takes what happens at the rising one does not matter.
    task tick;
        @(negedge clock);
    endtask
    task write_register(input [5:0] address, input [31:0] value);
        begin
            register_write = 1'b1;
            register_address = address;
            register_data = value;
            tick;
            register_write = 1'b0;
        end
    endtask
    task read_register(input [5:0] address, output [31:0] value);
        begin
            register_address = address;
            tick;
            value = register_value;
        end
    endtask
    // Prints a value, and compares it with the next one in expected.txt where there is one.
    task expect_value(input integer value, input integer exact);
        begin
            $write("%0d", value);
            if (expected_file != 0) begin
                code = $fscanf(expected_file, "%d", wanted);
                if (code != 1 || (exact != 0 ? wanted != value : value < wanted)) begin
                    $write("(not %0d)", wanted);
                    failures = failures + 1;
                end
            end
        end
    endtask
    task expect_word(input [8*16-1:0] word);
        begin
            $write("%0s", word);
            // A word ends before the blank that follows it, so that lists may be followed by one.
            if (expected_file != 0) code = $fscanf(expected_file, "%s", skipped);
            $write(" ");
        end
    endtask
    task skip_comma;
        if (expected_file != 0) code = $fgetc(expected_file);
    endtask
    reg [8*64-1:0] skipped;

    task find_program;
        begin
            rows = 0;
            row = datapath.program_rows.words[first_row];
            inputs = row[6*32+:32];
            while (row[2] !== 1'b1 && rows < 64) begin
                rows = rows + 1;
                row = datapath.program_rows.words[first_row+rows];
            end
            rows = rows + 1;
            results = row[5*32+:32];
            softmax = row[1];
        end
    endtask

    task configure;
        begin
            has_path = 0;
            delay_activation = 0;
            delay_weight = 35;
            skew_activation = 35;
            skew_weight = 0;
            latency = 128;
            if ($value$plusargs("delay_activation=%d", delay_activation)) has_path = 1;
            if ($value$plusargs("delay_weight=%d", delay_weight)) has_path = 1;
            if ($value$plusargs("skew_activation=%d", skew_activation)) has_path = 1;
            if ($value$plusargs("skew_weight=%d", skew_weight)) has_path = 1;
            if ($value$plusargs("latency=%d", latency)) has_path = 1;
            write_register(6'd20, delay_activation);
            write_register(6'd21, delay_weight);
            write_register(6'd22, skew_activation);
            write_register(6'd23, skew_weight);
            write_register(6'd25, latency);
            write_register(6'd26, first_row);
            samples = latency + delay_activation + skew_activation;
            // What another path than the default one of 163 samples adds to each layer.
            longer = has_path == 0 ? 0
                : rows * (samples / 16 + (samples % 16 != 0 ? 1 : 0) - 11);
        end
    endtask

    task load_image;
        for (i = 0; i < inputs; i = i + 1) begin
            code = $fscanf(input_file, "%h", byte_value);
            if (code != 1) begin
                $display("FAIL image %0d: byte %0d of %0d is missing", image, i, inputs);
                $finish;
            end
            if (i % 8 == 0) load_data = 64'd0;
            load_data[i%8*8+:8] = byte_value[7:0];
            load_address = i / 8 * 8;
            if (i % 8 == 7 || i + 1 == inputs) begin
                load = 1'b1;
                tick;
                load = 1'b0;
            end
        end
    endtask

    task run_image;
        begin
            at_cycle = 0;
            write_register(6'd3, 32'd1);
            tick;
            while (!done && at_cycle < watch) begin
                at_cycle = at_cycle + 1;
                tick;
            end
            if (!done) begin
                $display("FAIL run %0d: no end after %0d cycles", image, watch);
                $finish;
            end
            tick;
            tick;
            read_register(6'd3, register_read[3]);
            read_register(6'd16, register_read[6]);
            read_register(6'd24, register_read[7]);
            if (register_read[3] != 32'd2) begin
                read_register(6'd15, register_read[5]);
                $display("FAIL run %0d: status %0d pattern errors %0d overruns %0d", image,
                    register_read[3], register_read[5], register_read[7]);
                $finish;
            end
        end
    endtask

    task report_image;
        begin
            read_register(6'd1, register_read[1]);
            read_register(6'd2, register_read[2]);
            read_register(6'd14, register_read[4]);
            read_register(6'd15, register_read[5]);
            expect_word("run");
            expect_value(image, 1);
            expect_word(" class");
            expect_value(register_read[1], 1);
            expect_word(" cycles");
            // Waiting for memory may cost cycles, or be hidden behind the wait for a patch.
            expect_value(register_read[2] - longer, stall_seed == 0);
            expect_word(" rotation");
            if (has_path != 0) begin
                $write("%0d", register_read[4]);
                if (expected_file != 0) code = $fscanf(expected_file, "%d", wanted);
                if (register_read[4] != samples % 16) begin
                    $write("(not %0d)", samples % 16);
                    failures = failures + 1;
                end
            end else expect_value(register_read[4], 1);
            expect_word(" errors");
            expect_value(register_read[5], 1);
            expect_word(" h");
            for (i = 0; i < rows && i < 16; i = i + 1) begin
                read_register(32 + i, register_read[8]);
                if (i != 0) begin
                    $write(",");
                    skip_comma;
                end
                expect_value(register_read[8], 1);
            end
            expect_word(" sums");
            for (i = 0; i < results; i = i + 1) begin
                result_address = i;
                tick;
                if (i != 0) begin
                    $write(",");
                    skip_comma;
                end
                expect_value(result_value, 1);
                if (i < 10) begin
                    read_register(4 + i, register_read[9]);
                    if (register_read[9] != result_value) begin
                        $write("(register %0d)", $signed(register_read[9]));
                        failures = failures + 1;
                    end
                end
            end
            if (expected_file != 0) begin
                code = $fgetc(expected_file);
                if (code != " " && softmax) begin
                    $write(" (no log-probabilities are expected)");
                    failures = failures + 1;
                end
            end
            if (softmax) begin
                expect_word(" log");
                for (i = 0; i < results; i = i + 1) begin
                    result_address = i;
                    tick;
                    if (i != 0) begin
                        $write(",");
                        skip_comma;
                    end
                    expect_value(log_probability, 1);
                end
            end
            $write("\n");
            if (stall_seed != 0) $display("stalls %0d %0d", image, register_read[6]);
        end
    endtask

    initial begin
        input_name = "input.hex";
        expected_name = "expected.txt";
        count = 1;
        first_row = 0;
        stall_seed = 0;
        failures = 0;
        watch = 100000000;
        if ($value$plusargs("input=%s", input_name)) ;
        if ($value$plusargs("expected=%s", expected_name)) ;
        if ($value$plusargs("count=%d", count)) ;
        if ($value$plusargs("first=%d", first_row)) ;
        if ($value$plusargs("stall=%d", stall_seed)) ;
        if ($value$plusargs("watch=%d", watch)) ;
        show = $test$plusargs("timeline");
        input_file = $fopen(input_name, "r");
        expected_file = $fopen(expected_name, "r");
        if (input_file == 0) begin
            $display("FAIL no file %0s", input_name);
            $finish;
        end
        for (i = 0; i < 4; i = i + 1) tick;
        reset = 1'b0;
        tick;
        find_program;
        configure;
        for (image = 0; image < count; image = image + 1) begin
            load_image;
            run_image;
            report_image;
        end
        if (failures != 0) $display("FAIL %0d values", failures);
        else if (expected_file == 0) $display("DONE %0d, compared with nothing", count);
        else $display("PASS %0d", count);
        $finish;
    end

    // The timeline of the first image, an event a line.
    integer now = 0;
    reg was_preamble = 0, was_light = 0, was_locked = 0, was_streaming = 0;
    always @(posedge clock)
        if (show != 0 && image == 0 && busy) begin
            now <= datapath.first_cycle ? 1 : now + 1;
            was_preamble <= datapath.preamble;
            was_light <= datapath.light;
            was_locked <= datapath.locked;
            was_streaming <= datapath.data && datapath.streaming;
            if (datapath.first_cycle) $display("layer %0d", datapath.layer);
            if (datapath.first_cycle) event_at("preamble begins", 0);
            if (datapath.light && !was_light) event_at("preamble is detected", now);
            if (datapath.data && datapath.streaming && !was_streaming)
                event_at("data begins", now);
            if (datapath.locked && !was_locked) event_at("rotation is known", now);
            if (datapath.patch_end && datapath.read_counters.pixels_count + 1
                == datapath.layer_pixels) event_at("last word leaves", now);
            if (datapath.emit && datapath.inter_layer_buffer.sums_count == 0
                && !datapath.sum_valid && !datapath.written) event_at("first sum", now);
            if (datapath.layer_done) event_at("last result is written", now);
            if (datapath.finish) event_at("done", now);
        end
    task event_at(input [8*32-1:0] what, input integer cycle);
        $display("  cycle %0d %0s", cycle, what);
    endtask
endmodule
