"""The engine's folders are a stack: each includes only itself and those below."""
import collections
import pathlib
import re
import unittest

ENGINE = pathlib.Path(__file__).resolve().parents[3] / "engine"
# Of the folders below, what one does not include.
WITHOUT = {("ops", "cpu"): "ops call kernels by the table of their device (backend/kernel_list.h)",
           ("optim", "cpu"): "the same"}


def from_below():
    """The folders in the order of engine/CMakeLists.txt, which is its rule: a folder includes only itself and those before it."""
    text = (ENGINE / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^set\(TAPEDECK_ENGINE_FOLDERS\s([^)]*)\)", text, re.MULTILINE)[1].split()


class Folders(unittest.TestCase):
    def test_no_folder_includes_one_above_it(self):
        order, wrong, seen = from_below(), [], collections.Counter()
        for file in sorted(ENGINE.glob("*/**/*.h")) + sorted(ENGINE.glob("*/**/*.cpp")) + sorted(ENGINE.glob("*/**/*.cu")):
            folder = file.relative_to(ENGINE).parts[0]
            text = file.read_text(encoding="utf-8")
            wrong += [f"{file.relative_to(ENGINE)} includes {other}, not from engine/" for other in
                      re.findall(r'^ *# *include "((?!engine/).*)"', text, re.MULTILINE)]
            for included in re.findall(r'^ *# *include "engine/(\w+)/', text, re.MULTILINE):
                seen[folder] += 1
                if order.index(included) > order.index(folder):
                    wrong.append(f"{file.relative_to(ENGINE)} includes engine/{included}")
                if (folder, included) in WITHOUT:
                    wrong.append(f"{file.relative_to(ENGINE)} includes engine/{included}: {WITHOUT[folder, included]}")
        self.assertEqual(wrong, [])
        self.assertEqual(set(seen), set(order))  # the folders are those, and something was read of each
        self.assertEqual(sorted(seen), sorted(folder.name for folder in ENGINE.iterdir() if folder.is_dir()))


if __name__ == "__main__":
    unittest.main()
