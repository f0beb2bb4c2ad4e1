// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

// All of Weft's library, for programs that use several rooms of it. examples/library shows one.

#include "weft/base.h"
#include "weft/circuit.h"
#include "weft/cluster.h"
#include "weft/collective.h"
#include "weft/fabric.h"
#include "weft/format.h"
#include "weft/graph.h"
#include "weft/interleave.h"
#include "weft/mlt.h"
#include "weft/model.h"
#include "weft/photonics.h"
#include "weft/plan.h"
#include "weft/report.h"
#include "weft/request.h"
#include "weft/routing.h"
#include "weft/scheduler.h"
#include "weft/serving.h"
#include "weft/sim.h"
#include "weft/strategy.h"
#include "weft/topology.h"
#include "weft/train.h"
#include "weft/verify.h"
#include "weft/workload.h"

#endif
