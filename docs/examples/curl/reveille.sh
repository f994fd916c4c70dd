#!/usr/bin/env bash
# A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. bash, curl and openssl.
#
#   export API_ACCESS_KEY_ID=... API_SECRET_KEY=... API_APP_ID=...
#   bash reveille.sh status DEVICE_ID
#   bash reveille.sh wake DEVICE_ID [0x12ab]
#   bash reveille.sh events [CURSOR]                        follows the log, one page per line, until stopped
#   bash reveille.sh verify ID TIMESTAMP SIGNATURE < body   a webhook, by API_WEBHOOK_SECRET
#   bash reveille.sh sign METHOD TARGET DATE [BODY [NONCE]] prints the Authorization line
#
# For tests and cron: keys are arguments of openssl, which other users of the machine can read.
set -euo pipefail
export LC_ALL=C # lengths are bytes

readonly origin=${API_ORIGIN:-http://127.0.0.1:8080}
readonly webhook_tolerance_s=300

to_hex() { od -An -v -tx1 | tr -d ' \n'; }
sha256() { openssl dgst -sha256 -hex | sed 's/.* //'; }
# hmac KEY_IN_HEX < text
hmac() { openssl dgst -sha256 -hex -mac HMAC -macopt "hexkey:$1" | sed 's/.* //'; }

has_body() { [[ $1 == POST || $1 == PUT || $1 == PATCH ]]; }

# sign METHOD TARGET DATE BODY NONCE: sets `headers`, signed by TGV1-HMAC-SHA256. TARGET is path?query as sent.
sign() {
  local method=$1 target=$2 date=$3 body=$4 nonce=$5
  local path=${target%%\?*} query='' names lines body_hash canonical scope to_sign key authorization
  [[ $target == *\?* ]] && query=${target#*\?}
  [[ ${#path} -gt 1 ]] && path=${path%/}
  body_hash=$(printf %s "$body" | sha256)
  names='x-tg-algorithm;x-tg-app-id;x-tg-content-sha256;x-tg-date'
  printf -v lines 'x-tg-algorithm:TGV1-HMAC-SHA256\nx-tg-app-id:%s\nx-tg-content-sha256:%s\nx-tg-date:%s' \
    "$API_APP_ID" "$body_hash" "$date"
  if has_body "$method"; then
    query='' # never part of the signature of a request with a body
    names="content-length;content-type;$names"
    printf -v lines 'content-length:%s\ncontent-type:application/json\n%s' "${#body}" "$lines"
  fi
  [[ -z $nonce ]] || names+=';x-tg-nonce' lines+=$'\n'"x-tg-nonce:$nonce"
  printf -v canonical '%s\n%s\n%s\n%s\n%s\n%s' "$method" "$path" "${query//+/%20}" "$lines" "$names" "$body_hash"

  scope=$(date -u -d "${date:0:8} + 7 days" +%Y%m%d)/tgv1_request
  printf -v to_sign 'TGV1-HMAC-SHA256\n%s\n%s\n%s' "$date" "$scope" "$(printf %s "$canonical" | sha256)"
  key=$(printf %s "TGV1$API_SECRET_KEY" | to_hex)
  key=$(printf %s "${date:0:8}" | hmac "$key")
  key=$(printf %s "$path" | hmac "$key")
  key=$(printf %s tgv1_request | hmac "$key")
  authorization="TGV1-HMAC-SHA256 Credential=$API_ACCESS_KEY_ID/$scope, SignedHeaders=$names"
  mapfile -t headers <<<"$lines"
  headers=("authorization: $authorization, Signature=$(printf %s "$to_sign" | hmac "$key")"
    "x-tg-signed-headers: $names" "${headers[@]}")
}

# request METHOD TARGET [BODY]: prints the response, JSON with a `code`; fails unless that is 0.
request() {
  local headers header arguments=() answer nonce=''
  [[ $1 == GET ]] || nonce=$(openssl rand -hex 16) # two changes alike within one second are two by their nonces
  sign "$1" "$2" "$(date -u +%Y%m%dT%H%M%SZ)" "${3:-}" "$nonce"
  for header in "${headers[@]}"; do arguments+=(-H "$header"); done
  if has_body "$1"; then arguments+=(--data-binary "${3:-}"); fi
  answer=$(curl -sS --max-time 30 -X "$1" "${arguments[@]}" "$origin$2") # an events query waits up to 20 s
  printf '%s\n' "$answer"
  [[ $answer == *'"code":0,'* ]]
}

# Percent-encodes all bytes except the unreserved ones.
encoded() {
  local text=$1 i byte
  for ((i = 0; i < ${#text}; i++)); do
    byte=${text:i:1}
    if [[ $byte == [A-Za-z0-9._~-] ]]; then printf %s "$byte"; else printf %s "$byte" | od -An -v -tx1 | sed 's/ /%/g'; fi
  done | tr -d '\n'
}

# Prints a JSON string. Ids with control characters need jq.
quoted() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

# 50402: the packet may have been sent. Retry: a second wake does no harm.
wake() {
  local custom_data=''
  (($# == 1)) || custom_data=",\"custom_data\":$(quoted "$2")"
  request POST /v1/device/wakeup-request "{\"device_id\":$(quoted "$1")$custom_data}"
}

# Store `next` with your results, so that no event is missed or repeated.
events() {
  local cursor=$1 page
  while page=$(request GET "/v1/events?wait=20&after=$(encoded "$cursor")"); do
    printf '%s\n' "$page"
    cursor=$(sed 's/.*"next":"\([^"]*\)".*/\1/' <<<"$page")
  done
  printf '%s\n' "$page"
  return 1
}

# verify ID TIMESTAMP SIGNATURES < body: Standard Webhooks, over the raw body.
verify() {
  local key expected given age=$(($(date +%s) - $2))
  key=$(printf %s "${API_WEBHOOK_SECRET#whsec_}" | base64 -d | to_hex)
  expected=v1,$({ printf %s "$1.$2." && cat; } |
    openssl dgst -sha256 -binary -mac HMAC -macopt "hexkey:$key" | base64 -w 0)
  for given in $3; do
    if [[ $given == "$expected" ]] && ((${age#-} <= webhook_tolerance_s)); then
      echo valid
      return
    fi
  done
  echo invalid
  return 1
}

command=${1:-}
(($# == 0)) || shift
case "$command $#" in
  'status 1') request GET "/v1/device/connectivity?device_id=$(encoded "$1")" ;;
  'wake 1' | 'wake 2') wake "$@" ;;
  'events 0' | 'events 1') events "${1:-latest}" ;;
  'verify 3') verify "$@" ;;
  'sign 3' | 'sign 4' | 'sign 5')
    sign "$1" "$2" "$3" "${4:-}" "${5:-}"
    echo "${headers[0]#authorization: }"
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
