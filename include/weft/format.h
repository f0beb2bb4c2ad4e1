// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_H
#define WEFT_FORMAT_H

// Formats: every file that Weft reads or writes, one header each. Values in, values out: nothing
// here decides or simulates. Readers take bytes (fuzzable); *_load and *_save add the file. Every
// reader bounds each count by the bytes that are left before it allocates, and fails with one line
// that names the place and the remedy.

#include "weft/format/arrivals.h"
#include "weft/format/chakra.h"
#include "weft/format/circuits.h"
#include "weft/format/claims.h"
#include "weft/format/cluster.h"
#include "weft/format/comparisons.h"
#include "weft/format/expert_job.h"
#include "weft/format/experts.h"
#include "weft/format/export.h"
#include "weft/format/fbuf.h"
#include "weft/format/file.h"
#include "weft/format/flows.h"
#include "weft/format/goal.h"
#include "weft/format/htsim.h"
#include "weft/format/images.h"
#include "weft/format/job_trace.h"
#include "weft/format/model.h"
#include "weft/format/msccl.h"
#include "weft/format/mscclpp.h"
#include "weft/format/nccl.h"
#include "weft/format/numbers.h"
#include "weft/format/perfetto.h"
#include "weft/format/photonics.h"
#include "weft/format/plan.h"
#include "weft/format/profile.h"
#include "weft/format/rack.h"
#include "weft/format/rail_job.h"
#include "weft/format/records.h"
#include "weft/format/simai.h"
#include "weft/format/snapshot.h"
#include "weft/format/sweep.h"
#include "weft/format/topology_file.h"

#endif
