"""The manifest that has Kubernetes run an eval in parts."""

from __future__ import annotations

import json
import math

from pytest_browsereval.features.cluster.plan import ClusterPlan

TRIES = 4
"""How often a part is begun at most."""
STARTING_MINUTES = 30
"""How long a cluster may take to find machines."""

MANIFEST = """\
# The run {name} in {parts} parts, and a job that merges them and decides.
#   kubectl create -f FILE
#   kubectl wait --for=condition=complete --timeout={deadline}s job/{label}-verdict
#   kubectl logs job/{label}-verdict
# The second one fails where the gate is missed or a part is missing; the last one ends with a JUnit file.
apiVersion: batch/v1
kind: Job
metadata:
  name: {label}
spec:
  completionMode: Indexed
  completions: {parts}
  parallelism: {parallel}
  backoffLimitPerIndex: {retries}    # from Kubernetes 1.29, in 1.28 behind a feature gate
  podFailurePolicy:
    rules:    # a machine that is taken away is nobody's failure
      - {{action: Ignore, onPodConditions: [{{type: DisruptionTarget, status: "True"}}]}}
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false    # agents visit pages of others
      containers:
        - name: part
          image: {image}
          command:
{part}
          envFrom:
            - secretRef: {{name: {secret}}}    # keys of models and of the bucket
          resources:
            requests: {{cpu: "{cpus}", memory: {memory}Gi}}
            limits: {{memory: {memory}Gi}}
          volumeMounts:
            - {{name: shm, mountPath: /dev/shm}}    # Chromium needs more than the usual 64 MiB
      volumes:
        - name: shm
          emptyDir: {{medium: Memory, sizeLimit: 1Gi}}
      activeDeadlineSeconds: {seconds}
---
# It waits: merge refuses a run of which a part is missing. Past the deadline it has failed.
apiVersion: batch/v1
kind: Job
metadata:
  name: {label}-verdict
spec:
  backoffLimit: 0
  activeDeadlineSeconds: {deadline}
  podFailurePolicy:
    rules:
      - {{action: Ignore, onPodConditions: [{{type: DisruptionTarget, status: "True"}}]}}
  template:
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
        - name: verdict
          image: {image}
          command:
            - sh
            - -c
            - |
              until browsereval merge "$1" --output=/tmp/whole; do sleep 60; done
              browsereval claim "$1" --by="$JOB" || exit 4    # created anew, it would decide by the old run
              browsereval gate /tmp/whole --config="$2" --junit-xml=/tmp/junit.xml
              code=$?
              cat /tmp/junit.xml
              exit $code
            - verdict
            - {url}
            - {config}
          env:
            - name: JOB
              valueFrom: {{fieldRef: {{fieldPath: "metadata.labels['batch.kubernetes.io/controller-uid']"}}}}
          envFrom:
            - secretRef: {{name: {secret}}}
          resources:
            requests: {{cpu: "1", memory: 1Gi}}
            limits: {{memory: 2Gi}}
"""


def write_kubernetes(plan: ClusterPlan, image: str, secret: str) -> str:
    """Return the manifest.

    Args:
        plan: of the run.
        image: has Python, a browser, this package and the eval.
        secret: the name of the Secret that has all keys.
    """
    shard = "1/1" if plan.parts == 1 else f"auto/{plan.parts}"
    seconds = plan.resources.minutes * 60
    rounds = math.ceil(plan.parts / plan.parallel)
    return MANIFEST.format(
        name=plan.name,
        label=plan.label,
        parts=plan.parts,
        parallel=plan.parallel,
        retries=TRIES - 1,
        seconds=seconds,
        deadline=rounds * TRIES * seconds + STARTING_MINUTES * 60,
        cpus=plan.resources.cpus,
        memory=plan.resources.memory_gib,
        image=json.dumps(image),
        secret=json.dumps(secret),
        part="\n".join(f"            - {_word(word)}" for word in plan.part_words(shard)),
        url=_word(plan.url),
        config=_word(plan.config),
    )


def _word(text: str) -> str:
    """Return a word of a command as YAML reads it; Kubernetes would fill in ``$(NAME)``."""
    return json.dumps(text.replace("$", "$$"), ensure_ascii=False)  # YAML has no pairs of surrogates
