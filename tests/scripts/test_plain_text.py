"""What others wrote is shown as text: the sources make labels, tool tips and questions only in ways that never take it for HTML.

Qt guesses which texts are HTML, and reads any local file that an image in one names."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where a rule does not hold, and why.
EXCEPTIONS = {
    "inspector/ui/plain_text.cpp": ("label", "question"),  # makes them plain
    "app/shell/window/main_window_session.cpp": ("question",),  # the program's own HTML: about it
    "inspector/ui/keyed_action.h": ("tip",),  # an action's words are the program's own
    "app/notebook/output/rich_style.cpp": ("tip",),  # of characters: StaticText shows them by plainTip
    "app/notebook/output/text/text_output.cpp": ("tip",),  # the same
    "app/notebook/output/formula_text.cpp": ("tip",),  # the same
    "app/notebook/output/alert_boxes.cpp": ("tip",),  # the same
    "inspector/ui/confirm.cpp": ("question", "never"),  # makes both texts plain
    "app/shell/opening/closing_question.cpp": ("question",),  # with buttons of its own; its text is plain
    "inspector/model/ops/records_model.cpp": ("tip role",),  # TimelineDelegate makes a plain tip of it
    "inspector/model/ops/records_rows.cpp": ("tip role",),  # the same
}
NEVER = r"\b(QErrorMessage|QProgressDialog|QStaticText|QWhatsThis|setWhatsThis|setInformativeText)\b"


def arguments(text, opening):
    """The arguments of a call from its opening bracket on."""
    found, depth, start, quote, at = [], 0, opening + 1, "", opening
    while True:
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return found + [text[start:at]]
        elif character == "," and depth == 1:
            found.append(text[start:at])
            start = at + 1
        at += 1


def is_own(text):
    """Whether an expression is made of literals alone, or of a choice between them, or is a tip already."""
    bare = re.sub(r"\s+", "", re.sub(r'"(\\.|[^"\\])*"', "L", text))
    bare = re.sub(r"L+", "L", bare)
    bare = re.sub(r"(QStringLiteral|QString::fromUtf8|QLatin1String|QString)\(L\)", "L", bare)
    bare = re.sub(r"QString\(\)", "L", bare)
    if re.fullmatch(r"L|(\w|::)*plainTip\(.*\)|.*[.>]toolTip\(\)", bare):
        return True
    return re.fullmatch(r"([^?:]|::)*\?L:.*", bare) is not None and is_own_rest(bare.split("?L:", 1)[1])


def is_own_rest(bare):
    return bare == "L" or ("?L:" in bare and is_own_rest(bare.split("?L:", 1)[1]))


def violations(name, text):
    allowed = EXCEPTIONS.get(name, ())
    found = []

    def report(rule, position):
        if rule not in allowed:
            line = text.count("\n", 0, position) + 1
            found.append(f"{name}:{line}: {rule}: {text.splitlines()[line - 1].strip()}")

    for match in re.finditer(r"\bnew QLabel\b|\bQLabel\s+\w+\s*[({;]", text):
        report("label", match.start())
    for match in re.finditer(r"\bQMessageBox(::(about|critical|information|question|warning)\(|\s+\w+[({;])|\bnew QMessageBox\b", text):
        report("question", match.start())
    for match in re.finditer(r"\b(setToolTip|setTabToolTip|showText)\s*\(", text):
        given = arguments(text, match.end() - 1)
        if not is_own(given[1] if match.group(1) == "showText" else given[-1]):
            report("tip", match.start())
    for match in re.finditer(r"(case Qt::ToolTipRole:|if \(role == Qt::ToolTipRole\b).*?\breturn\b(.*?);", text, re.DOTALL):
        if "plainTip(" not in match.group(2):
            report("tip role", match.start())
    for match in re.finditer(r"role == Qt::ToolTipRole\s*\?(.*?);|setData\(([^;]*ToolTipRole[^;]*);", text, re.DOTALL):
        if "plainTip(" not in match.group(0):
            report("tip role", match.start())
    for match in re.finditer(NEVER, text):
        report("never", match.start())
    return found


def sources():
    for folder in ("app", "inspector", "plots"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


class PlainText(unittest.TestCase):
    def test_no_source_lets_qt_guess_what_is_html(self):
        found, seen = [], 0
        for name, text in sources():
            seen += 1
            found += violations(name, text)
        self.assertGreater(seen, 100)
        self.assertEqual(found, [], "inspector/ui/plain_text.h and inspector/model/plain_tip.h say what to use")

    def test_labels_of_their_own_class_are_plain(self):
        classes = 0
        for name, text in sources():
            for label in re.findall(r"class (\w+)(?: final)? : public QLabel\b", text):
                classes += 1
                self.assertIn("setTextFormat(Qt::PlainText)", (ROOT / name).with_suffix(".cpp").read_text(encoding="utf-8"),
                              f"{label} of {name}")
        self.assertGreater(classes, 0)

    def test_what_would_be_wrong_is_found(self):
        for wrong in ('auto* label = new QLabel(name);', 'QLabel label(this);', 'item->setToolTip(0, name);',
                      'button->setToolTip(QString("Open %1").arg(path));', 'bar->setTabToolTip(i, "the " + name);',
                      'button->setToolTip(known ? "known" : name);', 'QToolTip::showText(at, words, this);',
                      'QMessageBox::question(this, "Replace", name);', 'QMessageBox box(QMessageBox::Question, "a", name);',
                      'case Qt::ToolTipRole:\n  return name;', 'if (role == Qt::ToolTipRole && column == 0)\n  return name;',
                      'return role == Qt::ToolTipRole ? QVariant(name) : QVariant();', 'item->setData(0, Qt::ToolTipRole, name);',
                      'QErrorMessage message;'):
            self.assertNotEqual(violations("x.cpp", wrong), [], wrong)
        for right in ('auto* label = plainLabel(name);', 'QLabel* label_ = nullptr;', 'item->setToolTip(0, inspector::plainTip(name));',
                      'button->setToolTip("Open (Ctrl+O)");', 'button->setToolTip(QStringLiteral("a "\n  "b"));',
                      'button->setToolTip(old ? "a" : older ? QStringLiteral("b") : QString("c"));',
                      'button->setToolTip(action->toolTip());', 'QToolTip::showText(at, plainTip(words), this);',
                      'case Qt::ToolTipRole:\n  return known ? "a" : plainTip(name);', 'QMessageBox::StandardButton answer;'):
            self.assertEqual(violations("x.cpp", right), [], right)


if __name__ == "__main__":
    unittest.main()
