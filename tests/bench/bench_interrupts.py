"""How late an interrupt ends an op that takes long: one JSON line for each op, with the latest of several interrupts.

    python bench_interrupts.py [NAME…]

Each op runs once to its end, and then again and again with an interrupt at another share of that time.
"""
import json
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python" / "helpers"))
from long_calls import LONG_CALLS

SHARES = (.05, .2, .35, .5, .65, .8, .95)


class Interrupted(Exception):
    pass


def raise_interrupted(*_):
    raise Interrupted


def lateness(call, delay):
    """Seconds from the interrupt to its effect; None where the op had ended."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(delay, send)
    try:
        timer.start()
        call()
        timer.cancel()
        timer.join()
        return None
    except Interrupted:
        return time.perf_counter() - sent[0]


def main():
    signal.signal(signal.SIGINT, raise_interrupted)
    for name in sys.argv[1:] or LONG_CALLS:
        call = LONG_CALLS[name]()
        start = time.perf_counter()
        call()
        whole = time.perf_counter() - start
        late = [seconds for share in SHARES if (seconds := lateness(call, share * whole)) is not None]
        print(json.dumps(dict(bench="interrupts", op=name, seconds=round(whole, 3), interrupts=len(late),
                              latest_ms=round(1000 * max(late), 1) if late else None)), flush=True)


if __name__ == "__main__":
    main()
