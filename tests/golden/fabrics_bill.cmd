# SPDX-License-Identifier: Apache-2.0
# What fabrics are bought as: switches, optics, cables; what cannot be bought says the nearest.
try() { "$@"; echo "= $?"; }
cat > cluster.yaml <<'END'
servers: 48
degree: 8
rate: 400Gbps
accelerators: {per_server: 8, kind: H100}
balance: even
switches:
  - {name: 64x400G, ports: 64, rate: 400Gbps, breakout: 4, price: $37299, power: 2524W}
  - {name: 16x400G, ports: 16, rate: 400Gbps}
END
weft fabrics cluster.yaml --fabric leaf-spine
weft fabrics cluster.yaml --fabric torus-2d --rack-servers 6 --row-racks 2
weft fabrics --servers 128 --degree 4 --rate 100Gbps --fabric all
echo "--- a named switch, its ports split, and its cables"
weft fabrics --servers 40 --degree 2 --rate 400Gbps --fabric leaf-spine --switch 32x800G \
    --cabling cables.csv
head -3 cables.csv
wc -l < cables.csv
echo "--- JSON and CSV"
weft fabrics cluster.yaml --fabric leaf-spine --oversubscription 3 --json
weft fabrics cluster.yaml --fabric fat-tree --csv
echo "--- what cannot be bought"
try weft fabrics cluster.yaml --fabric leaf-spine --switch 16x400G
try weft fabrics cluster.yaml --fabric leaf-spine --switch 64x800G
try weft fabrics cluster.yaml --fabric ideal
try weft fabrics --servers 8400 --degree 8 --rate 400Gbps --fabric leaf-spine --switch 32x400G
try weft fabrics --servers 4096 --degree 8 --rate 800Gbps --fabric oversubscribed --switch 64x800G
try weft fabrics --servers 13 --degree 4 --rate 400Gbps --fabric torus-2d
try weft fabrics cluster.yaml --fabric leafspine
echo "--- usage"
try weft fabrics cluster.yaml --switch 64x400G
try weft fabrics cluster.yaml --csv
try weft fabrics cluster.yaml --fabric all --cabling cables.csv
try weft fabrics cluster.yaml --fabric ring --balance even
try weft fabrics cluster.yaml --cluster cluster.yaml
try weft fabrics missing.yaml --fabric ring
