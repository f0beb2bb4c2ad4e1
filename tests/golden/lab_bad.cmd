# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Bad usage and bad input of the lab's sub-verbs, before anything is raised: one line, exit 2 or 3.
try weft lab
try weft lab upp
try weft lab up
try weft lab up --hosts 1
try weft lab up --hosts many
try weft lab up --hosts 2 --fabric ring
try weft lab up --hosts 4 --fabric torus
try weft lab up --hosts 4 --fabric leaf-spine
try weft lab up --hosts 4 --degree 2
try weft lab up --hosts 4 --fabric ring --radix 4
try weft lab up --cluster "$EXAMPLES/clusters/12x4-25g.yaml"
try weft lab up --cluster no-such.yaml --fabric clos
try weft lab up --cluster "$EXAMPLES/clusters/432x8-400g.yaml" --fabric clos
try weft lab up --cluster "$EXAMPLES/clusters/12x4-25g.yaml" --fabric torus-3d
try weft lab up --hosts 100 --degree 4 --radix 4 --fabric leaf-spine
try weft lab up plan.json --radix 4
try weft lab up plan.json --hosts 4
try weft lab up plan.json --fabric ring
try weft lab up no-such-plan.json
echo '{"schema": "weft.plan/2"}' >half.json
try weft lab up half.json
try weft lab up --hosts 4 --rate 100
try weft lab up --hosts 4 --rate 1bps
try weft lab up --hosts 4 --mtu 70000
try weft lab up --hosts 4 --buffer 1B
try weft lab up --hosts 4 --dark 11
try weft lab up --hosts 4 --shaper red
try weft lab up --hosts 4 --classes 4:16
try weft lab up --hosts 4 --classes 8:16:20
try weft lab up --hosts 4 --classes 4:16:20:1
try weft lab up --hosts 4 --classes 4:16:20 --ecn 5
try weft lab up --hosts 4 --name My-Lab
try weft lab down --all --name mine
try weft lab check --flows 0
try weft lab check --name nosuchlab
try weft lab fail
try weft lab fail link --name nosuchlab
try weft lab fail link 3:1 --name nosuchlab
try weft lab fail loss 3:1:1% --name nosuchlab
try weft lab mend loss
try weft lab ocs
try weft lab ocs shwo
try weft lab ocs show --name nosuchlab
try weft lab ocs connect --box 127.0.0.1:1
try weft lab ocs connect 3 --box 127.0.0.1:1
try weft lab ocs connect 0:3-5 --box 127.0.0.1:1
try weft lab ocs apply --box 127.0.0.1:1
try weft lab ocs show --box 127.0.0.1:1
try weft lab ocs show --box 127.0.0.1:1 --user admin:root
try weft lab ocs show --box 127.0.0.1:1 --credentials nosuchfile
touch empty && chmod 600 empty && echo admin:root > open && chmod 640 open
try weft lab ocs show --box 127.0.0.1:1 --credentials open
try weft lab ocs show --box 127.0.0.1:1 --credentials empty
try weft lab ocs show --credentials open
try weft lab ocs emulate
try weft lab ocs emulate --credentials nosuchfolder/secret
try weft lab ocs emulate --credentials secret --protocol tl1-polatsi
try weft lab ocs emulate --credentials secret --protocol tl1-polatis --certificate a --key b
try weft lab ocs emulate --credentials secret --fault deaf
try weft lab ocs emulate --credentials secret --fault stuck
try weft lab ocs show --fault mute --box 127.0.0.1:1
try weft lab ocs show --box scpi://127.0.0.1:1
try weft lab ocs show --box tl1+calient://switch-7
try weft lab ocs show --box tl1+polatis://127.0.0.1:1
try weft lab ocs show --box ocp+https://127.0.0.1/restconf
try weft lab ocs show --box sonic://nosuchfolder
try weft lab ocs connect 0-3 1-3 --box twin://8
try weft lab ocs connect 0-3 1-5 --box twin://8
try weft lab run plan.json --ecn none
try weft lab up --hosts 4 --ecn 100000
try weft lab run "$EXAMPLES/rails/lab-8.yaml" --ocs-fault melted@1s
try weft lab run "$EXAMPLES/rails/lab-8.yaml" --ocs-fault stuck:x@1s
try weft lab run "$EXAMPLES/rails/lab-8.yaml" --ocs-fault dark@2h
try weft lab run "$EXAMPLES/rails/lab-8.yaml" --mode worst
sed 's/^pp: 2/pp: 4/; s/^dp: 4/dp: 2/; s/all-forward/1f1b/; s/^microbatches: 2/microbatches: 8/' \
    "$EXAMPLES/rails/lab-8.yaml" >stages.yaml
