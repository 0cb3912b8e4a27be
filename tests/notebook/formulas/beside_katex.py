#!/usr/bin/env python3
"""Puts the formulas that tst_formula_pictures painted beside KaTeX's own: beside_katex.py BUILD_FOLDER OUT.png

Needs the Debian packages chromium, libjs-katex and fonts-katex.
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
KATEX = pathlib.Path("/usr/share/javascript/katex")

PAGE = """<!DOCTYPE html><meta charset="utf-8">
<link rel="stylesheet" href="file://KATEX/katex.css">
<script src="file://KATEX/katex.min.js"></script>
<style>
  body { margin: 8px; columns: 2; font: 12px sans-serif; }
  table { border-collapse: collapse; width: 100%; }
  td { border-bottom: 1px solid #ccc; padding: 4px; }
  .tex { font: 9px monospace; width: 30%; word-break: break-all; }
  .katex-display { margin: 0; text-align: left; }
  .katex-display > .katex { text-align: left; }
</style>
<table><tr><th>TeX<th>Tapedeck<th>KaTeX in Chromium</tr>ROWS</table>
<script>
for (const place of document.querySelectorAll("[data-tex]"))
  katex.render(place.dataset.tex, place, {displayMode: place.dataset.display === "1", strict: "ignore"});
</script>
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pictures = pathlib.Path(sys.argv[1]).resolve() / "pictures"
    formulas = json.loads((FOLDER / "positions.json").read_text())
    numbers = sorted(int(re.fullmatch(r"formula-(\d+)", path.stem)[1]) for path in pictures.glob("formula-*.png"))
    rows = []
    for number in numbers:
        formula = formulas[number - 1]
        tex = html.escape(formula["tex"], quote=True)
        rows.append(f'<tr><td class="tex">{tex}<td><img src="file://{pictures}/formula-{number}.png">'
                    f'<td data-tex="{tex}" data-display="{int(formula["display"])}"></tr>')
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text(PAGE.replace("KATEX/", f"{KATEX}/").replace("ROWS", "".join(rows)))
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                        f"--user-data-dir={folder}/profile", "--window-size=1700,1500", "--hide-scrollbars",
                        f"--screenshot={pathlib.Path(sys.argv[2]).resolve()}", page.as_uri()],
                       check=True, timeout=120, capture_output=True)


if __name__ == "__main__":
    main()
