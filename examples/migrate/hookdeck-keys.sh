#!/bin/sh
# Prints the keys of the events that Hookdeck has delivered, one per line. Needs curl, jq and
# HOOKDECK_API_KEY.
#   sh hookdeck-keys.sh <id of the source in Hookdeck> [jq filter for the key]
set -eu
source=$1
key=${2:-.body.id}
api=${HOOKDECK_API_URL:-https://api.hookdeck.com/2025-07-01}
filter='def parsed: if type == "string" then fromjson else . end;
  .models[] | .id as $event | .data | .body |= parsed
  | .headers |= (parsed // {} | with_entries(.key |= ascii_downcase))
  | ('$key') // error("\($event) has no key")'
next=
while :; do
  page=$(curl -sSf -G "$api/events" -H "Authorization: Bearer $HOOKDECK_API_KEY" -d "source_id=$source" \
    -d status=SUCCESSFUL -d include=data -d limit=250 ${next:+-d "next=$next"})
  printf '%s' "$page" | jq -r "$filter"
  next=$(printf '%s' "$page" | jq -r '.pagination.next // empty')
  [ -n "$next" ] || break
done
