"""The window speaks one language: its texts are plain literals, and no code looks for a translation."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRANSLATING = re.compile(r"\btr\(|\bQCoreApplication::translate\(|\bQ_DECLARE_TR_FUNCTIONS\b|\bQT_TR(?:ANSLATE)?_NOOP\b")


class WindowTexts(unittest.TestCase):
    def test_no_text_is_looked_up_as_a_translation(self):
        wrong = []
        for folder in ("app", "inspector", "plots"):
            files = [file for ending in ("h", "cpp") for file in sorted((ROOT / folder).glob(f"**/*.{ending}"))]
            self.assertGreater(len(files), 30, folder)
            for file in files:
                lines = file.read_text(encoding="utf-8").splitlines()
                wrong += [f"{file.relative_to(ROOT)}:{i}: {line.strip()}" for i, line in enumerate(lines, 1) if TRANSLATING.search(line)]
        self.assertEqual(wrong, [])

    def test_what_translates_is_recognised(self):
        for code in ('label->setText(tr("Ops"));', 'QObject::tr("Ops")', 'QCoreApplication::translate("Tape", text)'):
            self.assertTrue(TRANSLATING.search(code), code)
        for code in ("text.substr(0, 3)", "painter.translate(at)", 'name == "tr"', "endsWith(str(name))"):
            self.assertFalse(TRANSLATING.search(code), code)


if __name__ == "__main__":
    unittest.main()
