#!/usr/bin/env bash
# Makes the catalog of a project equal to a file: a full update of products in the form of docs/interface §2.3, one per
# line. Needs bash, curl 7.76 and gzip.
#
#   BASE_URL=http://127.0.0.1:4810 API_KEY=… PROJECT_ID=1 examples/full-update.sh examples/products.ndjson
set -euo pipefail

file=${1:?say which file, e.g. examples/products.ndjson}
base=${BASE_URL:-http://127.0.0.1:4810}
: "${API_KEY:?set API_KEY to a key with access write}"
project="projectId=${PROJECT_ID:-}"
run=$(date +%s)-$$

# The key is passed by a file descriptor, because every user of the machine can read arguments.
call() {
  local answer
  answer=$(curl --silent --show-error --fail-with-body --retry 5 --retry-connrefused \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "$API_KEY") "$@") || {
    printf '%s\n' "$answer" >&2
    return 1
  }
  printf '%s\n' "$answer"
}

# Reads a field of the answer. This is sufficient for ids and words, which contain no quotes.
field() {
  grep -E -o "\"$1\":\"?[^\",}]*" | head -n 1 | sed 's/.*://; s/"//'
}

batches=$(mktemp -d)
trap 'rm -rf "$batches"' EXIT
grep -v '^[[:space:]]*$' "$file" | split -l 10000 -a 6 - "$batches/"

session=$(call -X POST "$base/products/batch/initiate?$project" \
  -H "Idempotency-Key: $run-initiate" | field fullUpdateId)
echo "full update $session"

# A batch that is sent again with its key after a timeout is stored once.
count=0
for batch in "$batches"/*; do
  { printf '['; paste -s -d , "$batch"; printf ']'; } | gzip >"$batch.gz"
  call "$base/products/batch/upload?$project&fullUpdateId=$session" --data-binary "@$batch.gz" \
    -H 'Content-Type: application/json' -H 'Content-Encoding: gzip' \
    -H "Idempotency-Key: $run-${batch##*/}" | grep -o '"nrOfSent":[0-9]*,"nrOfParsed":[0-9]*'
  count=$((count + 1))
done

# The commit is refused if a batch is missing, whatever the reason.
task=$(call -X POST "$base/products/batch/start?$project&fullUpdateId=$session&batches=$count" \
  -H "Idempotency-Key: $run-start" | field id)
state=RUNNING
while [ "$state" = RUNNING ]; do
  state=$(call "$base/tasks/$task?wait=30" | field taskStatus)
done
call "$base/tasks/$task/log"
echo "task $task: $state"
[ "$state" = FINISHED ]
