# SPDX-License-Identifier: Apache-2.0
# The reference fabrics, counted and priced; what a cluster cannot carry says why.
weft fabrics --servers 128 --degree 4 --rate 100Gbps
echo "--- a prime number of servers with one port"
weft fabrics --servers 13 --degree 1 --rate 100Gbps
echo "--- JSON"
weft fabrics --servers 3 --degree 2 --rate 25Gbps --json
echo "--- usage"
weft fabrics --degree 4
