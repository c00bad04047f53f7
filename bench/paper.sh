#!/bin/bash
# The paper's runs of a built-in scenario on a SLURM cluster:
#   sbatch --ntasks=128 bench/paper.sh SCENARIO [CONFIGURATIONS [INSTANCES [RUNS]]]
# The folder of the scenario, the journal and the matrix appear in the folder it was submitted from,
# which all nodes see. A job that reaches its time limit loses nothing: submit the same line again.
# Certificates: dask.yaml in that folder, as docs/how-to/slurm.md makes it, is used if it is there.
#SBATCH --job-name=truecost-paper
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=3G
#SBATCH --time=24:00:00
#SBATCH --hint=nomultithread
set -euo pipefail
scenario=$1 configurations=${2:-500} instances=${3:-} runs=${4:-5}

truecost scenario export "$scenario" "$scenario" --size paper ${instances:+--instances "$instances"} \
    --workers "${SLURM_CPUS_ON_NODE:-1}" --quiet

if [ -s dask.yaml ]; then export DASK_CONFIG=$PWD/dask.yaml; fi
file=$PWD/scheduler-$SLURM_JOB_ID.json
trap 'kill $(jobs -p) 2>/dev/null; rm -f "$file"' EXIT
dask scheduler --port 0 --scheduler-file "$file" --no-dashboard &
srun dask worker --scheduler-file "$file" --nthreads 1 --nworkers 1 --no-dashboard \
    --local-directory "${TMPDIR:-/tmp}" &
until [ -s "$file" ]; do sleep 1; done
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$file")

# SQLite wants a local disk; the journal is brought back however the job ends.
journal=${TMPDIR:-/tmp}/$scenario-$SLURM_JOB_ID.db
if [ -s "$scenario.db" ]; then cp "$scenario.db" "$journal"; fi
trap 'kill $(jobs -p) 2>/dev/null; rm -f "$file"; cp "$journal" "$scenario.db"' EXIT
truecost gather "$scenario/scenario.toml" --journal "$journal" --configurations "$configurations" \
    --runs "$runs" --dask "$address" --quiet --out "$scenario.npz"
echo "Done: $scenario.npz. Workers are stopped now; what they say about lost connections is harmless."
