// Much of everything: long logs, many outputs, sources of megabytes, a thousand cells.
#include <QClipboard>
#include <QLabel>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/output/text/text_output.h"
#include "app/notebook/view/source_excerpt.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

class TestNotebookLarge : public QObject {
  Q_OBJECT

 private slots:
  void theDocumentTellsWhatStayed() {
    Document document;
    document.parse(notebookOf({codeCell("a", "1")}), "a.ipynb");
    QList<OutputChange> changes;
    connect(&document, &Document::outputEdited, this,
            [&](int, const OutputChange& change) { changes += change; });
    document.appendOutput("a", stream("one\ntwo"));
    document.appendOutput("a", stream(" three\n"));
    document.appendOutput("a", stream("50%\r"));
    document.appendOutput("a", stream("100%\n"));
    json shown = display({{"text/plain", "x"}});
    shown["transient"] = {{"display_id", "d"}};
    document.appendOutput("a", shown);
    document.updateDisplay("d", {{"text/plain", "y"}}, json::object());
    document.setExecutionCount("a", 4);
    document.clearOutputs("a");
    using Kind = OutputChange::Kind;
    const QList<QPair<Kind, std::size_t>> expected = {
        {Kind::output, 0}, {Kind::text, 7},   {Kind::text, 14},     {Kind::text, 14},
        {Kind::output, 0}, {Kind::output, 0}, {Kind::execution, 0}, {Kind::all, 0}};
    QCOMPARE(changes.size(), expected.size());
    for (qsizetype i = 0; i < changes.size(); ++i) {
      QCOMPARE(changes[i].kind, expected[i].first);
      QCOMPARE(changes[i].kept, expected[i].second);
    }
    QCOMPARE(changes[4].output, std::size_t{1});
    QCOMPARE(changes[5].output, std::size_t{1});
  }

  /// Whatever comes in whatever pieces: what is shown is what the document has.
  void aGrowingLogIsShownAsItIs() {
    Window window({codeCell("a", "1"), codeCell("b", "2")});
    QRandomGenerator random(7);
    const QStringList pieces = {"line\n", "🎞 emoji\n",         "no end", "\r",
                                "50%\r",  "\x1b[31mred\x1b[0m\n", "\n\n",   "x\by\n"};
    for (int i = 0; i < 600; ++i) {
      const std::string name = random.bounded(12) == 0 ? "stderr" : "stdout";
      window.document.appendOutput("a", stream(pieces[random.bounded(pieces.size())].toStdString(), name));
      if (random.bounded(60) == 0) window.document.clearOutputs("a");
      if (random.bounded(80) == 0) window.document.appendOutput("a", display({{"text/plain", "shown"}}));
      if (random.bounded(10) == 0) QTest::qWait(1 + static_cast<int>(random.bounded(45)));
    }
    const auto same = [&] {
      const auto& outputs = window.document.cell(0).outputs;
      const OutputArea* area = window.cell(0)->outputs();
      if (area->count() != static_cast<int>(std::min<std::size_t>(100, outputs.size()))) return false;
      for (int i = 0; i < area->count(); ++i) {
        const auto& output = outputs[static_cast<std::size_t>(i)];
        const auto* text = qobject_cast<TextOutput*>(area->row(i));
        if (text == nullptr) return false;
        if (output["output_type"] == "stream" && text->text() != output["text"].get<std::string>())
          return false;
      }
      return true;
    };
    QTRY_VERIFY_WITH_TIMEOUT(same(), 20000);
  }

  void theWidgetOfALogStaysWhileItGrows() {
    Window window({codeCell("a", "1")});
    window.document.appendOutput("a", display({{"image/png", picture(40, 30, "PNG")}}));
    window.document.appendOutput("a", stream("0\n"));
    QTRY_VERIFY(window.cell()->outputs() != nullptr && window.cell()->outputs()->count() == 2);
    Block* picture = window.cell()->outputs()->row(0);
    auto* log = window.output<TextOutput>(1);
    for (int i = 1; i < 20'000; ++i) {
      window.document.appendOutput("a", stream(std::to_string(i) + "\n"));
      if (i % 500 == 0) QCoreApplication::processEvents();
    }
    QTRY_VERIFY(log->text().ends_with("19999\n"));
    QCOMPARE(window.cell()->outputs()->row(0), picture);
    QCOMPARE(window.cell()->outputs()->row(1), static_cast<Block*>(log));
    QVERIFY(log->shownText().contains("19999"));
    QVERIFY(log->folded());
  }

