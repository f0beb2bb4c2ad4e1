# SPDX-License-Identifier: Apache-2.0
"""Mistakes that the tests must find: name, file, what is replaced (once there), by what. That lanes
behind the end of a patch stay dark cannot be seen: their weights are 0."""

LIST = [
    ("sign flipped", "sum.v",
     "signs[i] ? magnitude : -magnitude", "signs[i] ? -magnitude : magnitude"),
    ("rotation off by one", "datapath.v", "if (rotated[i]) rotation = i[3:0];",
     "if (rotated[i]) rotation = i[3:0] + 4'd1;"),
    ("sums keep their last bias", "sum.v", "(first ? bias : sum_so_far)",
     "(first ? bias : sum_so_far + bias)"),
    ("bubbles are words", "datapath.v", "received && fifo_valid && !control_reset",
     "received && !control_reset"),
    ("buffers do not swap", "datapath.v", "else if (next_layer && !start) side <= !side;", ""),
    ("the bank's carry is lost", "assembler.v", "position[LOG+:BITS-1] + next",
     "position[LOG+:BITS-1]"),
    ("the padding is not dark", "assembler.v", "in_map ? turned[lane*8+:8] : 8'd0",
     "turned[lane*8+:8]"),
    ("a pool takes the last value", "buffers.v", "first || write_value > result",
     "first || write_value != result"),
    ("rest columns are kept", "sum.v", "x < pooled_width && y", "y"),
    ("a patch is overwritten while it is used", "assembler.v", "left != 0 && !full[fill]",
     "left != 0"),
    ("the exponent of biases is forgotten", "datapath.v", "held_exponent + $signed(highest) - 7",
     "held_exponent"),
    ("the normalizer is off by one", "datapath.v", "to_right && !first_layer ? highest - 7",
     "to_right && !first_layer ? highest - 6"),
    ("the last of equals", "datapath.v",
     "write_address < class_index", "write_address > class_index"),
    ("weights do not begin again", "datapath.v", "control_reset || next_layer || patch_end",
     "control_reset || next_layer"),
]
