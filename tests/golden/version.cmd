# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft version
try weft version --json
weft help --json | grep -c summary
try weft --version
try weft traffic --version
