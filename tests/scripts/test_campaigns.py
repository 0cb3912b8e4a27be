"""The table of campaigns in tests/README.md is what the tests declare: names, files, sizes and what a sample leaves out."""
import ast
import os
import pathlib
import re
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
HELPERS = TESTS / "python/helpers"
DECLARES_NONE = {"campaign.h", "tst_campaign.cpp", "campaign.py", "test_campaigns.py"}
# A declaration of C++: Campaign name{"…", "…", 3, 1'000, "…"}, also without the name, or the list alone as an argument.
STRING = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
NUMBER = r"([\d']+)"
CPP = re.compile(rf"[{{(]\s*{STRING},\s*{STRING},\s*{NUMBER},\s*{NUMBER},\s*{STRING}[}})]")


def text_of(literals):
    return "".join(ast.literal_eval(literal) for literal in re.findall(r'"(?:[^"\\]|\\.)*"', literals))


def in_cpp(source):
    for name, cases, sample, whole, left_out in CPP.findall(source) if "Campaign" in source else ():
        yield text_of(name), text_of(cases), int(sample.replace("'", "")), int(whole.replace("'", "")), text_of(left_out)


def in_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Campaign":
            yield tuple(ast.literal_eval(argument) for argument in node.args)


def declared():
    """(file, name, cases, sample, whole, left out) of each campaign of the tests."""
    for ending, read in (("cpp", in_cpp), ("h", in_cpp), ("py", in_python)):
        for path in sorted(TESTS.rglob(f"*.{ending}")):
            if path.name not in DECLARES_NONE:
                source = path.read_text(encoding="utf-8")
                for campaign in read(source) if "Campaign" in source else ():
                    yield (path.relative_to(TESTS).as_posix(), *campaign)


def row(file, name, cases, sample, whole, left_out):
    """The cells of the table that a declaration says; what it does is said between the second and the third."""
    return f"`{name}`", f"[{file}]({file})", f"{sample:,} of {whole:,} {cases}", left_out


class Table(unittest.TestCase):
    def test_each_campaign_has_its_row_and_each_row_its_campaign(self):
        table = (TESTS / "README.md").read_text(encoding="utf-8").partition("| campaign |")[2]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")]
        self.assertTrue(all(len(cells) == 5 and len(cells[2]) > 10 for cells in rows), "a row says what the campaign does")
        self.assertEqual(sorted((cells[0], cells[1], cells[3], cells[4]) for cells in rows), sorted(row(*each) for each in declared()))

    def test_names_are_unique_and_samples_are_a_part(self):
        campaigns = list(declared())
        names = [name for _, name, *_ in campaigns]
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertGreater(len(names), 15)
        for file, name, _, sample, whole, left_out in campaigns:
            with self.subTest(name):
                self.assertRegex(name, "^[a-z][a-z0-9_]*$")
                self.assertTrue(0 < sample < whole and left_out, file)

    def test_no_declaration_is_overlooked(self):
        """Whoever makes a Campaign does so with literals: a name is in the code as often as in the list."""
        for path in sorted(TESTS.rglob("*.cpp")) + sorted(TESTS.rglob("*.h")):
            if path.name not in DECLARES_NONE:
                source = path.read_text(encoding="utf-8")
                made = re.findall(r"\bCampaign(?: \w+)?\{(?!\})", source)
                self.assertGreaterEqual(len(list(in_cpp(source))), len(made), path)


class Samples(unittest.TestCase):
    """The helper of Python's tests, in processes of its own: it reads the environment once."""

    def run_with(self, program, **environment):
        kept = {name: value for name, value in os.environ.items() if name not in ("TAPEDECK_LONG", "TAPEDECK_SEED")}
        done = subprocess.run([sys.executable, "-B", "-c", "from campaign import Campaign\n" + program], text=True, capture_output=True,
                              timeout=60, check=True, env={**kept, "PYTHONPATH": str(HELPERS), **environment})
        return done.stdout.splitlines()

    def test_a_default_run_makes_the_sample_and_a_long_one_all(self):
        program = "c = Campaign('name', 'cases', 3, 1000, 'the rest'); print(c.count, len(c.seeds()), len(c.some(range(1000))))"
        said, counts = self.run_with(program, TAPEDECK_SEED="7")
        self.assertEqual(said, "name: 3 of 1,000 cases; left out: the rest (TAPEDECK_SEED=7 runs these again, TAPEDECK_LONG=1 all)")
        self.assertEqual(counts, "3 3 3")
        said, counts = self.run_with(program, TAPEDECK_SEED="7", TAPEDECK_LONG="1")
        self.assertEqual((said, counts), ("name: all 1,000 cases (TAPEDECK_SEED=7 runs these again)", "1000 1000 1000"))
        self.assertEqual(self.run_with(program, TAPEDECK_LONG="20")[1], "20000 20000 1000")

    def test_no_case_comes_again_before_each_has_come(self):
        program = "c = Campaign('name', 'cases', 3, 10, 'the rest')\nfor hand in range(4): print(*c.some(range(10)))"
        hands = [line.split() for line in self.run_with(program)[1:]]
        self.assertEqual([len(set(hand)) for hand in hands], [3] * 4)
        self.assertEqual(len(set(sum(hands, []))), 10)

    def test_a_sample_is_the_seeds_and_the_names(self):
        program = "c = Campaign({!r}, 'cases', 3, 1000, 'the rest'); print(*c.some(range(1000)), c.random().random(), c.random(1).random())"
        first = self.run_with(program.format("name"), TAPEDECK_SEED="7")[1]
        self.assertEqual(self.run_with(program.format("name"), TAPEDECK_SEED="7")[1], first)
        self.assertNotEqual(self.run_with(program.format("name"), TAPEDECK_SEED="8")[1], first)
        self.assertNotEqual(self.run_with(program.format("other"), TAPEDECK_SEED="7")[1], first)
        self.assertNotEqual(*first.split()[-2:])

    def test_what_a_test_starts_has_its_seed(self):
        program = "import subprocess, sys, campaign; print(campaign.SEED, flush=True)\n" \
                  "if len(sys.argv) == 1: subprocess.run([sys.executable, '-B', '-c', 'import campaign; print(campaign.SEED)'], check=True)"
        mine, childs = self.run_with(program)
        self.assertEqual(mine, childs)


if __name__ == "__main__":
    unittest.main()
