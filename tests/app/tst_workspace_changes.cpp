// When workspaces and panels come by themselves, and what stays where it is then.
#include <QAbstractButton>
#include <QScrollBar>
#include <QToolButton>

#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "tests/app/workspace_windows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestWorkspaceChanges : public QObject, WorkspaceWindows {
  Q_OBJECT

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { QSettings().clear(); }

  void theFirstStopOpensDebugAndOnlyWhatHasSomethingToShow() {
    const auto window = open({"import tapedeck as tf\ntf.constant(2.) * 3. + 1."});
    QVERIFY(shown(*window, {}));
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_COMPARE(current(*window), QString("debug"));
    QTRY_VERIFY(shown(*window, {"tape", "ops", "tensor"}));  // no curve yet
    screenshot(window.get(), "workspace-debug-stop");
    // A user who goes back to Write while it is paused stays there.
    choose(*window, 1);
    QVERIFY(shown(*window, {}));
    const auto before = window->session()->stop();
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(window->session()->stop() != before, patience);
    QCOMPARE(current(*window), QString("write"));
    QTest::keyClick(window.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window->kernel()->state() == KernelState::idle, patience);
  }

  void aCurveOpensPlots() {
    const auto window = open({loop});
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(current(*window), QString("plots"), patience);
    QTRY_VERIFY(shown(*window, {"plots"}));
    QVERIFY(window->notebook()->isVisible());
    screenshot(window.get(), "workspace-plots");
  }

  void aPanelThatAKeyOpenedStaysInFrontWhenTheWorkspaceChanges_data() {
    QTest::addColumn<Qt::Key>("run");
    QTest::addColumn<Qt::KeyboardModifiers>("with");
    QTest::addColumn<QString>("comes");
    QTest::newRow("a curve comes") << Qt::Key_Return << Qt::KeyboardModifiers(Qt::ControlModifier) << "plots";
    QTest::newRow("it stops") << Qt::Key_F10 << Qt::KeyboardModifiers() << "debug";
  }
  void aPanelThatAKeyOpenedStaysInFrontWhenTheWorkspaceChanges() {
    QFETCH(const Qt::Key, run);
    QFETCH(const Qt::KeyboardModifiers, with);
    QFETCH(const QString, comes);
    const auto window = open({QString("import time\ntime.sleep(0.3)\n") + loop});
    QTest::keyClick(window.get(), run, with);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_8, Qt::AltModifier);
    const QDockWidget* compare = dock(*window, "compare");
    const auto inFront = [&] {
      return compare->isVisible() && window->rect().contains(compare->geometry()) &&
             compare->isAncestorOf(QApplication::focusWidget());
    };
    QTRY_VERIFY(inFront());
    QCOMPARE(current(*window), QString("write"));
    QTRY_COMPARE_WITH_TIMEOUT(current(*window), comes, patience);
    QTRY_VERIFY(inFront());
    screenshot(window.get(), "workspace-keeps-" + comes);
    // A workspace that the user chooses comes as it is.
    choose(*window, 4);
    QTRY_VERIFY(!compare->isVisible());
    QTest::keyClick(window.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window->kernel()->state() == KernelState::idle, patience);
  }

  void theCurrentCellStaysInSightWhenPanelsCome() {
    const auto window = open({"a = 1\n" + QString("\n").repeated(18) + "a", loop, "b = 2"});
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(current(*window), QString("plots"), patience);
    NotebookView* notebook = window->notebook();
    QCOMPARE(notebook->currentCell(), 2);
    const auto seen = [&] {
      for (CellWidget* cell : notebook->findChildren<CellWidget*>())
        if (cell->id() == window->document()->cell(2).id)
          return notebook->viewport()->rect().contains(
              QRect(cell->mapTo(notebook->viewport(), QPoint(0, 0)), cell->size()));
      return false;
    };
    QTRY_VERIFY(seen());
    window->resize(1280, 480);
    QTRY_VERIFY(seen());
  }

  void thePausedLineIsInSightWhenDebugComes_data() {
    QTest::addColumn<QSize>("size");
    QTest::newRow("small") << QSize(1280, 800);
    QTest::newRow("low") << QSize(1280, 620);
  }
  void thePausedLineIsInSightWhenDebugComes() {
    QFETCH(const QSize, size);
    const auto window = start(size);
    auto* card = window->findChild<QAbstractButton*>("open:first_network.ipynb");
    QVERIFY(card);
    QTest::mouseClick(card, Qt::LeftButton);
    QTRY_VERIFY(window->notebook()->isVisible());
    NotebookView* notebook = window->notebook();
    constexpr int stop = 21;
    const auto editor = [&]() -> CodeEditor* {
      for (CellWidget* cell : notebook->findChildren<CellWidget*>())
        if (cell->id() == window->document()->cell(1).id) return cell->editor();
      return nullptr;
    };
    // As by a click into the line.
    notebook->goToLine(window->document()->cell(1).id, stop);
    QTRY_VERIFY(editor() && editor()->hasFocus());
    QTest::keyClick(editor(), Qt::Key_F9);
    QTest::keyClick(editor(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_COMPARE(current(*window), QString("debug"));
    QTRY_VERIFY(shown(*window, {"tape", "ops", "tensor"}));
    const auto inSight = [&] {
      const QRect line(editor()->mapTo(notebook->viewport(), QPoint(0, editor()->yOfLine(stop))),
                       QSize(10, editor()->lineHeight()));
      return editor()->markedLine() == stop && notebook->viewport()->rect().contains(line);
    };
    settled([&] { return QList<QRect>{notebook->geometry(), notebook->widget()->geometry()}; });
    QTRY_VERIFY(inSight());
    screenshot(window.get(), QString("workspace-paused-line-%1").arg(size.height()));
    // A user who scrolls away while it is paused stays there.
    QScrollBar* bar = notebook->verticalScrollBar();
    bar->triggerAction(QAbstractSlider::SliderToMinimum);
    if (size.height() > 700) return;  // there may be room for all of it
    QVERIFY(!inSight());
    window->resize(size.width(), size.height() - 20);
    settled([&] { return QList<QRect>{notebook->geometry(), notebook->widget()->geometry()}; });
    QVERIFY(!inSight());
  }

  void nothingMovesWhileTheUserTypes() {
    const auto window = open({QString("import time\ntime.sleep(0.5)\n") + loop, "x = 1"});
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    window->notebook()->setCurrentCell(1, true);
    QTRY_VERIFY(QApplication::focusWidget() && QApplication::focusWidget() != window->notebook());
    const QList<QString> before{current(*window)};
    bool moved = false;
    const auto type = [&] {
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_A);
      moved = moved || current(*window) != "write";
      return !window->series()->names().isEmpty();
    };
    QVERIFY(waitFor(type, patience));
    for (int i = 0; i < 5; ++i) type();
    QVERIFY(!moved);
    QVERIFY(window->document()->cell(1).source.contains("aaaaaa"));
    // A pause, and it comes.
    QTRY_COMPARE_WITH_TIMEOUT(current(*window), QString("plots"), patience);
  }

  void noPanelComesWhileTheUserTypes() {
    const auto window =
        open({"import time, tapedeck as tf\ntime.sleep(0.5)\ntf.constant(2.) * 3. + 1.", "x = 1"});
    choose(*window, 2);
    QVERIFY(shown(*window, {}));
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    window->notebook()->setCurrentCell(1, true);
    QTRY_VERIFY(QApplication::focusWidget() && QApplication::focusWidget() != window->notebook());
    bool came = false;
    const auto type = [&] {
      QTest::keyClick(QApplication::focusWidget(), Qt::Key_A);
      came = came || !shown(*window, {});
      return window->session()->recordCount() > 1;
    };
    QVERIFY(waitFor(type, patience));
    for (int i = 0; i < 5; ++i) {
      type();
      nothingMayHappenFor(20);
    }
    QVERIFY(!came);
    // A pause, and they are there.
    QTRY_VERIFY_WITH_TIMEOUT(shown(*window, {"tape", "ops", "tensor"}), patience);
  }

  void whatTensorShowsMovesNoPanel_data() {
    QTest::addColumn<QSize>("size");
    QTest::newRow("small") << QSize(1280, 800);
    QTest::newRow("large") << QSize(1900, 1100);
  }
  void whatTensorShowsMovesNoPanel() {
    QFETCH(QSize, size);
    auto window = open({"import tapedeck as tf\ntf.random.normal([5, 4, 40, 40])"}, size);
    choose(*window, 2);
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(shown(*window, {"tape", "ops", "tensor"}), patience);
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window)->canvas()->sentence().isEmpty(), patience);
    const QList<QRect> before = settled([&] { return places(*window); });
    for (const char* name : {"Heat map", "Histogram", "Numbers", "Heat map"}) {
      QToolButton* button = nullptr;
      for (auto* candidate : tensor(*window)->findChildren<QToolButton*>())
        if (candidate->text() == name) button = candidate;
      QVERIFY2(button, name);
      QTest::mouseClick(button, Qt::LeftButton);
      nothingMayHappenFor(100);  // a dock that jumps does so in the next turns of the layout
      QCOMPARE(places(*window), before);
    }
    closeUnsaved(*window);
    window.reset();
    const auto next = open({"import tapedeck as tf\ntf.random.normal([5, 4, 40, 40])"}, size);
    QTest::keyClick(next.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(shown(*next, {"tape", "ops", "tensor"}), patience);
    QTRY_COMPARE(places(*next), before);
  }
};

TAPEDECK_TEST(TestWorkspaceChanges)
#include "tst_workspace_changes.moc"
