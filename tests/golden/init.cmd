# SPDX-License-Identifier: Apache-2.0
# weft init: the file, what reads it at once, and what it refuses. Mutations that made this fail
# (each was run): the file is replaced without --force; --nics takes 400G as bytes; a key that is
# behind a '#' is misspelt.
try() { "$@"; echo "= $?"; }
try weft init --servers 64 --accelerator H100 --nics 8x400G -o cluster.yaml
cat cluster.yaml
weft fabrics cluster.yaml | head -3
# With all that may be added.
sed -e "1,/^name/s/^# /## /" -e "s/^# \\([a-z]\\)/\\1/" -e "s/^#   /  /" \
    -e "s/# host_rate/host_rate/" cluster.yaml > all.yaml
grep -c '^ *\(stack\|storage\|prices\|host_rate\|ports\|transceiver\|ocs_port\):' all.yaml
weft fabrics all.yaml | head -3
# From a server's topology: kinds that Weft knows, and those that it does not.
weft collective export ring --ranks 2 --format msccl > /dev/null
cat > topo.xml <<'END'
<system version="1">
  <cpu numaid="0" affinity="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:17:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"/>
    </pci>
    <pci busid="0000:18:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
END
weft init --from topo.xml | grep -v '^#'
weft init --from topo.xml --servers 32 --nics 2x1.6T --json | head -c 170; echo
sed 's/sm="90"/sm="35"/' topo.xml > old.xml
weft init --from old.xml | grep 'kind\|memory:'
# What is there stays.
echo mine > mine.yaml
try weft init -o mine.yaml
cat mine.yaml
try weft init --force -o mine.yaml
grep -c . mine.yaml
# Nothing is asked where there is no terminal.
weft init < /dev/null | grep '^servers'
# Bad values.
try weft init --servers 1
try weft init --accelerator H1000
try weft init --nics 400G
try weft init --nics 8x400
try weft init --from cluster.yaml
try weft init --from missing.xml
try weft init cluster.yaml
