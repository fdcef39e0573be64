"""A hostile worker, for one session: `worker.py DIRECTORY`, started by a supervisor.

The worker imports little, because it is started again and again.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True

from sessions import next_session  # noqa: E402
from wire import Link  # noqa: E402

next_session(sys.argv[1], "worker").run(Link.inherited())
