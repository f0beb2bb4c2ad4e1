#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nodes=4 --ntasks-per-node=1
# A batch script: sbatch job.sh ./train ... Each task waits for its job's turn, then trains. A
# program that takes long before its first iteration should wait there instead (turn.py).
srun sh -c 'python3 /etc/slurm/turn.py; exec "$@"' task "$@"