try weft lab run stages.yaml --mode best --dark-time 1s
# Plans of fabrics that are not searched.
made() {
    echo "{\"schema\": \"weft.buy/1\", \"model\": \"m\", \"fabric\": \"$1\", \"iteration_s\": 1$2}"
}
made mixnet >mixnet.json
made sip-ring >sip.json
made leaf-spine >leaf.json
made photonic-rails >old.json
made photonic-rails ', "rail": {"alike": 1, "ports": 1, "rate_Bps": 1e9, "latency_ps": 1,
    "graph": {}}' >half-rail.json
made photonic-rails ', "rail": {"alike": 1, "ports": 1, "rate_Bps": 1e9, "latency_ps": 1,
    "graph": {"servers": 2, "devices": [], "groups": [], "tasks": []}}' >idle.json
for plan in mixnet sip leaf old half-rail idle; do
    try weft lab run $plan.json
done
weft plan gpt3-350m "$EXAMPLES/clusters/128x8-100g.yaml" --batch 512 --fabric photonic-rails \
    --strategy tp=4,pp=1,micro=4 --json -o large.json
try weft lab run large.json
weft plan llama3-8b "$EXAMPLES/clusters/16x8-200g.yaml" --batch 64 --fabric photonic-rails \
    --strategy tp=2,pp=2,micro=4,order=tpcd --host-rate 0 --json -o inside.json
try weft lab run inside.json --fail link@2
try weft lab run inside.json
try weft lab run "$EXAMPLES/rails/lab-8.yaml" --fail link@2
try weft lab run "$EXAMPLES/rails/h200.yaml"
try weft lab run plan.json --mode demand
try weft lab run plan.json --fail disk@3
try weft lab run plan.json --fail server:2@13
try weft lab run plan.json --fail link@1
try weft lab run plan.json --fail link@11
try weft lab run plan.json --fail link@3 --fabrics plan,ring
try weft lab run plan.json --fail link@3 --detect smell
try weft lab run plan.json --fail rack@3
try weft lab run plan.json --fail link@3 --fail ocs@2
try weft lab run plan.json --fail link@2 --fail link@2 --fail link@2 --fail link@2 --fail link@2
try weft lab mltcp --rootless
try weft lab run plan.json --spares 1
try weft lab run plan.json --fail server@3 --spares 65
try weft lab run plan.json --at 3
try weft lab run plan.json --change other.json --fail link@3
try weft lab run plan.json --change other.json --fabrics plan,ring
try weft lab run plan.json --change other.json --at 11
try weft lab run plan.json --change other.json --dark 11s
# A command in a server.
try weft lab exec
try weft lab exec 3
try weft lab exec 3 --name Bad -- true
try weft lab exec 3 --name nosuchlab -- true
try weft lab heal
try weft lab heal ring
try weft lab heal ring:2
try weft lab heal ring:65
try weft lab heal ring:7 --ports 2
try weft lab heal no-such-plan.json
try weft lab heal half.json
try weft lab heal ring:8 --kill 3@4
try weft lab heal ring:8 --kill rank:3
try weft lab heal ring:8 --kill rank:8@4
try weft lab heal ring:8 --kill spare:1@4
try weft lab heal ring:8 --kill rank:3@1
try weft lab heal ring:8 --kill rank:3@9
try weft lab heal ring:8 --silent spare:0@4
try weft lab heal ring:8 --port 3@4
try weft lab heal ring:8 --port 3:3@4
try weft lab heal ring:8 --switch 3@4
try weft lab heal ring:8 --state warm
try weft lab heal ring:8 --bytes 0
try weft lab heal ring:8 --dark 3000s
try weft lab heal ring:8 --checkpoint no-such-folder/file
try weft lab heal ring:8 --switch 0@4 --detour
try weft lab train --transport quic
try weft lab train --transport reno --loss-bound 0.1
try weft lab train --transport mlt --ecn 20
try weft lab train --loss-bound 2 --transport mlt
try weft lab train --trouble rain
try weft lab train --trouble incast --hosts 0
try weft lab train --trouble cross --hosts 1
try weft lab train --burst 10
try weft lab train --pause 1us
try weft lab train --batch 4
try weft lab train --batch 2000
try weft lab train --test 4
try weft lab train --accuracies 0.5,much
try weft lab train --net dense:5
try weft lab train --net tanh:5
try weft lab train --segment 400
try weft lab train images.u8
try weft lab train images.u8 labels.u8
try weft lab train --workers 64 --hosts 64 --radix 2
try weft lab train --trouble gray --workers 4 --hosts 0
