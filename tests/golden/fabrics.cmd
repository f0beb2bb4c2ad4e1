# SPDX-License-Identifier: Apache-2.0
# The reference fabrics, counted and priced; what a cluster cannot carry says why.
weft fabrics --servers 128 --degree 4 --rate 100Gbps
echo "--- a prime number of servers with one port"
weft fabrics --servers 13 --degree 1 --rate 100Gbps
echo "--- JSON"
weft fabrics --servers 3 --degree 2 --rate 25Gbps --json
echo "--- a speed in bits for one in Mbps"
cat > fast.xml <<END
<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="90"
rank="0"/></pci><pci busid="0000:02:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0"
speed="200000000" port="1" gdr="1"/></nic></pci></cpu></system>
END
weft fabrics --cluster fast.xml --servers 4 | head -1
weft fabrics --cluster fast.xml --servers 4 --rate 200Gbps | head -1
echo "--- usage"
weft fabrics --degree 4