  void manyOutputsAreOfferedAndThenAllShown() {
    Window window({codeCell("a", "1")});
    for (int i = 0; i < 130; ++i)
      window.document.appendOutput("a", display({{"text/plain", std::to_string(i)}}));
    QTRY_VERIFY(window.cell()->outputs() != nullptr && window.cell()->outputs()->count() == 100);
    QToolButton* more = nullptr;
    for (QToolButton* button : window.cell()->outputs()->findChildren<QToolButton*>()) {
      if (button->text().startsWith("Show ")) more = button;
    }
    QVERIFY(more != nullptr);
    QCOMPARE(more->text(), "Show 30 more outputs");
    window.document.appendOutput("a", display({{"text/plain", "130"}}));
    QTRY_COMPARE(more->text(), "Show 31 more outputs");
    more->click();
    QCOMPARE(window.cell()->outputs()->count(), 131);
    window.document.appendOutput("a", display({{"text/plain", "131"}}));
    QTRY_COMPARE(window.cell()->outputs()->count(), 132);
  }

  void aSourceWithAHugeLineIsShownByItsBeginning() {
    const std::string huge(5'000'000, 'x');
    Window window({codeCell("a", "data = '" + huge + "'\nprint(len(data))"), codeCell("b", "b = 1")});
    CodeEditor* editor = window.editor(0);
    QVERIFY(editor->isReadOnly());
    QVERIFY(editor->text().size() < 10'000);
    QVERIFY(editor->text().startsWith("data = 'xxx"));
    QVERIFY(editor->text().contains("print(len(data))"));
    ExcerptBar* bar = window.cell(0)->excerptBar();
    QVERIFY(bar != nullptr && bar->isVisible());
    QVERIFY(bar->findChild<QLabel*>()->text().startsWith("5,000,026 characters in 2 lines"));
    // Looking at it changes nothing, and it runs whole.
    window.view.setCurrentCell(0, true);
    window.type("typed");
    QVERIFY(!window.document.modified());
    QCOMPARE(window.document.cell(0).source.size(), 5'000'026);
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.key(Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(run.count(), 1);
    // The bar lies inside the cell and not over the text.
    QVERIFY(bar->geometry().top() >= editor->geometry().bottom());
    QVERIFY(window.cell(0)->rect().contains(bar->geometry()));
    window.view.grab().save(QString("%1/screenshots/huge-source.png").arg(TAPEDECK_BUILD_DIR));
    for (QToolButton* button : bar->findChildren<QToolButton*>()) {
      if (button->text() == "Copy all") button->click();
    }
    QCOMPARE(QGuiApplication::clipboard()->text().size(), 5'000'026);
    // Enter, as the tooltip says, shows all of it for editing.
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_Return);
    QTRY_VERIFY(!window.editor(0)->isReadOnly());
    QVERIFY(!window.document.modified());
    window.editor(0)->setCursorPosition(1, 0);
    window.type("#");
    QVERIFY(window.document.cell(0).source.endsWith("'\n#print(len(data))"));
    QCOMPARE(window.document.cell(0).source.size(), 5'000'027);
  }

  void aPastedHugeLineLosesItsColoursOnly() {
    Window window({codeCell("a", "a = 1")});
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_End, Qt::ControlModifier);
    QGuiApplication::clipboard()->setText("\nb = '" + QString(300'000, 'y') + "'");
    window.key(Qt::Key_V, Qt::ControlModifier);
    QVERIFY(window.editor(0)->plain());
    QCOMPARE(window.document.cell(0).source.size(), 5 + 6 + 300'000 + 1);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "a = 1");
  }

  void aLongSourceOfOrdinaryLinesKeepsItsColours() {
    std::string source;
    for (int i = 0; i < 3000; ++i) source += "x" + std::to_string(i) + " = " + std::to_string(i) + "\n";
    Window window({codeCell("a", source)});
    QVERIFY(!window.editor(0)->isReadOnly() && !window.editor(0)->plain());
    QVERIFY(needsExcerpt(QString(20'001, 'x')));
    QVERIFY(!needsExcerpt(QString(20'000, 'x') + "\n" + QString(20'000, 'x')));
    QVERIFY(needsExcerpt(QString("x\n").repeated(500'001)));
    // A character of two units is not cut apart.
    QVERIFY(excerptOf("a" + QString("🎞").repeated(15'000))->text.isValidUtf16());
  }

  void endAndHomeGoThroughAThousandCells() {
    json cells = json::array();
    for (int i = 0; i < 500; ++i) {
      cells.push_back(
          markdownCell("m" + std::to_string(i), "## Part " + std::to_string(i) + "\n\nSome words."));
      cells.push_back(codeCell("c" + std::to_string(i),
                               "for i in range(" + std::to_string(i) + "):\n    print(i)\n",
                               json::array({stream("1\n2\n3\n")}), i + 1));
    }
    Window window(cells);
    QTRY_VERIFY(window.cell(999) != nullptr);
    QCoreApplication::processEvents();
    QScrollBar* bar = window.view.verticalScrollBar();
    const int guess = bar->maximum();
    window.key(Qt::Key_End, Qt::ControlModifier);
    QCOMPARE(window.view.currentCell(), 999);
    window.key(Qt::Key_Home, Qt::ControlModifier);
    QCOMPARE(window.view.currentCell(), 0);
    window.key(Qt::Key_End);
    QCOMPARE(window.view.currentCell(), 999);
    QVERIFY(window.view.visibleRegion().boundingRect().isValid());
    const QRect last(window.cell(999)->mapTo(window.view.viewport(), QPoint()), window.cell(999)->size());
    QVERIFY(window.view.viewport()->rect().contains(last));
    int made = 0;
    for (int i = 0; i < 1000; ++i) made += window.cell(i)->realized();
    QVERIFY2(made < 120, qPrintable(QString::number(made)));
    window.key(Qt::Key_Home);
    QCOMPARE(bar->value() <= 22, true);

    // Scrolled through page by page, the whole turns out as high as it was guessed, and the visible part does
    // not jump: a page down shows the next page.
    for (int page = 0; page < 40; ++page) window.key(Qt::Key_PageDown);
    for (int i = 0; i < 1000; ++i) window.cell(i)->realize();
    QCoreApplication::processEvents();
    const double error = std::abs(bar->maximum() - guess) / static_cast<double>(guess);
    QVERIFY2(error < 0.1, qPrintable(QString("guessed %1, is %2").arg(guess).arg(bar->maximum())));
  }

  void codeIsGuessedToTheLine() {
    json cells = json::array();
    for (int lines = 1; lines < 30; lines += 4) {
      std::string source = "x = 1";
      for (int i = 1; i < lines; ++i) source += "\nx = " + std::to_string(i);
      if (lines % 8 == 1) source += " + " + std::string(300, '1');
      cells.push_back(codeCell("c" + std::to_string(lines), source));
    }
    Window window(cells, {700, 200});
    for (int i = 4; i < window.document.cellCount(); ++i) {
      CellWidget* cell = window.cell(i);
      if (cell->realized()) continue;
      const int guessed = cell->heightFor(680);
      cell->realize();
      QCoreApplication::processEvents();
      QVERIFY2(std::abs(cell->heightFor(680) - guessed) <= 4,
               qPrintable(QString("cell %1: %2, %3").arg(i).arg(guessed).arg(cell->heightFor(680))));
    }
  }
};

TAPEDECK_TEST(TestNotebookLarge)
#include "tst_notebook_large.moc"
