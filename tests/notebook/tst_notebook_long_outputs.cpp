// Long outputs in a real window: they fold, scroll, are searched and copied, and opened in an editor.
#include <QAccessible>
#include <QClipboard>
#include <QDesktopServices>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>
#include <QWheelEvent>

#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/text_bar.h"
#include "app/notebook/output/text/text_output.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

std::string logLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "step " + std::to_string(i) + " loss 0.25\n";
  return text;
}

json cellsAround(const std::string& text) {
  return {codeCell("c", "run()", json::array({stream(text)}), 3), codeCell("d", "x = 1")};
}

QToolButton* buttonOf(const TextOutput* output, const QString& name) {
  for (QToolButton* found : output->findChildren<QToolButton*>())
    if (found->text() == name && found->isVisible()) return found;
  return nullptr;
}

void wheelOver(QWidget* widget, int notches) {
  const QPoint at = widget->rect().center();
  QWheelEvent event(at, widget->mapToGlobal(at), {}, {0, -120 * notches}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(widget, &event);
}

/// Catches what would open in the user's editor.
class Editor : public QObject {
  Q_OBJECT
 public:
  Editor() { QDesktopServices::setUrlHandler("file", this, "open"); }
  ~Editor() override { QDesktopServices::unsetUrlHandler("file"); }
  QString path;
 public slots:
  void open(const QUrl& url) { path = url.toLocalFile(); }
};

}  // namespace

