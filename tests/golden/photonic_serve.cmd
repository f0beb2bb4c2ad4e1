# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
serve() { weft photonic serve-study "$@"; }
cp "$EXAMPLES/photonic/traces/arrivals_0.01_1.csv" a.csv
try serve --rate 10Mbps --requests 40 --traces 3
try serve --requests 60 --arrivals a.csv --processors A100,Lightning,P4 --csv
serve --rate 60Mbps --requests 40 --traces 2 --json 2>notes |
    python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["interval"], t["samples"])
for p in t["processors"]:
    assert p["capacity_ratio"] > 0 and p["mean_s"] > 0 and p["energy"]["busy_J"] > 0
    assert p["ratio_interval"][0] <= p["ratio_of_means"] <= p["ratio_interval"][1]
    print(p["name"], round(p["rho"], 2), p["stationary"], [m["isolated_us"] for m in p["models"]])'
cat notes
try serve --rate 10Mbps --requests 20 --traces 2 --loads 5Mbps,40Mbps --plot load.svg | tail -6
head -c 60 load.svg && echo
# What does not fit.
try serve --processors TPU
try serve --processors A100,A100
try serve --rate 0Gbps
try serve --requests 2000 a.csv
try serve --traces 2 a.csv
try serve --loads 2Mbps,1Mbps
try serve no-such.csv
try serve 'no-such-*.csv'
printf 'time,model\n1,AlexNet\n' >b.csv
try serve b.csv
printf 'arrival_ns,model\n1,AlexNet\n0,VGG-16\n' >b.csv
try serve b.csv
printf 'arrival_ns,model\n1,AlexNt\n' >b.csv
try serve b.csv
printf 'arrival_ns,model\n1.5,AlexNet\n' >b.csv
try serve b.csv
printf 'arrival_ns,model\n' >b.csv
try serve b.csv
