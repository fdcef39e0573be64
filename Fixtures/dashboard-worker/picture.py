"""What the page shows: everything that is known of the host, its workers and their events."""

import collections
import json
import time

# Reports of the bridge about itself come only if they are asked for by name.
REPORTS = {
    "WorkerReady": "ready: process {pid}, start {start}",
    "WorkerExited": "exited: {reason}; {next}",
    "WorkerGaveUp": "gave up: {reason}",
    "WorkerUnresponsive": "unresponsive: process {pid}, silent for {silentMilliseconds} ms",
    "WorkerReplaced": "replaced: process {newPID}",
    "WorkerNotReplaced": "not replaced: {reason}",
    "WorkerBoxIncomplete": "box incomplete: {missing}",
    "EventsLost": "events lost: {reason}",
    "EventRefused": "refused {event} ({id}): {reason}",
    "EventDeadLettered": "dead letter {letter}: {event} ({id}), {cause}",
    "DeadLettersFull": "gets no more events: {letters} dead letters",
    "DeadLetterEvicted": "a dead letter was evicted",
}

TAIL, HISTORY, CAUSES = 200, 50, 4096
# How many names and flows are told apart; events of further ones count only in the sum.
FLOWS = 500
# How many events the page gets at a time, and how many events and reports together.
NEWS, MOST_NEWS = 50, 200
LONGEST_TEXT = 300
# The host's name as the source of an event; no worker and no client has it.
HOST_NAME = "host"
# What the page shows of the host itself.
HOST = ("pid", "library", "uptimeMilliseconds", "isStopping", "residentBytes")


class Picture:
    """The state behind the page and the metrics. Everything in it has a bound."""

    def __init__(self, name):
        self.name = name
        self.report, self.trouble = None, "the host was not asked yet"
        self.started = time.time()
        self.events = self.gaps = 0
        # Whether this second's events are the sample of a flood, and how many events of each origin have come in it.
        self.is_sampled, self.taken = False, collections.Counter()
        # By worker, how many events it had published when the last second was over.
        self.offered = {}
        # By origin, what a look at a flood has shown.
        self.shares = {}
        # (source, name) -> how many came from there; (name, worker) -> how many the worker has answered with another.
        self.published, self.handled = self.flows = Flows(0), Flows(1)
        self.letter_counts = collections.Counter()
        self.tail = collections.deque(maxlen=TAIL)
        # The oldest dead letters of the host, and whether they are all that it has.
        self.letters, self.has_all_letters = [], True
        self.histories = {}
        self.names_by_id = collections.OrderedDict()
        # What the page gets next, how many events are left out of it, and how many reports were ever left out.
        self.news, self.left_out, self.unshown_reports = collections.deque(), 0, 0

    # MARK: What comes

    @staticmethod
    def is_passing(message):
        """Whether the message is an event that passes between other processes, perhaps with the name of a report."""
        if "bridge" in message:
            return False
        # A worker's own process reports what it refuses. All other reports are the host's.
        name = message["type"]
        return name not in REPORTS or (name != "EventRefused" and message["source"] != HOST_NAME)

    def told(self, message, size):
        """Notes what the host has sent: an event, a gap, a refusal, or something that needs no attention."""
        kind = message.get("bridge")
        if self.is_passing(message):
            self._passed(message, size)
        elif kind is None:
            self._reported(message)
        elif kind == "gap":
            self.gaps += message["count"]
        elif kind == "refuse":
            self._note(self.name, f"its event was refused: {message.get('text')}", None)

    def reported(self, report, letters, has_all_letters):
        """Notes the state and the dead letters that the host has reported."""
        self.report, self.trouble = report, None
        self.letters, self.has_all_letters = [shown_letter(letter) for letter in letters], has_all_letters
        names = {worker["name"] for worker in report["workers"]}
        for name in [name for name in self.histories if name not in names]:
            del self.histories[name]

    def troubled(self, why):
        """Notes why the state of the host is not known."""
        self.report, self.trouble = None, why
        self.letters, self.has_all_letters = [], True

    def _passed(self, event, size):
        self.events += 1
        name, source = event["type"], event["source"]
        self.taken[source] += 1
        self.published.add((source, name))
        cause = self.names_by_id.get(event.get("causationid"))
        if cause is not None:
            self.handled.add((cause, source))
        self.names_by_id[event["id"]] = name
        if len(self.names_by_id) > CAUSES:
            self.names_by_id.popitem(last=False)
        shown = {
            "id": event["id"],
            "type": name,
            "source": source,
            "time": event["time"],
            "attempt": event.get("attempt", 1),
            "data": shortened(json.dumps(event.get("data"))) if size < 8192 else f"{size} bytes",
        }
        self.tail.append(shown)
        self._tell({"event": shown})

    def _reported(self, event):
        # Anything may be the data of a worker's event, and of an event of the host's input.
        name, data = event["type"], event.get("data")
        if not isinstance(data, dict):
            data = {}
        worker = data.get("worker")
        worker = shortened(worker) if isinstance(worker, str) else ""
        if name == "EventDeadLettered" and (worker in self.letter_counts or len(self.letter_counts) < FLOWS):
            self.letter_counts[worker] += 1
        self._note(worker, REPORTS[name].format_map(Fields(data)), event["time"])

    def _note(self, worker, text, moment):
        entry = {"worker": worker, "text": shortened(text), "time": moment}
        if worker not in self.histories and len(self.histories) >= FLOWS:
            return
        self.histories.setdefault(worker, collections.deque(maxlen=HISTORY)).append(entry)
        self._tell({"history": entry})

    def _tell(self, item):
        if "event" in item and len(self.news) >= NEWS:
            self.left_out += 1
            return
        self.news.append(item)
        # A worker may report as many refusals as it likes. The newest reports stay.
        if len(self.news) > MOST_NEWS:
            if "event" in self.news.popleft():
                self.left_out += 1
            else:
                self.unshown_reports += 1

    # MARK: What is shown

    def take_news(self):
        """What has happened since the last call; None for nothing."""
        if not self.news:
            return None
        news = {"items": list(self.news), "leftOut": self.left_out}
        self.news.clear()
        self.left_out = 0
        return news

    def turn_second(self, looked):
        """Ends about a second; `looked` is how many seconds the last look at a flood took, or None without a flood.

        Rates are those of the time since the last call.
        """
        self.is_sampled = looked is not None
        published = {worker["name"]: worker["received"]["offered"] for worker in (self.report or {}).get("workers", [])}
        if not self.is_sampled:
            self.shares = {}
        else:
            for source, taken in self.taken.items():
                self.shares[source] = Share(taken / looked, *(flows.shares(source, taken) for flows in self.flows))
            for source, share in self.shares.items():
                self._estimate(source, share, published.get(source))
        # If the host has not answered in this second, its next answer counts for this second, too.
        self.offered.update(published)
        self.taken.clear()
        for flows in self.flows:
            flows.measure()

    def _estimate(self, source, share, known):
        """Counts a source's events that were not taken: as many as the host says, or as the last look's rate gives."""
        before = self.offered.get(source)
        if known is None or before is None or known < before:
            events = share.rate * self.published.elapsed
        else:
            events = known - before
        left = events - self.taken[source]
        if left > 0:
            self.events += round(left)
            self.published.add_shares(share.published, left)
            self.handled.add_shares(share.handled, left)

    def now(self):
        """The state as the page draws it, without the tail."""
        report = self.report or {}
        return {
            "trouble": self.trouble,
            "host": {key: report.get(key) for key in HOST},
            "workers": [shown_worker(worker, self.letter_counts) for worker in report.get("workers", [])],
            "clients": report.get("clients", []),
            "published": self.published.shown(),
            "handled": self.handled.shown(),
            "letters": self.letters,
            "hasAllLetters": self.has_all_letters,
            "events": self.events,
            "gaps": self.gaps,
            "unshownReports": self.unshown_reports,
            "isSampled": self.is_sampled,
        }

    def whole(self):
        """The state for a page that has just been opened."""
        histories = {name: list(entries) for name, entries in self.histories.items()}
        return dict(self.now(), tail=list(self.tail), histories=histories)


