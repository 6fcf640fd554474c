#!/usr/bin/env bash
# Runs an eval in parts on Slurm, and after them a job that merges them and decides. Change the settings below, or set them
# in the environment. Then, in the folder that paths are relative to:
#   bash slurm.sh nightly-2026-11-28               submit all parts of the run of this name
#   bash slurm.sh nightly-2026-11-28 2,3           submit parts 2 and 3 again, and decide again: what is done stays
#   bash slurm.sh nightly-2026-11-28 1-4 --wait    wait for the end; the exit code is the verdict
# More options of sbatch, such as the partition: SBATCH_PARTITION=... in the environment.
set -euo pipefail
export RUN_NAME=${1:?the name of the run, of A-Z a-z 0-9 . _ -, is missing}
: "${EVAL_CONFIG:=quickstart/eval.yaml}" "${EVAL_NAME:=quickstart}"    # the path of the config, and the name of its eval
: "${EVAL_PARTS:=4}" "${EVAL_OUTPUT:=file:///shared/evals}"    # a folder that all machines see, or a bucket: s3://bucket/evals
: "${EVAL_RESULTS:=quickstart/results/quickstart}"    # where the merged run lies, and its RUN_NAME.xml (JUnit)
: "${EVAL_MINUTES:=60}" "${EVAL_CPUS:=2}" "${EVAL_MEMORY:=4G}"    # of a part
# The gate of a part is none, since rows of all parts decide. With `trials: {max: 8}` a part needs the pass rate by
# which its rounds end: EVAL_GATE='{"min_pass_rate": 0.9, "undecided": "pass"}'
EVAL_GATE=${EVAL_GATE-'{}'}
export EVAL_CONFIG EVAL_NAME EVAL_PARTS EVAL_OUTPUT EVAL_RESULTS EVAL_GATE
[ -f "$EVAL_CONFIG" ] || { echo "there is no $EVAL_CONFIG here" >&2; exit 2; }
verdict=$EVAL_RESULTS/$RUN_NAME.xml    # of a whole run: it would be green again, with nothing run
[ ! -f "$verdict" ] || { echo "$verdict: it is decided. Give a new run a new name" >&2; exit 4; }

parts=$(sbatch --parsable --array="${2:-1-$EVAL_PARTS}" --job-name="$EVAL_NAME-$RUN_NAME" --output="$EVAL_NAME-$RUN_NAME-%A_%a.out" \
    --time="$EVAL_MINUTES" --cpus-per-task="$EVAL_CPUS" --mem="$EVAL_MEMORY" <<'END_OF_PART'
#!/usr/bin/env bash
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
exec browsereval supervise --accept 1,5 pytest -p no:cacheprovider --eval-config="$EVAL_CONFIG" \
    --eval-set "gate=$EVAL_GATE" --eval-shard="$SLURM_ARRAY_TASK_ID/$EVAL_PARTS" --eval-output="$EVAL_OUTPUT" \
    --eval-run-name="$RUN_NAME"
END_OF_PART
)
parts=${parts%%;*}
echo "parts: job $parts"

# Whatever has become of the parts: merge refuses a run of which one is missing.
sbatch --dependency="afterany:$parts" --job-name="$EVAL_NAME-$RUN_NAME-verdict" --output="$EVAL_NAME-$RUN_NAME-%j.out" "${@:3}" \
    <<'END_OF_VERDICT'
#!/usr/bin/env bash
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --time=60 --cpus-per-task=1 --mem=2G
set -euo pipefail
merged=$EVAL_RESULTS/$RUN_NAME-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}
mkdir -p -- "$EVAL_RESULTS"
rm -f -- "$EVAL_RESULTS/$RUN_NAME.xml"    # of an earlier verdict
browsereval merge "$EVAL_OUTPUT/$EVAL_NAME/$RUN_NAME" --output="$merged"
exec browsereval gate --config="$EVAL_CONFIG" --junit-xml="$EVAL_RESULTS/$RUN_NAME.xml" -- "$merged"
END_OF_VERDICT
