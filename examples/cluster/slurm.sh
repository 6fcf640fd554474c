#!/usr/bin/env bash
# The run nightly in 4 parts, and a job that merges them and decides.
# In the folder in which it was printed:
#   bash FILE               submit all
#   bash FILE 2,3           submit parts 2 and 3 again, and decide again: what is done stays
#   bash FILE 1-4 --wait    wait for the end; the exit code is the verdict
# More options of sbatch, such as the partition: SBATCH_PARTITION=... in the environment.
set -euo pipefail
[ -f quickstart/eval.yaml ] || { echo 'there is no' quickstart/eval.yaml 'here' >&2; exit 2; }
verdict=quickstart/results/quickstart/nightly.xml  # of a whole run: it would be green again, with nothing run
[ ! -f "$verdict" ] || { echo "$verdict: it is decided. For a new run print a script" >&2; exit 4; }

parts=$(sbatch --parsable --array="${1:-1-4}" <<'END_OF_PART'
#!/usr/bin/env bash
#SBATCH --job-name=quickstart-nightly
#SBATCH --output=quickstart-nightly-%A_%a.out --open-mode=append
#SBATCH --requeue
#SBATCH --time=60 --signal=B:TERM@60
#SBATCH --cpus-per-task=2 --mem=4G
exec browsereval supervise --accept 1,5 pytest -p no:cacheprovider --eval-config=quickstart/eval.yaml --eval-set 'gate={}' --eval-shard="$SLURM_ARRAY_TASK_ID"/4 --eval-output=file:///shared/evals --eval-run-name=nightly --eval-accept-done
END_OF_PART
)
parts=${parts%%;*}
echo "parts: job $parts"

# Whatever has become of the parts: merge refuses a run of which one is missing.
sbatch --dependency="afterany:$parts" "${@:2}" <<'END_OF_VERDICT'
#!/usr/bin/env bash
#SBATCH --job-name=quickstart-nightly-verdict
#SBATCH --output=quickstart-nightly-%j.out --open-mode=append
#SBATCH --requeue
#SBATCH --time=60 --cpus-per-task=1 --mem=2G
set -euo pipefail
results=quickstart/results/quickstart
merged=$results/nightly-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}
mkdir -p -- "$results"
rm -f -- "$results"/nightly.xml  # of an earlier verdict
browsereval merge file:///shared/evals/quickstart/nightly --output="$merged"
exec browsereval gate --config=quickstart/eval.yaml --junit-xml="$results"/nightly.xml -- "$merged"
END_OF_VERDICT
