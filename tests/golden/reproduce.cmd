# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Times of the machine are left out.
still() { sed -E 's/ +[0-9.]+ [mun]?s$//; s/ +(CPU|-)$//' | sed -E '/"(cpu_s|wall_s)"/d'; }
unset WEFT_SHARED
mkdir -p top/claims
cat > top/claims/a.yaml <<'END'
system: fabrics
inputs_from: nowhere that one could go
claims:
  - name: met
    claim: An ideal switch costs 3.2 times as much.
    published: 3.2
    unit: times
    source: a paper
    goal: within 5 %
    commands:
      - weft fabrics --servers 128 --degree 4 --rate 100Gbps
    value: /fabrics/name=ideal/cost_usd
    over: /fabrics/name=direct/cost_usd
    cost: 10ms
    short: yes
  - name: short
    claim: A ring of 8 takes 1 ms.
    published: 1.00
    unit: ms
    source: a paper
    goal: at most
    commands:
      - weft simulate allreduce:100MB --fabric ring --servers 8 --rate 400Gbps
    value: /completion_s
    factor: 1000
  - name: lists
    claim: Two jobs, of which one means both.
    published: 0.08
    unit: s
    source: a paper
    own: yes
    goal: at least
    commands:
      - weft simulate {work}/jobs.json --sharing fair --iterations 4
    files:
      - name: jobs.json
        text: |
          {"links": [{"name": "l", "capacity_Bps": 1e9}], "jobs": [
            {"name": "a", "iteration_s": 0.06,
             "phases": [{"start_s": 0, "duration_s": 0.01, "rate_Bps": 1e9}], "links": ["l"]},
            {"name": "b", "iteration_s": 0.1,
             "phases": [{"start_s": 0.03, "duration_s": 0.01, "rate_Bps": 1e9}], "links": ["l"]}]}
    value: /jobs/*/ideal_s
  - name: steps
    claim: Five seeds, two commands.
    published: none
    unit: hops
    source: a paper that says nothing
    goal: at most
    commands:
      - weft topology --servers 12 --degree 4 --uniform --effort 0.01
      - weft topology --servers 8 --degree 4 --uniform --effort 0.01
    seeds: [1, 2, 3, 4, 5]
    value: /mean_hops
    value_of: 1
    not_comparable: nothing was published
  - name: away
    claim: It needs a file.
    published: 1
    unit: s
    source: a paper
    goal: at least
    commands:
      - weft plan {inputs}/none.fbuf --degree 4 --rate 100Gbps
    value: /iteration_s
  - name: wrong
    claim: It asks for what is not there.
    published: 1
    unit: s
    source: a paper
    goal: at least
    commands:
      - weft version
    value: /fabrics/0/price
  - name: refused
    claim: It is no good command.
    published: 1
    unit: s
    source: a paper
    goal: at least
    commands:
      - weft topology --servers 1
    value: /mean_hops
  - name: program
    claim: It needs a program.
    published: 1
    unit: s
    source: a paper
    goal: at least
    commands:
      - weft version
    needs: [no-such-program]
    value: /version
END
cd top
run() {
    weft reproduce --claims claims "$@" > ../out 2>&1
    code=$?
    still < ../out
    echo "= $code"
}
try weft reproduce --claims claims --list
weft reproduce --claims claims --list --json | sed -n 1,32p
run met
run short --json
run steps lists
run steps
run --all --threads 2
WEFT_SHARED=../nowhere run away
run met short -o results
ls results
cut -d '|' -f 2-5,7-8 results/table.md
grep -c '"verdict"' results/results.json
grep -o 'short by.*<\|short</text>' results/fabrics.svg
echo "# what cannot be written is said before anything runs"
run met -o results
run met -o claims/a.yaml
run met -o nowhere/results
ls
echo "# Ctrl-C: what has ended stays"
cat > claims/b.yaml <<'END'
system: slow
claims:
  - name: long
    claim: It takes long.
    published: 1
    unit: s
    source: a paper
    goal: at least
    commands:
      - weft topology --servers 512 --degree 8 --uniform --effort 500
    value: /mean_hops
END
timeout --preserve-status -s INT 2 \
    weft reproduce --claims claims met long --threads 2 > ../out 2>&1
code=$?; still < ../out; echo "= $code"
echo "# bad input"
rm claims/b.yaml
try weft reproduce
try weft reproduce --all met
try weft reproduce --seed 2 met
try weft reproduce --claims claims meet
try weft reproduce --claims nowhere met
try weft reproduce --inputs nowhere --claims claims met
cp claims/a.yaml claims/c.yaml
try weft reproduce --claims claims met 2>&1 | sed 's|/.*/top|TOP|'
printf 'system: c\nclaims: [{name: x, claim: y}]\n' > claims/c.yaml
try weft reproduce --claims claims met 2>&1 | sed 's|/.*/top|TOP|'
printf 'system: c\nclaims: [{name: x\n' > claims/c.yaml
try weft reproduce --claims claims --list 2>&1 | sed 's|/.*/top|TOP|'
rm claims/*
try weft reproduce --claims claims --list 2>&1 | sed 's|/.*/top|TOP|'
# A word of names, and what names begin with.
weft reproduce mltcp-fluid-fair --json | grep -c '"name": "mltcp-fluid-fair-[236]"'
weft reproduce stragglar-8 --json | grep -c '"name": "stragglar-8-'
try weft reproduce fig16
