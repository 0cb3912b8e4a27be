"""Panels know nothing of one another: what several of them show is in inspector/panels itself, in inspector/ui or in inspector/model."""
import collections
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PANELS = ROOT / "inspector" / "panels"


def sources(folder):
    return [file for ending in ("h", "cpp") for file in sorted(folder.glob(f"**/*.{ending}"))]


def includes_of_panels(file):
    """The panels' folders from which a file includes something."""
    return re.findall(r'^ *# *include "inspector/panels/(\w+)/', file.read_text(encoding="utf-8"), re.MULTILINE)


class Panels(unittest.TestCase):
    def test_no_panel_includes_another(self):
        wrong, seen = [], collections.Counter()
        for file in sources(PANELS):
            own = file.relative_to(PANELS).parts[:-1]  # empty for what panels share, which includes none of them
            for included in includes_of_panels(file):
                seen[included] += 1
                if own[:1] != (included,):
                    wrong.append(f"{file.relative_to(ROOT)} includes inspector/panels/{included}")
        self.assertEqual(wrong, [])
        folders = sorted(folder.name for folder in PANELS.iterdir() if folder.is_dir())
        self.assertEqual(sorted(seen), folders)  # something was read of each: its view includes its own header
        self.assertGreater(len(folders), 10)

    def test_what_panels_are_made_of_includes_none_of_them(self):
        for folder in ("inspector/model", "inspector/ui", "plots"):
            files = sources(ROOT / folder)
            self.assertGreater(len(files), 10, folder)
            self.assertEqual([str(file.relative_to(ROOT)) for file in files if includes_of_panels(file)], [])


if __name__ == "__main__":
    unittest.main()
