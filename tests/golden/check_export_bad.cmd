# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft check
try weft check missing.json
echo '{}' > empty.json
try weft check empty.json
echo '{' > cut.json
try weft check cut.json
try weft export
try weft export empty.json
try weft export empty.json --format nonsense
try weft export empty.json --format dot
