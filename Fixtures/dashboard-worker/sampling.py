"""Which events the dashboard takes: all that pass, or a sample of a flood.

Events that the host does not have to send to the dashboard cost the host nothing. To send all of 50,000 events a second
would cost the host more than to carry them between the workers.
"""

import time

# This many events within a quarter of a second are a flood.
MOST = 250
EVERYTHING = "*"
# Seconds at most from one look at a flood to the next: each change of interest costs time in a host with many workers.
LONGEST_PAUSE = 16


class Sampling:
    """Wants all events, and gives up the interest for some seconds when too many have come."""

    def __init__(self, bridge, most):
        self.bridge, self.most = bridge, most
        self.is_open, self.opened = True, time.monotonic()
        self.taken = self.left = 0
        self.pause = 1
        self.looked = None

    async def takes(self):
        """Whether an event that has come counts; events on their way when the look ended do not."""
        if not self.is_open:
            return False
        self.taken += 1
        if self.taken >= self.most:
            self.is_open, self.left = False, self.pause
            self.looked = max(time.monotonic() - self.opened, 0.001)
            self.pause = min(2 * self.pause, LONGEST_PAUSE)
            await self.bridge.change_interest([], [EVERYTHING])
        return True

    def turn_tick(self):
        """Ends a quarter of a second."""
        if self.is_open:
            self.taken = 0

    async def turn_second(self):
        """Ends a second; returns how many seconds the last look at a flood took, None if all of the second was seen."""
        if self.is_open:
            self.pause, self.looked = 1, None
        else:
            self.left -= 1
            if self.left == 0:
                self.is_open, self.taken = True, 0
                await self.bridge.change_interest([EVERYTHING], [])
        self.opened = time.monotonic()
        return self.looked
