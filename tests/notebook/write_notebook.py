"""Writes a notebook of many kinds of content to standard output, as Jupyter's nbformat does."""
import io
import sys

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

cells = [
    new_markdown_cell("# Über ∂f/∂x 🎞\n\nüñí \u2028 separator \u00a0 nbsp \x7f\n",
                      attachments={"a b.png": {"image/png": "aGVsbG8=\n"}, "t": {"text/plain": "one\ntwo"}}),
    new_code_cell("import math\nprint('a\\tb')\r\nx\x0cy\x1cz\x85end", execution_count=3,
                  metadata={"collapsed": False, "tags": ["hide", "é"], "f": 1e-07, "jupyter": {}},
                  outputs=[
                      new_output("stream", name="stdout", text="line 1\n\x1b[31mred\x1b[0m\nlast"),
                      new_output("stream", name="stderr", text=""),
                      new_output("display_data", {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure>"]},
                                 metadata={"image/png": {"width": 480.5, "height": 1e16}, "needs": None}),
                      new_output("execute_result",
                                 {"text/html": "<b>\n1</b>", "application/json": {"a": [1, 2.0, -0.0, 1e300, 1e-5, 0.1, 123456789.123]},
                                  "application/vnd.jupyter.widget-view+json": {"model_id": "ab", "version_major": 2},
                                  "image/svg+xml": "<svg>\n</svg>", "text/latex": "$x$\n"}, execution_count=3),
                      new_output("error", ename="ValueError", evalue="bad \"quote\" \\ slash /",
                                 traceback=["\x1b[0;31m---\x1b[0m", "line\nline"]),
                  ]),
    new_code_cell(""),
    new_raw_cell("raw <text>", metadata={"format": "text/restructuredtext"}),
    new_code_cell("last()"),
]
notebook = new_notebook(cells=cells, metadata={
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "version": "3.11.2", "codemirror_mode": {"name": "ipython", "version": 3}},
    "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"é": {"model_module_version": "1.5.0", "value": 3.0, "big": 2**70}},
                                                              "version_major": 2}},
    "zero": 0.0, "empty": {}, "nothing": [], "nested": [[], {}, [[1]]],
    "floats": [1.0, 1e22, 1e16, 123456789012345680.0, 1e15, 0.0001, 0.00001],
})
out = io.StringIO()
nbformat.write(notebook, out)
sys.stdout.buffer.write(out.getvalue().encode())
