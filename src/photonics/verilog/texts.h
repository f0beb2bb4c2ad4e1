// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_VERILOG_TEXTS_H
#define WEFT_PHOTONICS_VERILOG_TEXTS_H

// The templates, as tools/embed makes them of the .v files of this folder.

extern const char verilog_assembler[];
extern const char verilog_bench[];
extern const char verilog_buffers[];
extern const char verilog_datapath[];
extern const char verilog_light[];
extern const char verilog_memory[];
extern const char verilog_nic[];
extern const char verilog_nic_main[];
extern const char verilog_receive[];
extern const char verilog_softmax[];
extern const char verilog_sum[];

#endif
