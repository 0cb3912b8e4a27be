"""The documents of the repository lead somewhere: links, headings and pictures are there, pictures are described."""
import pathlib
import re
import subprocess
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")
OWN = ("http:", "https:", "mailto:", "command:", "sample:")  # the guide's last two are checked by tst_guide


def documents():
    # As the working tree has them: new ones too, without what builds leave behind.
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    names = listed.stdout.split() if listed.returncode == 0 else []
    return [ROOT / name for name in names] or [path for path in ROOT.rglob("*.md") if "build" not in path.relative_to(ROOT).parts]


def prose(path):
    """Without code, where brackets are not links."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = "\n".join("" if line.startswith("    ") else line for line in text.split("\n"))
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    found = set()
    for heading in re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("*", "").replace("`", "").strip().lower()
        found.add("".join(c if c.isalnum() or c in "-_" else "-" if c == " " else "" for c in text))
    return found


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        checked, wrong = 0, []
        for path in documents():
            for _, _, address in LINK.findall(prose(path)):
                if address.startswith(OWN):
                    continue
                checked += 1
                file, _, heading = urllib.parse.unquote(address).partition("#")
                target = path.parent / file if file else path
                if not target.exists():
                    wrong.append(f"{path.relative_to(ROOT)}: there is no {file}")
                elif heading and heading not in anchors(target):
                    wrong.append(f"{path.relative_to(ROOT)}: {file or path.name} has no heading #{heading}")
        self.assertEqual(wrong, [])
        self.assertGreater(checked, 100)

    def test_a_missing_file_and_a_missing_heading_are_found(self):
        self.assertEqual(LINK.findall("see [a [b] c](x.md#one) and ![p](y.png)"), [("", "a [b] c", "x.md#one"), ("!", "p", "y.png")])
        self.assertIn("how-does-the-training-do-health-alt7", anchors(ROOT / "resources/guide/whole-runs.md"))
        self.assertNotIn("how-does-it-do", anchors(ROOT / "resources/guide/whole-runs.md"))


class FrontPage(unittest.TestCase):
    def test_it_is_short_and_its_pictures_are_described_and_small(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertLessEqual(len(text.split()), 1000)
        pictures = {address: description for picture, description, address in LINK.findall(text) if picture}
        self.assertEqual(set(pictures), {"resources/screenshot.png", "resources/stepping.png"})
        for address, description in pictures.items():
            self.assertGreaterEqual(len(description), 20, address)
            self.assertLess((ROOT / address).stat().st_size, 3_000_000, address)

    def test_every_folder_says_what_is_in_it(self):
        folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in ("build", "shared") and path.name[0] != "."]
        self.assertGreaterEqual(len(folders), 7)
        for folder in folders:
            self.assertTrue((folder / "README.md").exists(), folder.name)


if __name__ == "__main__":
    unittest.main()
