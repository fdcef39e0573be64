#!/usr/bin/env bash
# A worker in bash that needs no other program: it keeps a list of the texts whose words were counted.
set -euo pipefail

link=$EVENT_BRIDGE_FD
say() { printf '%s\n' "$1" >&"$link"; }

say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"WordsCounted\"]}"
say '{"bridge":"ready"}'

listed=0
while IFS= read -r line <&"$link"; do
    case $line in
        '{"bridge":"drain"'*)
            say '{"bridge":"goodbye","reason":"shutdown"}'
            exit 0
            ;;
        '{"bridge":"gap"'*)
            [[ $line =~ \"sequence\":([0-9]+) ]]
            say "{\"bridge\":\"ack\",\"sequence\":${BASH_REMATCH[1]}}"
            ;;
        # This worker needs none of the host's other messages.
        '{"bridge":'*) ;;
        *)
            # The host writes an event's attributes before its data, and always in the same order.
            [[ $line =~ \"id\":\"([^\"]+)\".*\"sequence\":([0-9]+).*\"words\":([0-9]+) ]]
            id=${BASH_REMATCH[1]} sequence=${BASH_REMATCH[2]} words=${BASH_REMATCH[3]}
            listed=$((listed + 1))
            say "{\"type\":\"TextListed\",\"causationid\":\"$id\",\"data\":{\"place\":$listed,\"words\":$words}}"
            say "{\"bridge\":\"ack\",\"sequence\":$sequence}"
            ;;
    esac
done
