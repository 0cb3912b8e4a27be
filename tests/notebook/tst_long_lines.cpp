// Lines of megabytes: an editor shows their beginnings, and loses nothing of them.
#include <QClipboard>
#include <QLabel>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/view/long_lines.h"
#include "app/notebook/view/source_excerpt.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// A cell whose second line has `length` letters between quotes, open for editing.
struct LongLine : Window {
  explicit LongLine(qsizetype length) : Window({codeCell("a", source(length).toStdString())}) {
    view.setCurrentCell(0, true);
    key(Qt::Key_Return);
    [&] { QTRY_VERIFY(!editor(0)->isReadOnly()); }();
  }
  static QString source(qsizetype length) {
    return "first = 1\ndata = '" + QString(length, 'x') + "'\nlast = 2";
  }
  QString now() const { return document.cell(0).source; }
};

}  // namespace

class TestLongLines : public QObject {
  Q_OBJECT

 private slots:
  void whatIsFoldedUnfoldsToTheSame() {
    QRandomGenerator random(11);
    for (int round = 0; round < 60; ++round) {
      LongLines lines([](const QString&, const QString&) {});
      QString text;
      const int count = 1 + static_cast<int>(random.bounded(5));
      for (int i = 0; i < count; ++i) {
        if (i > 0) text += '\n';
        const QStringList words = {
            "x",          "é", "🎞", QString::fromUcs4(U"\U00100000"), QString::fromUcs4(U"\U0010fffd"),
            QChar(0xdbc0) /* half a character */};
        const QString word = words[random.bounded(words.size())];
        text += word.repeated(static_cast<int>(random.bounded(3)) * 12'000 + random.bounded(9));
      }
      const QString folded = lines.fold(text);
      QCOMPARE(lines.whole(folded), text);
      for (const QString& line : folded.split('\n')) QVERIFY(line.size() <= longest_line);
      QCOMPARE(lines.fold(text), folded);  // the same characters again
      // Places: what is before one in the text is what is before it in the folded text, or its cut.
      const LongLines::Places places(lines, folded);
      for (int i = 0; i < 50; ++i) {
        const auto place = static_cast<qsizetype>(random.bounded(static_cast<int>(text.size()) + 1));
        const QString before = lines.whole(folded.left(places.begin(place)));
        const QString through = lines.whole(folded.left(places.end(place)));
        QVERIFY(before.size() <= place && place <= through.size());
        if (before.size() < place)
          QVERIFY(places.end(place) == places.begin(place) + 2);
        else
          QCOMPARE(before, text.left(place));
      }
    }
  }

  void isShownByItsBeginningAndEditedWhole() {
    LongLine window(5'000'000);
    QCOMPARE(window.now(), LongLine::source(5'000'000));
    CodeEditor* editor = window.editor(0);
    QVERIFY(editor->text().size() < 11'000);
    QCOMPARE(editor->source(), window.now());
    ExcerptBar* bar = window.cell(0)->excerptBar();
    QVERIFY(bar != nullptr && bar->isVisible());
    QVERIFY(bar->findChild<QLabel*>()->text().startsWith(
        "Of lines over 20,000 characters, only the first 10,000"));
    for (const QToolButton* button : bar->findChildren<QToolButton*>())
      QCOMPARE(button->isVisible(), button->text() == "Copy all");
    window.view.grab().save(QString("%1/screenshots/long-line.png").arg(TAPEDECK_BUILD_DIR));

    // Before, within, and behind it.
    editor->setCursorPosition(1, 0);
    window.type("A");
    editor->setCursorPosition(1, 9);
    window.type("B");
    window.key(Qt::Key_End);
    window.type("C");
    QCOMPARE(window.now(), "first = 1\nAdata = 'B" + QString(5'000'000, 'x') + "'C\nlast = 2");
    // Behind the rest one deletes it as a whole, and undo brings it back.
    window.key(Qt::Key_Backspace);
    window.key(Qt::Key_Backspace);
    QVERIFY(window.now().size() < 11'000);
    QVERIFY(window.cell(0)->excerptBar() == nullptr);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.now().size(), 5'000'000 + 31);
    QVERIFY(window.cell(0)->excerptBar() != nullptr);
  }

  void isCutAndPastedWhole() {
    LongLine window(300'000);
    CodeEditor* editor = window.editor(0);
    editor->setSelection(1, 0, 2, 0);
    window.key(Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), LongLine::source(300'000).section('\n', 1, 1) + "\n");
    window.key(Qt::Key_X, Qt::ControlModifier);
    QCOMPARE(window.now(), QString("first = 1\nlast = 2"));
    editor->setCursorPosition(0, 0);
    window.key(Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(window.now(), "data = '" + QString(300'000, 'x') + "'\nfirst = 1\nlast = 2");
    QVERIFY(editor->text().size() < 11'000);
  }

  void aPastedOneIsShownByItsBeginning() {
    Window window({codeCell("a", "a = 1")});
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_End, Qt::ControlModifier);
    QGuiApplication::clipboard()->setText("\nb = '" + QString(300'000, 'y') + "'");
    window.key(Qt::Key_V, Qt::ControlModifier);
    QVERIFY(window.editor(0)->text().size() < 11'000);
    QVERIFY(window.cell(0)->excerptBar() != nullptr);
    window.type("  ");
    QCOMPARE(window.document.cell(0).source, "a = 1\nb = '" + QString(300'000, 'y') + "'  ");
  }

  void searchAndReplacementReachTheRest() {
    LongLine window(300'000);
    QString source = window.now();
    source.replace(250'000, 6, "needle");
    window.document.setSource(0, source);
    CodeEditor* editor = window.editor(0);
    QCOMPARE(editor->source(), source);
    QVERIFY(editor->text().size() < 11'000);
    editor->selectHit({250'000, 6});
    QCOMPARE(editor->selectedText().toUcs4().size(), 1);
    editor->selectHit({12, 4});
    QCOMPARE(editor->selectedText(), source.mid(12, 4));
    const auto behind = static_cast<qsizetype>(source.indexOf("last"));
    editor->selectHit({behind, 4});
    QCOMPARE(editor->selectedText(), QString("last"));
    QCOMPARE(editor->selectedRange(), std::pair(static_cast<int>(behind), static_cast<int>(behind) + 4));
    // As the session counts, and as it answers.
    editor->setCursorPosition(2, 4);
    QCOMPARE(editor->cursorPosition(), static_cast<int>(behind) + 4);
    editor->replaceRange(static_cast<int>(behind), static_cast<int>(behind) + 4, "newest");
    QCOMPARE(window.now(), source.replace("last", "newest"));
  }

  void aCellIsSplitBehindIt() {
    LongLine window(300'000);
    window.editor(0)->setCursorPosition(2, 0);
    window.view.splitCurrent();
    QCOMPARE(window.document.cellCount(), 2);
    QCOMPARE(window.document.cell(0).source.size() + window.document.cell(1).source.size() + 1,
             LongLine::source(300'000).size());
    QCOMPARE(window.document.cell(1).source, QString("last = 2"));
  }

  void charactersThatStandForRestsMayBeInATextThemselves() {
    const QString own = QString::fromUcs4(U"\U00100000");
    Window window({codeCell("a", ("s = '" + own + "'").toStdString())});
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_End, Qt::ControlModifier);
    QGuiApplication::clipboard()->setText("\nb = '" + QString(30'000, 'y') + own + "'\nc = '" + own + "'");
    window.key(Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source,
             "s = '" + own + "'\nb = '" + QString(30'000, 'y') + own + "'\nc = '" + own + "'");
  }
};

TAPEDECK_TEST(TestLongLines)
#include "tst_long_lines.moc"
