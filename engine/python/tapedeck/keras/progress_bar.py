"""Progress bars: one line that is rewritten, in a terminal and in a notebook; a line for each epoch where neither is."""
import shutil
import sys
import time

from tapedeck._core.public import public

_INTERVAL = 0.1  # seconds between two drawings
_BAR = 20  # letters
_NOTEBOOK_LINE = 120


def shows_progress(stream):
    """Whether a line of the stream can be rewritten: of a terminal, or of a notebook."""
    return bool(getattr(stream, "isatty", lambda: False)()) or type(stream).__module__.startswith("ipykernel")


def duration(seconds):
    """A duration in the two units that tell most: "1:02:03", "2:03", "17s"."""
    seconds = int(round(seconds))
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{seconds // 60}:{seconds % 60:02}" if seconds >= 60 else f"{seconds}s"


def per_step(seconds, unit="step"):
    """How long a step takes: "3s/step", "12ms/step", "250us/step"."""
    if seconds >= 1:
        return f"{seconds:.0f}s/{unit}"
    return f"{seconds * 1e3:.0f}ms/{unit}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/{unit}"


def metric_text(name, value):
    """A metric with four digits: "loss: 0.2500", "loss: 2.5000e-05"; an array in NumPy's way."""
    if isinstance(value, str) or getattr(value, "ndim", 0):
        return f"{name}: {value}"
    value = float(value)
    return f"{name}: {value:.4f}" if abs(value) > 1e-3 or value == 0 else f"{name}: {value:.4e}"


@public("keras.utils.Progbar")
class Progbar:
    """Shows how far something has come.

    target: the number of steps, None where it is not known; verbose: 0 for nothing, 1 for a bar, 2 for a line at the end. A bar is
    drawn at most ten times a second; where lines cannot be rewritten there is the line at the end alone. unit_name: what a step is.
    stateful_metrics: names of metrics that are shown as they are, while others are averaged over update()s.
    """

    def __init__(self, target, width=_BAR, verbose=1, interval=_INTERVAL, stateful_metrics=None, unit_name="step"):
        self.target, self.width, self.verbose, self.interval, self.unit_name = target, width, verbose, interval, unit_name
        self.stateful_metrics = stateful_metrics or ()
        self._values, self._shown, self._started, self._drawn, self._done = {}, 0, time.monotonic(), 0., False
        self._seen = 0
        self._live = verbose == 1 and shows_progress(sys.stdout)

    def due(self):
        """Whether update() would draw now."""
        return self._live and time.monotonic() - self._drawn >= self.interval

    def update(self, current, values=None, finalize=None):
        """Says that `current` steps are done. values: (name, value) of metrics; finalize: whether it is the end, None for at
        target."""
        self._take(current, values or ())
        final = finalize if finalize is not None else self.target is not None and current >= self.target
        if self.verbose == 0 or self._done or not (final or self.due()):
            return
        self._drawn = time.monotonic()
        if not self._live:
            if final:
                self._done = True
                print(self._line(current, True, False), flush=True)
            return
        line = self._fitting(current, final)
        sys.stdout.write("\r" + line + " " * max(self._shown - len(line), 0) + ("\n" if final else ""))
        sys.stdout.flush()
        self._shown, self._done = len(line), final

    def add(self, n, values=None):
        """Says that n more steps are done."""
        self.update(self._seen + n, values)

    def close(self):
        """Ends the current line, as an interrupt leaves it."""
        if self._live and self._shown and not self._done:
            self._done = True
            sys.stdout.write("\n")
            sys.stdout.flush()

    def _take(self, current, values):
        steps = max(current - self._seen, 1)
        for name, value in values:
            if name in self.stateful_metrics:
                self._values[name] = (value, None)
            else:
                total, count = self._values.get(name, (0., 0))
                self._values[name] = (total + float(value) * steps, count + steps)
        self._seen = current

    def _metrics(self):
        return [metric_text(name, value if count is None else value / count) for name, (value, count) in self._values.items()]

    def _line(self, current, final, bar):
        elapsed = time.monotonic() - self._started
        step = elapsed / current if current else 0.
        if self.target is not None:
            digits = len(str(self.target))
            parts = [f"{current:>{digits}}/{self.target}"]
        else:
            parts = [f"{current}/Unknown"]
        if bar and self.target:
            full = min(int(self.width * current / self.target), self.width)
            parts[0] += " " + "━" * full + "─" * (self.width - full)
        if self.verbose == 2:
            parts += [duration(elapsed), per_step(step, self.unit_name)]
        elif final or self.target is None:
            parts[0] += f" {duration(elapsed)} {per_step(step, self.unit_name)}"
        else:
            parts[0] += f" {duration(step * (self.target - current))} {per_step(step, self.unit_name)}"
        return " - ".join(parts + self._metrics())

    def _fitting(self, current, final):
        """The line, cut to what the terminal has: one that wraps could not be rewritten."""
        room = shutil.get_terminal_size((_NOTEBOOK_LINE, 24)).columns - 1 if sys.stdout.isatty() else _NOTEBOOK_LINE
        line = self._line(current, final, True)
        if len(line) > room:
            line = self._line(current, final, False)
        return line if final or len(line) <= room else line[:room - 1] + "…"
