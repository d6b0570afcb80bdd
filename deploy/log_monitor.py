"""Watches a log of surveys: every state that it signs must go on from the last one.  Run it from time to time.

python deploy/log_monitor.py https://collect.example.org/log KEY STATE_FILE
"""

import sys
from pathlib import Path

from rrcollect import HttpLog
from rrcollect.publish.log import LogKey, LogReader, read_checkpoint

address, key, file = sys.argv[1:]
log, fetch, last = LogKey.read(key), HttpLog(address), Path(file)
note = fetch("checkpoint").decode()
state, _ = read_checkpoint(note, log)  # signed by this log
if last.exists():
    LogReader(fetch).check(read_checkpoint(last.read_text(), log)[0], state)  # SplitLog: two histories, both signed
entries = list(LogReader(fetch).entries(state))  # they lead to the signed root
last.write_text(note)
sys.stdout.write(
    f"{state.size} entries of {state.origin}, {sum(b'digest' in one for one in entries)} of them surveys\n"
)
