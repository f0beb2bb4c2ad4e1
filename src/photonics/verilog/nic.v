// SPDX-License-Identifier: Apache-2.0
// The interface's inference block: requests in, a byte a cycle, answers out, with no processor
// between. The parser checks the head as it passes, looks the model up, loads activations into the
// datapath while they arrive, starts it, and sends head, class, h of each layer and sums. What is
// not a whole request of a model in the table is dropped and counted by its reason (packet.h).
module weft_nic #(
    parameter MODELS = 16
) (
    input wire clock,
    input wire reset,
    // The model table: id, first row of the program, rows, bytes of an input, results of the last
    // layer, whether there are biases.
    input wire model_write,
    input wire [3:0] model_id,
    input wire [31:0] model_row,
    input wire [15:0] model_layers,
    input wire [15:0] model_inputs,
    input wire [31:0] model_results,
    input wire model_bias,
    // Payloads of requests.
    input wire in_valid,
    input wire [7:0] in_data,
    input wire in_last,
    output wire in_ready,
    // Payloads of answers.
    output reg out_valid,
    output reg [7:0] out_data,
    output reg out_last,
    input wire out_ready,
    // A drop, with its reason, for one cycle.
    output reg drop,
    output reg [3:0] reason,
    // Counters: answered, and dropped by reason (1 to 14).
    input wire [3:0] counter_index,
    output wire [31:0] counter
);
    localparam RECEIVE = 3'd0, START = 3'd1, WAIT = 3'd2, SETTLE = 3'd3, SEND = 3'd4;
    localparam [31:0] REGISTER_CONTROL = 3;
    reg [2:0] state;
    reg [31:0] counters[0:15];
    assign counter = counters[counter_index];
    integer i;

    // ---- the table ----
    reg [MODELS-1:0] known, biased;
    reg [31:0] rows[0:MODELS-1];
    reg [31:0] results[0:MODELS-1];
    reg [15:0] layers[0:MODELS-1];
    reg [15:0] inputs[0:MODELS-1];
    always @(posedge clock)
        if (reset) known <= 0;
        else if (model_write) begin
            known[model_id] <= 1'b1;
            biased[model_id] <= model_bias;
            rows[model_id] <= model_row;
            layers[model_id] <= model_layers;
            inputs[model_id] <= model_inputs;
            results[model_id] <= model_results;
        end

    // ---- the parser ----
    reg [31:0] position; // of the byte that comes next
    reg [7:0] head[0:15];
    reg [31:0] offset; // of a fragment
    assign in_ready = state == RECEIVE;
    wire take = in_valid && in_ready;
    wire [15:0] model = {head[4], head[5]};
    wire [3:0] id = head[5][3:0];
    wire in_table = model < MODELS && known[id];
    wire [31:0] length = position + 1; // of the payload, with its last byte
    wire [31:0] input_bytes = {16'd0, head[12], head[13]};
    wire fragment = head[3][1];
    wire [7:0] pad = position == 15 ? in_data : head[15];
    // Checked with the last byte; what stands earlier in this list counts.
    wire [3:0] why = length < 16 ? 4'd1
        : {head[0], head[1]} != 16'h574c ? 4'd2
        : head[2] != 8'd1 ? 4'd3
        : head[3][7:2] != 0 || head[3][0] ? 4'd4
        : pad != 0 ? 4'd5
        : fragment && length < 21 ? 4'd1
        : !in_table ? 4'd6
        : {head[6], head[7]} != layers[id] ? 4'd7
        : input_bytes[15:0] != inputs[id] ? 4'd8
        : head[14] != 0 && biased[id] ? 4'd9
        : fragment ? (offset + (length - 20) > input_bytes || offset > input_bytes ? 4'd10 : 4'd11)
        : length != 16 + input_bytes ? 4'd10
        : 4'd0;

    // Activations, eight at a time.
    wire [31:0] at = position - 16;
    reg [63:0] eight;
    reg load;
    reg [31:0] load_address;
    always @(posedge clock) begin
        load <= take && position >= 16 && (at[2:0] == 3'd7 || in_last) && at < 32'd65536;
        load_address <= {at[31:3], 3'd0};
        if (take) begin
            if (position < 16) head[position[3:0]] <= in_data;
            if (position >= 16 && position < 20) offset <= {offset[23:0], in_data};
            if (position >= 16) begin
                if (at[2:0] == 3'd0) eight <= {56'd0, in_data};
                else eight[at[2:0]*8+:8] <= in_data;
            end
        end
    end

    // ---- the datapath ----
    reg register_write;
    reg [5:0] register_address;
    reg [31:0] register_data;
    wire [31:0] register_value;
    reg [31:0] sent; // bytes of the answer
    wire [31:0] sum_at = sent - 18 - {16'd0, layers[id]};
    wire signed [31:0] sum, log_probability;
    wire busy, done;
    weft_datapath datapath (
        .clock(clock), .reset(reset), .load(load), .load_address(load_address),
        .load_data(eight), .register_write(register_write), .register_address(register_now),
        .register_data(register_data), .register_value(register_value), .weight_stall(1'b0),
        .result_address({2'd0, sum_at[31:2]}), .result_value(sum),
        .log_probability(log_probability), .busy(busy), .done(done));

    // ---- answers ----
    wire [31:0] all = 18 + {16'd0, layers[id]} + {results[id][29:0], 2'b00};
    wire [31:0] layer_at = sent - 18;
    wire [5:0] register_now = state == SEND || state == SETTLE
        ? (state == SETTLE ? REGISTER_CONTROL[5:0] : sent < 18 ? 6'd1 : {2'b10, layer_at[3:0]})
        : register_address;
    wire [7:0] next_byte = sent == 3 ? 8'd1 : sent < 16 ? head[sent[3:0]]
        : sent == 16 ? register_value[15:8] : sent == 17 ? register_value[7:0]
        : layer_at < {16'd0, layers[id]} ? register_value[7:0]
        : sum_at[1:0] == 2'd0 ? sum[31:24] : sum_at[1:0] == 2'd1 ? sum[23:16]
        : sum_at[1:0] == 2'd2 ? sum[15:8] : sum[7:0];
    reg [1:0] settle;

    always @(posedge clock) begin
        drop <= 1'b0;
        register_write <= 1'b0;
        if (reset) begin
            state <= RECEIVE;
            position <= 0;
            out_valid <= 1'b0;
            out_last <= 1'b0;
            reason <= 4'd0;
            register_address <= 6'd0;
            for (i = 0; i < 16; i = i + 1) counters[i] <= 0;
        end else
            case (state)
                RECEIVE:
                if (take) begin
                    position <= in_last ? 0 : position + 1;
                    if (in_last && why != 0) begin
                        drop <= 1'b1;
                        reason <= why;
                        counters[why] <= counters[why] + 1;
                    end else if (in_last) begin
                        state <= START;
                        register_write <= 1'b1;
                        register_address <= 6'd26;
                        register_data <= rows[id];
                    end
                end
                START: begin
                    register_write <= 1'b1;
                    register_address <= REGISTER_CONTROL[5:0];
                    register_data <= 32'd1;
                    settle <= 2'd0;
                    state <= WAIT;
                end
                WAIT: begin
                    // Three cycles until the start has taken `done` back.
                    if (settle != 2'd3) settle <= settle + 1;
                    else if (done) begin
                        settle <= 2'd0;
                        state <= SETTLE;
                    end
                end
                SETTLE: begin
                    // The last layer's h is a register two cycles after its last result.
                    settle <= settle + 1;
                    sent <= 0;
                    if (settle == 2'd3 && register_value[2]) begin
                        drop <= 1'b1;
                        reason <= 4'd14;
                        counters[14] <= counters[14] + 1;
                        state <= RECEIVE;
                    end else if (settle == 2'd3) state <= SEND;
                end
                default:
                if (!out_valid || out_ready) begin
                    out_valid <= sent < all;
                    out_data <= next_byte;
                    out_last <= sent + 1 == all;
                    sent <= sent + 1;
                    if (sent == all) begin
                        state <= RECEIVE;
                        out_valid <= 1'b0;
                        counters[0] <= counters[0] + 1;
                    end
                end
            endcase
    end
endmodule
