// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_NCCL_ARCHITECTURE_H
#define WEFT_FORMAT_NCCL_ARCHITECTURE_H

// Which accelerator a topology file means: it names generations alone, by CUDA's compute capability
// (sm="90") or AMD's architecture (gcn="gfx942"). Several accelerators share one; the first that
// was sold stands for it.

// "90", "gfx942": the architecture of an accelerator by a name of Weft's, in any case; NULL where
// it is no GPU of NVIDIA's or AMD's that Weft knows.
const char *weft_nccl_architecture(const char *accelerator);
// The accelerator that stands for an architecture, the first that was sold; NULL for none.
const char *weft_nccl_accelerator(const char *architecture);

#endif
