# SPDX-License-Identifier: Apache-2.0
# An accelerator by its peaks in the cluster file: planned with, kept in the plan, checked again.
cat > cluster.yaml <<'END'
servers: 4
degree: 2
rate: 400Gbps
accelerators:
  per_server: 8
  kind: ours
  memory: 80GB
  peak: {fp16: 500Tflops, fp32: 60Tflops}
  memory_bandwidth: 3TB/s
  link_rate: 400GB/s
  like: A100
END
weft plan gpt3-1.3b cluster.yaml --effort 0.02 -o plan.json | head -1
weft check plan.json
sed 's/"fp16_flops": 500000000000000/"fp16_flops": 600000000000000/' plan.json > faster.json
weft check faster.json | cut -d: -f1-3
sed 's/"memory_Bps": 3000000000000/"memory_Bps": 0/' plan.json > none.json
weft check none.json
