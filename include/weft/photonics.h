// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_H
#define WEFT_PHOTONICS_H

// Photonics: nets computed by light, after Lightning (SIGCOMM 2023). docs/lightning.md has the
// derivations.
//
//   layer list ──► net ──► program ──► twin (at speed), executor (cycle by cycle), Verilog
//                             └──► models ──► responder: requests in, answers out
//
// and meshes of interferometers as switches, after PipSwitch (weft/photonics/mesh.h,
// docs/photonic-mesh.md).

#include "weft/photonics/core.h"
#include "weft/photonics/countaction.h"
#include "weft/photonics/energy.h"
#include "weft/photonics/execute.h"
#include "weft/photonics/lab.h"
#include "weft/photonics/layer.h"
#include "weft/photonics/mesh.h"
#include "weft/photonics/model.h"
#include "weft/photonics/models.h"
#include "weft/photonics/packet.h"
#include "weft/photonics/program.h"
#include "weft/photonics/responder.h"
#include "weft/photonics/twin.h"
#include "weft/photonics/verilog.h"

#endif
