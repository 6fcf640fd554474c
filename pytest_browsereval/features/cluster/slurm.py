"""The script that has Slurm run an eval in parts."""

from __future__ import annotations

import shlex

from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.cluster.plan import ClusterPlan

SCRIPT = """\
#!/usr/bin/env bash
# The run {name} in {parts} parts, and a job that merges them and decides.
# In the folder in which it was printed:
#   bash FILE               submit all
#   bash FILE 2,3           submit parts 2 and 3 again, and decide again: what is done stays
#   bash FILE 1-{parts} --wait    wait for the end; the exit code is the verdict
# More options of sbatch, such as the partition: SBATCH_PARTITION=... in the environment.
set -euo pipefail
[ -f {config} ] || {{ echo 'there is no' {config} 'here' >&2; exit 2; }}
verdict={results}/{name}.xml  # of a whole run: it would be green again, with nothing run
[ ! -f "$verdict" ] || {{ echo "$verdict: it is decided. For a new run print a script" >&2; exit 4; }}

parts=$(sbatch --parsable --array="${{1:-1-{parts}{most}}}" <<'END_OF_PART'
#!/usr/bin/env bash
#SBATCH --job-name={label}
#SBATCH --output={label}-%A_%a.out --open-mode=append
#SBATCH --requeue
#SBATCH --time={minutes} --signal=B:TERM@60
#SBATCH --cpus-per-task={cpus} --mem={memory}G
exec {part}
END_OF_PART
)
parts=${{parts%%;*}}
echo "parts: job $parts"

# Whatever has become of the parts: merge refuses a run of which one is missing.
sbatch --dependency="afterany:$parts" "${{@:2}}" <<'END_OF_VERDICT'
#!/usr/bin/env bash
#SBATCH --job-name={label}-verdict
#SBATCH --output={label}-%j.out --open-mode=append
#SBATCH --requeue
#SBATCH --time=60 --cpus-per-task=1 --mem=2G
set -euo pipefail
results={results}
merged=$results/{name}-$SLURM_JOB_ID-${{SLURM_RESTART_COUNT:-0}}
mkdir -p -- "$results"
rm -f -- "$results"/{name}.xml  # of an earlier verdict
browsereval merge {url} --output="$merged"
exec browsereval gate --config={config} --junit-xml="$results"/{name}.xml -- "$merged"
END_OF_VERDICT
"""


def write_slurm(plan: ClusterPlan, results: str) -> str:
    """Return the script.

    Args:
        plan: of the run.
        results: the folder of merged runs and JUnit files.
    """
    quote = shlex.quote
    shard = f"--eval-shard={plan.parts}"
    part = [quote(word) for word in plan.part_words(str(plan.parts))]
    part[part.index(shard)] = f'--eval-shard="$SLURM_ARRAY_TASK_ID"/{plan.parts}'
    return SCRIPT.format(
        name=plan.name,
        label=plan.label,
        parts=plan.parts,
        most=f"%{plan.parallel}" if plan.parallel < plan.parts else "",
        config=quote(plan.config),
        minutes=plan.resources.minutes,
        cpus=plan.resources.cpus,
        memory=plan.resources.memory_gib,
        part=" ".join(part),
        url=quote(plan.url),
        results=quote(f"{results.rstrip('/') or '/'}/{safe_folder(plan.eval_name)}"),
    )
