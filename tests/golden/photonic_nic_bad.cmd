# SPDX-License-Identifier: Apache-2.0
# Bad usage and bad input of interfaces that answer requests to light, and of who asks them, before
# anything is raised or sent: one line, exit 2 or 3.
try() { "$@"; echo "= $?"; }
try weft photonic nic
try weft photonic nic upp
try weft photonic nic up
try weft photonic nic up no-such-folder
try weft photonic nic up no-such-folder --name my-nic
try weft photonic nic up no-such-folder --name 0
try weft photonic nic up no-such-folder --engine gpu
try weft photonic nic up no-such-folder --engine verilog
try weft photonic nic up no-such-folder --simulator true
try weft photonic nic up no-such-folder --port 0
try weft photonic nic up no-such-folder --mtu 100
try weft photonic nic status more
try weft photonic nic status --name nosuchnic
try weft photonic status more
try weft photonic status --name nosuchnic
cp -r "$EXAMPLES/photonic" net
weft photonic compile net/worked.json -o out >empty
weft photonic compile net/worked.json --wavelengths 2 -o wide >empty
try weft photonic nic up 1=out 1=out
try weft photonic nic up out wide
try weft photonic nic up 70000=out
try weft photonic ask
try weft photonic ask 198.18.0.2
try weft photonic ask nowhere net/input.u8
try weft photonic ask 198.18.0.2:0 net/input.u8
try weft photonic ask 198.18.0.2:port net/input.u8
try weft photonic ask 198.18.0.2 net/input.u8 --model many
try weft photonic ask 198.18.0.2 net/input.u8 --timeout 5
try weft photonic ask 198.18.0.2 net/input.u8 --timeout 1ns
try weft photonic ask 127.0.0.1:9 net/input.u8 --timeout 1ms --tries 2
try weft photonic ask 198.18.0.2 net/input.u8 --in '../x'
try weft photonic load 198.18.0.2
try weft photonic load 198.18.0.2 net/input.u8 --rate 0
try weft photonic load 198.18.0.2 net/input.u8 --rate 5 --window 5
try weft photonic load 198.18.0.2 net/input.u8 --loss 2
try weft photonic load 198.18.0.2 net/input.u8 --count 0
try weft photonic load 127.0.0.1:9 net/input.u8 --timeout 1ms
