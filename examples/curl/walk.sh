#!/usr/bin/env bash
# From the question to the report with curl alone: authorize, wait for a human, consume, run, report.
#
#   AEGIS_URL=http://127.0.0.1:8787 AEGIS_API_KEY=aegis_agent_… bash examples/curl/walk.sh
#
# `npm run dev` prints both. It shows the messages, and is no client: it believes whoever answers, and checks no receipt.
set -euo pipefail

# member NAME JSON: the first string of that name.
member() { sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\\1/p" <<<"$2"; }
# ask METHOD PATH [BODY]: curl follows no redirect unless told to; a status of 400 or more ends the walk.
ask() {
  curl --silent --show-error --fail-with-body --max-time 10 --request "$1" "$AEGIS_URL$2" \
    --header "Authorization: Bearer $AEGIS_API_KEY" --header 'Content-Type: application/json' \
    ${3:+--data-binary "$3"}
}
id() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# The action in its canonical form: keys sorted, no space. Its hash is what everything is bound to.
action='{"action":"write","mutates_state":true,"parameters":{"path":"/srv/notes/today.md","text":"Rain."},"resource":null,"tool":"files"}'
action_hash="$(printf '%s' "$action" | sha256sum | cut -d ' ' -f 1)"

answer="$(ask POST /v1/authorize "{
  \"request_id\": \"req_$(id)\",
  \"timestamp\": \"$(date -u +%Y-%m-%dT%H:%M:%S.000Z)\",
  \"tool_call\": $action,
  \"action_hash\": \"$action_hash\",
  \"context\": {\"source_trust\": \"unknown\"}
}")"
# The decision is the first member; looking further would find words in the receipt.
decision="$(sed -nE 's/^\{"decision":"([a-z_]+)".*/\1/p' <<<"$answer")"
echo "authorize: $decision"

if [[ "$decision" == require_approval ]]; then
  # Of the answer and not of the receipt in it, whose quotes are escaped.
  approval="$(member approval_id "$answer")" binding_hash="$(member binding_hash "$answer")"
  echo "waiting: $approval"
  while state="$(member state "$(ask GET "/v1/approvals/$approval")")" && [[ "$state" == pending ]]; do sleep 2; done
  echo "approval: $state"
  [[ "$state" == approved ]] || exit 1
  answer="$(ask POST "/v1/approvals/$approval/consume" \
    "{\"request_id\": \"req_$(id)\", \"action_hash\": \"$action_hash\", \"binding_hash\": \"$binding_hash\"}")"
  decision="$(sed -nE 's/^\{"decision":"([a-z_]+)".*/\1/p' <<<"$answer")"
  echo "consume: $decision"
fi
[[ "$decision" == allow ]] || exit 1

echo "run: what stands in \$action, and nothing else"

ask POST /v1/reports "{\"call_id\": \"$(member call_id "$answer")\", \"grant_id\": \"$(member grant_id "$answer")\",
  \"execution\": {\"status\": \"success\"}}" >/dev/null
echo 'report: success'
