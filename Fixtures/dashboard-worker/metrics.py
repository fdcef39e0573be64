"""The text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats

What `supervisor metrics` shows as well has the same name here.
"""

import asyncio
import os
import threading

TOTALS = (
    ("offered", "Events that were to be sent."),
    ("handled", "Events whose handlers have all returned."),
    ("refused", "Events that could not be handled."),
    ("dropped", "Events that an overflow policy has dropped."),
    ("deadLettered", "Events that were given up because the worker crashed over them."),
    ("lost", "Events that were accepted and are known to be gone."),
)


def text(picture, listeners):
    """All samples of this moment."""
    lines = []

    def family(name, kind, about, samples):
        # Metrics that any process may have get the names that Prometheus has for them.
        name = name if name.startswith("process_") else f"event_bridge_{name}"
        lines.extend((f"# HELP {name} {about}", f"# TYPE {name} {kind}"))
        for labels, value in samples:
            shown = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
            lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")

    report = picture.report or {}
    workers = report.get("workers", [])

    def of_each(value):
        return [({"worker": worker["name"]}, value(worker)) for worker in workers]

    if report:
        family("uptime_seconds", "gauge", "Time since the start of the supervisor.",
               [({}, report["uptimeMilliseconds"] / 1000)])
        family("clients", "gauge", "Processes that are attached.", [({}, len(report["clients"]))])
    family("worker_ready", "gauge", "Whether the worker is ready: 1 if so.",
           of_each(lambda it: int(it["state"] == "ready")))
    family("worker_outbox_events", "gauge", "Events for the worker that it has not acknowledged.",
           of_each(lambda it: it["sent"]["waiting"]))
    family("worker_outbox_bytes", "gauge", "Bytes of its outbox that unacknowledged events take.",
           of_each(lambda it: it["sent"]["waitingBytes"]))
    family("worker_starts_total", "counter", "Starts of the worker.", of_each(lambda it: it["starts"]))
    family("worker_restarts_total", "counter", "Starts of the worker without a request.",
           of_each(lambda it: it["restarts"]))
    family("worker_violations_total", "counter", "Ends of the worker for breaking the protocol or a limit.",
           of_each(lambda it: it["violations"]))
    for key, about in TOTALS:
        name = "dead_lettered" if key == "deadLettered" else key
        samples = [
            ({"worker": worker["name"], "direction": direction}, worker[books][key])
            for worker in workers
            for direction, books in (("to", "sent"), ("from", "received"))
        ]
        family(f"worker_events_{name}_total", "counter", about, samples)
    family("dashboard_host_reachable", "gauge", "Whether the host answers at its control socket: 1 if so.",
           [({}, int(picture.report is not None))])
    family("dashboard_events_total", "counter", "Events that have passed, by name and origin; of a flood an estimate.",
           [({"type": name, "source": source}, count) for source, name, count, _ in picture.published.shown()])
    family("dashboard_missed_events_total", "counter", "Events that the dashboard was too slow for.",
           [({}, picture.gaps)])
    family("dashboard_dead_letters_total", "counter", "Dead letters that the dashboard has seen, by worker.",
           [({"worker": worker}, count) for worker, count in picture.letter_counts.items()])
    family("dashboard_listeners", "gauge", "Open streams of server-sent events.", [({}, len(listeners))])
    family("dashboard_slow_listeners_total", "counter", "Streams that were closed as their readers were too slow.",
           [({}, listeners.slow)])
    family("dashboard_tasks", "gauge", "What the dashboard does at once, this answer among it.",
           [({}, len(asyncio.all_tasks()))])
    family("dashboard_threads", "gauge", "Threads of the dashboard.", [({}, threading.active_count())])
    family("process_open_fds", "gauge", "Open descriptors of the dashboard.", [({}, len(os.listdir("/dev/fd")) - 1)])
    family("process_start_time_seconds", "gauge", "Start of the dashboard, since 1970.", [({}, picture.started)])
    return "\n".join(lines) + "\n"


def escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
