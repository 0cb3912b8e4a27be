#!/usr/bin/env python3
"""Records where KaTeX in Chromium puts the glyphs and rules of formulas.txt: record_positions.py > positions.json

Needs the Debian packages chromium, libjs-katex and fonts-katex. The unit is a thousandth of the formula's em; x counts
from the formula's left end, y downwards from its first baseline. The line of displayed formulas is 40 em wide.
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
<style>
  body { margin: 50px; width: 4000px; font-size: 100px; }
  .katex { font-size: 100px !important; }
</style>
<div id="place"></div>
<script src="file://KATEX/katex.min.js"></script>
<script>
const formulas = FORMULAS;
const place = document.getElementById("place");
const pen = document.createElement("canvas").getContext("2d");
const ascents = {};
function ascent(style) {
  const key = style.fontStyle + " " + style.fontWeight + " " + style.fontSize + " " + style.fontFamily;
  if (!(key in ascents)) {
    pen.font = key;
    ascents[key] = pen.measureText("x").fontBoundingBoxAscent;
  }
  return ascents[key];
}
const thousandths = (value) => Math.round(value * 10);
function measured([display, tex]) {
  place.innerHTML = katex.renderToString(tex, {displayMode: display, output: "html", strict: "ignore"});
  const root = place.querySelector(".katex-html");
  const origin = document.createElement("span");
  origin.style.cssText = "display: inline-block; width: 0; height: 0";
  root.insertBefore(origin, root.firstChild);
  const zero = origin.getBoundingClientRect();
  const glyphs = [], rules = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const style = getComputedStyle(node.parentElement);
    if (style.color === "rgba(0, 0, 0, 0)") continue;
    let offset = 0;
    for (const letter of node.data) {
      const range = document.createRange();
      range.setStart(node, offset);
      range.setEnd(node, offset += letter.length);
      const box = range.getClientRects()[0];
      if (!box || /[\\s\\u200b\\u00a0]/.test(letter)) continue;
      glyphs.push([letter, thousandths(box.left - zero.left),
                   thousandths(box.top + Math.round(ascent(style)) - zero.bottom)]);
    }
  }
  const lines = ".frac-line, .overline-line, .underline-line, .hline, .hdashline, .rule, .vertical-separator, svg";
  for (const line of root.querySelectorAll(lines)) {
    const box = line.getBoundingClientRect();
    if (!box.width || !box.height || getComputedStyle(line).color === "rgba(0, 0, 0, 0)") continue;
    rules.push([box.left - zero.left, box.top - zero.bottom, box.width, box.height].map(thousandths));
  }
  return {tex, display, glyphs, rules};
}
(async () => {
  place.innerHTML = formulas.map(([d, t]) => katex.renderToString(t, {displayMode: d, output: "html", strict: "ignore"})).join("");
  await Promise.all([...document.fonts].map((font) => font.load()));
  const result = formulas.map(measured);
  document.body.textContent = ["BEG", "IN"].join("") + JSON.stringify(result) + "END";
})().catch((error) => { document.title = String(error); });
</script>
"""


def read_formulas(path):
    lines = [line for line in path.read_text().splitlines() if line]
    return [[line.startswith("d "), line[2:]] for line in lines]


def main():
    formulas = read_formulas(FOLDER / "formulas.txt")
    page = PAGE.replace("KATEX", str(KATEX)).replace("FORMULAS", json.dumps(formulas).replace("</", "<\\/"))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        path.write_text(page)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                   f"--user-data-dir={folder}/profile", "--virtual-time-budget=60000", "--dump-dom", path.as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    found = re.search("BEGIN(.*)END", shown, re.S)
    if found is None:
        sys.exit("Chromium measured nothing:\n" + shown[:300])
    rows = json.loads(html.unescape(found.group(1)))
    print("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "\n]")


if __name__ == "__main__":
    main()