Share = collections.namedtuple("Share", "rate published handled")


class Flows:
    """Counts of pairs, and how fast each grows."""

    def __init__(self, place):
        # The index, in a pair, of the worker that has published.
        self.place = place
        self.counts = {}
        self.before, self.rates, self.measured = {}, {}, time.monotonic()

    def add(self, pair):
        if pair in self.counts or len(self.counts) < FLOWS:
            self.counts[pair] = self.counts.get(pair, 0) + 1

    def shares(self, source, taken):
        """For each pair of a source, its share of the source's events that were taken since the last measurement."""
        own = [pair for pair in self.counts if pair[self.place] == source]
        return {pair: (self.counts[pair] - self.before.get(pair, 0)) / taken for pair in own}

    def add_shares(self, shares, events):
        for pair, share in shares.items():
            self.counts[pair] += round(share * events)

    @property
    def elapsed(self):
        """Seconds since the last measurement."""
        return max(time.monotonic() - self.measured, 0.001)

    def measure(self):
        elapsed = self.elapsed
        self.rates = {pair: (count - self.before.get(pair, 0)) / elapsed for pair, count in self.counts.items()}
        self.before, self.measured = dict(self.counts), time.monotonic()

    def shown(self):
        """Each as `[from, to, count, events a second]`."""
        return [[*pair, count, round(self.rates.get(pair, 0), 1)] for pair, count in self.counts.items()]


class Fields(dict):
    """The fields of an event, of which some may be missing."""

    def __missing__(self, key):
        return "?"


def shortened(text):
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"


def shown_letter(letter):
    """What the page shows of a dead letter."""
    shown = {key: letter[key] for key in ("letter", "event", "id", "worker", "cause", "attempts")}
    shown["milliseconds"] = letter["nanosecondsSinceEpoch"] // 1_000_000
    shown["reasons"] = shortened("; ".join(letter["reasons"]))
    return shown


def shown_worker(worker, letters):
    """What the page shows of a worker: its report without the histogram."""
    shown = {key: value for key, value in worker.items() if key != "settling"}
    shown["deadLetters"] = letters[worker["name"]]
    return shown