class TestNotebookLongOutputs : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    static const QTemporaryDir home;
    qputenv("XDG_CONFIG_HOME", home.path().toUtf8());
    QCoreApplication::setOrganizationName("tapedeck-test");
    QCoreApplication::setApplicationName("Tapedeck");
  }
  void cleanup() { QSettings().clear(); }

  void aScreenfulIsShownAsItIs() {
    Window window(cellsAround(logLines(12)));
    QVERIFY(!window.output<TextOutput>()->folds());
    QVERIFY(window.output<TextOutput>()->scrolling() == nullptr);
    QVERIFY(window.output<TextOutput>()->shownText().endsWith("step 11 loss 0.25"));
  }

  void moreFoldsAndUnfoldsByKeyAndMouse() {
    Window window(cellsAround(logLines(300)));
    auto* output = window.output<TextOutput>();
    QVERIFY(output->folded());
    QVERIFY(output->height() < window.view.height());
    QCOMPARE(output->scrolling()->topRow(), std::size_t{0});
    QVERIFY(output->shownText().startsWith("step 0 loss"));
    QVERIFY(output->bar()->amount().startsWith("300 lines, "));
    const int folded = output->height();
    window.view.setCurrentCell(0, false);
    window.view.setFocus();
    Window::key(Qt::Key_O, Qt::ShiftModifier);
    QTRY_VERIFY(output->height() > 300 * 10);
    QVERIFY(output->shownText().endsWith("step 299 loss 0.25"));
    Window::key(Qt::Key_O, Qt::ShiftModifier);
    QTRY_COMPARE(output->height(), folded);
    QTest::mouseClick(buttonOf(output, "Unfold"), Qt::LeftButton);
    QTRY_VERIFY(output->height() > 300 * 10);
    QVERIFY(!output->findChild<QLineEdit*>()->isVisible());
    window.view.verticalScrollBar()->setValue(0);
    QTest::mouseClick(buttonOf(output, "Fold"), Qt::LeftButton);
    QTRY_COMPARE(output->height(), folded);
    // In a cell without a long output the key does nothing.
    window.view.setCurrentCell(1, false);
    window.view.setFocus();
    Window::key(Qt::Key_O, Qt::ShiftModifier);
    QCOMPARE(window.sources(), QStringList({"run()", "x = 1"}));
    QVERIFY(output->folded());
  }

  void keysScrollWhatTheKeyboardEntered() {
    Window window(cellsAround(logLines(5'000)));
    window.view.setCurrentCell(0, false);
    window.view.setFocus();
    Window::key(Qt::Key_E);
    LongText* text = window.output<TextOutput>()->scrolling();
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(text));
    Window::key(Qt::Key_Down);
    QCOMPARE(text->topRow(), std::size_t{1});
    Window::key(Qt::Key_PageDown);
    QVERIFY(text->topRow() > 10);
    Window::key(Qt::Key_End);
    QVERIFY(text->textInSight().endsWith("step 4999 loss 0.25"));
    // A screen reader gets the same.
    QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(text);
    QVERIFY(spoken->text(QAccessible::Name).startsWith("Text output"));
    QVERIFY(spoken->text(QAccessible::Value).endsWith("step 4999 loss 0.25"));
    Window::key(Qt::Key_Home);
    QVERIFY(text->textInSight().startsWith("step 0 "));
    Window::key(Qt::Key_Escape);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    QCOMPARE(window.view.currentCell(), 0);
  }

  void theWheelPassesUntilTheTextIsEntered() {
    Window window(cellsAround(logLines(5'000)));
    window.view.insertBelow();
    LongText* text = window.output<TextOutput>()->scrolling();
    window.view.verticalScrollBar()->setValue(0);
    window.view.setFocus();
    wheelOver(text->viewport(), 1);
    QCOMPARE(text->topRow(), std::size_t{0});
    window.view.verticalScrollBar()->setValue(0);
    QTest::mouseClick(text->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(20, 20));
    wheelOver(text->viewport(), 1);
    QCOMPARE(text->topRow(), std::size_t{3});
    QCOMPARE(window.view.verticalScrollBar()->value(), 0);
  }

  void whatIsPrintedStaysInSightUntilTheUserLooksElsewhere() {
    Window window(cellsAround("begin\n"));
    for (int i = 0; i < 200; ++i)
      window.document.appendOutput("c", stream("step " + std::to_string(i) + "\n"));
    QTRY_VERIFY(window.output<TextOutput>()->folds());
    QTRY_VERIFY(window.output<TextOutput>()->shownText().endsWith("step 199"));
    for (int i = 200; i < 5'000; ++i)
      window.document.appendOutput("c", stream("step " + std::to_string(i) + "\n"));
    QTRY_VERIFY(window.output<TextOutput>()->shownText().endsWith("step 4999"));
    LongText* text = window.output<TextOutput>()->scrolling();
    text->setFocus();
    Window::key(Qt::Key_Home);
    window.document.appendOutput("c", stream("last\n"));
    QTRY_COMPARE(text->text().lines(), std::size_t{5'002});
    QCOMPARE(text->topRow(), std::size_t{0});
  }

  void anotherSizeOfLettersLeavesItWhereItWas() {
    Window window(cellsAround(logLines(5'000)));
    window.output<TextOutput>()->scrolling()->verticalScrollBar()->setValue(1'234);
    window.view.zoomIn();
    QTRY_COMPARE(window.output<TextOutput>()->scrolling()->topRow(), std::size_t{1'234});
    window.output<TextOutput>()->toggleFold();
    window.view.zoomOut();
    QTRY_COMPARE(window.output<TextOutput>()->scrolling()->topRow(), std::size_t{1'234});
    QVERIFY(!window.output<TextOutput>()->folded());
    window.output<TextOutput>()->scrolling()->scrollToEnd();
    window.view.zoomIn();
    QTRY_VERIFY(window.output<TextOutput>()->shownText().endsWith("step 4999 loss 0.25"));
  }

  void allOfItIsSelectedAndCopied() {
    const std::string whole = logLines(20'000);
    Window window(cellsAround(whole));
    LongText* text = window.output<TextOutput>()->scrolling();
    text->setFocus();
    QGuiApplication::clipboard()->clear();
    Window::key(Qt::Key_A, Qt::ControlModifier);
    Window::key(Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text() + "\n", QString::fromStdString(whole));
    QGuiApplication::clipboard()->clear();
    QTest::mouseClick(buttonOf(window.output<TextOutput>(), "Copy all"), Qt::LeftButton);
    QTRY_COMPARE(QGuiApplication::clipboard()->text() + "\n", QString::fromStdString(whole));
    // By the mouse, over two lines.
    const int line = QFontMetrics(window.output<TextOutput>()->font()).height();
    Window::key(Qt::Key_Home);
    QTest::mousePress(text->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(0, 5));
    QTest::mouseMove(text->viewport(), QPoint(0, 5 + 2 * line));
    QTest::mouseRelease(text->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(0, 5 + 2 * line));
    Window::key(Qt::Key_C, Qt::ControlModifier);
    QTRY_VERIFY(QGuiApplication::clipboard()->text().startsWith("step 0 loss 0.25\n"));
    QVERIFY(QGuiApplication::clipboard()->text().size() < 100);
  }

  void wordsAreFoundAnywhereInIt() {
    std::string whole = logLines(30'000);
    whole.insert(whole.find("step 25000 "), "\x1b[31mA Needle\x1b[0m here\n");
    Window window(cellsAround(whole));
    LongText* text = window.output<TextOutput>()->scrolling();
    auto* words = window.output<TextOutput>()->findChild<QLineEdit*>();
    text->setFocus();
    Window::key(Qt::Key_Slash);
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(words));
    Window::type("needle\n");
    QTRY_VERIFY(text->textInSight().contains("A Needle here"));
    QVERIFY(text->hasSelection());
    Window::key(Qt::Key_Return);  // once around
    QTRY_VERIFY(text->textInSight().contains("A Needle here"));
    words->setText("step 77 ");
    Window::key(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY(text->textInSight().contains("step 77 loss"));
    words->setText("no such words");
    Window::key(Qt::Key_Return);
    const TextBar* bar = window.output<TextOutput>()->bar();
    QTRY_VERIFY2(bar->amount().endsWith("not found"), qPrintable(bar->amount()));
    Window::key(Qt::Key_Escape);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(text));
    Window::key(Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text(), QString("step 77 "));
    // As the notebook's own search shows its hits.
    text->scrollToStart();
    text->showHit(whole.find("Needle"), "Needle");
    QVERIFY(text->textInSight().contains("A Needle here"));
    Window::key(Qt::Key_C, Qt::ControlModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text(), QString("Needle"));
  }

  void allOfItOpensInAnEditor() {
    Editor editor;
    Window window(cellsAround("\x1b[32mgreen\x1b[0m\n" + logLines(100'000)));
    QTest::mouseClick(buttonOf(window.output<TextOutput>(), "Open all in an editor"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!editor.path.isEmpty(), tapedeck::patience);
    QFile file(editor.path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray::fromStdString("green\n" + logLines(100'000)));
    const auto others = QFile::ReadGroup | QFile::WriteGroup | QFile::ReadOther | QFile::WriteOther;
    QVERIFY(!(file.permissions() & others));
    QVERIFY(!(QFileInfo(QFileInfo(file).path()).permissions() & others));
    const QString first = std::exchange(editor.path, {});
    window.view.setCurrentCell(0, false);
    window.view.openOutput();
    QTRY_VERIFY_WITH_TIMEOUT(!editor.path.isEmpty(), tapedeck::patience);
    QVERIFY(editor.path != first);
  }

  void aMillionLinesAreCompleteAndTheFileSaysWhatItStores() {
    Window window({codeCell("c", "run()"), codeCell("d", "x = 1")});
    std::string piece;
    for (int i = 0; i < 1'000'000; ++i) {
      piece += std::to_string(i) + " some words of a log line\n";
      if (piece.size() < 100'000 && i != 999'999) continue;
      window.document.appendOutput("c", stream(std::exchange(piece, {})));
      QCoreApplication::processEvents();
    }
    QTRY_VERIFY(window.cell()->outputs() != nullptr && window.output<TextOutput>() != nullptr);
    auto* output = window.output<TextOutput>();
    QTRY_VERIFY(output->shownText().endsWith("999999 some words of a log line"));
    QCOMPARE(output->scrolling()->text().lines(), std::size_t{1'000'000});
    QCOMPARE(output->scrolling()->text().read(765'432, 1)[0].text,
             std::string("765432 some words of a log line"));
    QVERIFY(output->bar()->amount().startsWith("1,000,000 lines, 31."));
    QVERIFY2(output->bar()->note().contains("file stores 10.0 MB of its 31."),
             qPrintable(output->bar()->note()));
    setStoredOutputLimit(2);
    QVERIFY2(output->bar()->note().contains("file stores 2.0 MB of its 31."),
             qPrintable(output->bar()->note()));
    const QByteArray saved = window.document.serialize();
    QVERIFY2(saved.size() < 3'000'000, qPrintable(QString::number(saved.size())));
    Document read;
    read.parse(saved, "file");
    const QString text = QString::fromStdString(read.cell(0).outputs[0]["text"].get<std::string>());
    QVERIFY(text.startsWith("0 some words"));
    QVERIFY(text.endsWith("999999 some words of a log line\n"));
    QVERIFY(text.contains("of this output are not stored here: up to 2.0 MB of an output are …]"));
    setStoredOutputLimit(100);
    QCOMPARE(output->bar()->note(), QString());
    read.parse(window.document.serialize(), "file");
    QVERIFY(read.cell(0).outputs[0]["text"].get<std::string>() == output->text());
    // A recovery file is written over and over: it has less, and says so.
    const QByteArray recovery = window.document.snapshot({}, recovery_output_limit).bytes();
    QVERIFY(recovery.size() < 1'500'000);
    QVERIFY(recovery.contains("are not stored here"));
    window.document.clearOutputs("c");
    QTRY_COMPARE(window.cell()->outputs()->count(), 0);
    QVERIFY(window.document.cell(0).printed.empty());
  }
};

TAPEDECK_TEST(TestNotebookLongOutputs)
#include "tst_notebook_long_outputs.moc"
