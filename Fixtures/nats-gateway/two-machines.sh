#!/usr/bin/env bash
# Two event bridges on this machine, as if on two, with a broker between them: boxes are ordered in berlin and provided
# in paris. Needs Swift, nats-server and libnats-dev. Ends by itself when berlin knows what became of the orders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
package=Fixtures/nats-gateway
server=$(PATH=$PATH:/usr/sbin command -v nats-server) || { echo "nats-server is not installed" >&2; exit 69; }

swift build --product supervisor
swift build --product provisioning-worker
swift build --package-path "$package" --scratch-path .build-nats --product nats-gateway
supervisor=.build/debug/supervisor

work=.build-nats/two-machines
rm -rf "$work"
mkdir "$work"
processes=()
end() {
    kill "${processes[@]}" 2>/dev/null || true
    wait
}
trap end EXIT

printf 'listen: "127.0.0.1:14222"\njetstream { store_dir: "%s/store" }\n' "$PWD/$work" >"$work/server.conf"
"$server" --config "$work/server.conf" 2>"$work/server.txt" &
processes+=($!)
"$supervisor" run "$package/two-machines/paris.json" >"$work/paris.txt" 2>&1 &
processes+=($!)
"$supervisor" run "$package/two-machines/berlin.json" --input "$package/two-machines/orders.jsonl" >"$work/berlin.txt" 2>&1 &
processes+=($!)

orders=$(wc -l <"$package/two-machines/orders.jsonl")
for ((second = 0; second < 60; second++)); do
    answers=$(grep -cE 'BoxProvision' "$work/berlin.txt" || true)
    if ((answers >= orders)); then break; fi
    sleep 1
done
for node in berlin paris; do printf -- '--- %s\n' "$node"; cat "$work/$node.txt"; done
if ((answers < orders)); then echo "only $answers of $orders orders were answered" >&2; exit 1; fi
echo "ordered in berlin, provided in paris"
