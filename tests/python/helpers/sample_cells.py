"""What the tests of the samples share: a notebook's cells are run with some of its constants replaced, so that a run is short."""
import ast
import contextlib
import glob
import io
import json
import os
import re
import unittest
from unittest import mock

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "samples")
needs_data = unittest.skipUnless(glob.glob("/usr/share/datasets/fashion-mnist/*"),
                                 "Debian's package dataset-fashion-mnist is not installed")


class Run:
    """What the code cells of a sample did; each dictionary is by the cells' ids.

    names: what they defined.  printed: the text of each.  values: the value of each one's last expression, where it ends with one.
    figures: the list of matplotlib's figures that each showed.  curves: by name, the list of (step, value) of tf.summary.scalar.
    """

    def __init__(self):
        self.names, self.printed, self.values, self.figures, self.curves = {"__name__": "__main__"}, {}, {}, {}, {}

    def titles(self, cell):
        """The titles of a cell's figures: those above all of its axes, or above each."""
        return [figure._suptitle.get_text() if figure._suptitle else "; ".join(axis.get_title() for axis in figure.axes)
                for figure in self.figures[cell]]


def code_cells(sample, constants):
    """The sources of the sample's code cells by id. Each of `constants` replaces the value in the one line `NAME = ...`."""
    with open(os.path.join(SAMPLES, sample + ".ipynb"), encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    sources = {cell["id"]: "".join(cell["source"]).replace("%matplotlib inline", "")
               for cell in cells if cell["cell_type"] == "code"}
    for name, value in constants.items():
        line = re.compile(rf"^{name} = .*$", re.M)
        places = [cell for cell, source in sources.items() for _ in line.findall(source)]
        if len(places) != 1:
            raise ValueError(f"{sample}.ipynb: {name} is set {len(places)} times, not once")
        sources[places[0]] = line.sub(f"{name} = {value!r}", sources[places[0]])
    return sources


def run_sample(sample, **constants):
    """Runs all code cells of samples/SAMPLE.ipynb in order, with `constants` in place of the notebook's, and returns the Run.

    Where the environment's TAPEDECK_SAMPLE_PICTURES names a folder, the figures are written there as PNG files, to be looked at.
    """
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import tapedeck as tf
    run = Run()
    scalar = tf.summary.scalar

    def noted(name, data, step=None, *arguments, **named):
        run.curves.setdefault(name, []).append((None if step is None else int(step), float(data)))
        return scalar(name, data, step, *arguments, **named)

    for cell, source in code_cells(sample, constants).items():
        run.figures[cell] = shown = []

        def show(*_, **__):
            shown.extend(plt.figure(number) for number in plt.get_fignums())
            plt.close("all")

        tree, printed = ast.parse(source, cell), io.StringIO()
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with (mock.patch.object(plt, "show", show), mock.patch.object(tf.summary, "scalar", noted),
              contextlib.redirect_stdout(printed)):
            exec(compile(tree, cell, "exec"), run.names)
            if last is not None:
                run.values[cell] = eval(compile(ast.Expression(last.value), cell, "eval"), run.names)
            show()
        run.printed[cell] = printed.getvalue()
        write_pictures(sample, cell, shown)
    return run


def write_pictures(sample, cell, figures):
    folder = os.environ.get("TAPEDECK_SAMPLE_PICTURES")
    for number, figure in enumerate(figures if folder else []):
        figure.savefig(os.path.join(folder, f"{sample}-{cell}-{number}.png"), bbox_inches="tight", dpi=100)
