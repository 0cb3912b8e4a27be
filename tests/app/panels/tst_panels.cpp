// The panels around the notebook: their sizes when the window changes its own, and when what they show does.
#include <QDockWidget>
#include <QMainWindow>
#include <QSpinBox>
#include <QTabBar>

#include "app/shell/panels/dock_shares.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tensor/slice_bar.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestPanels : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  std::unique_ptr<MainWindow> open(QSize size, const QString& cell = "pass") {
    auto window = newWindow(size);
    window->openNotebook(writeNotebook(folder_, "panels.ipynb", {cell}));
    if (!waitFor([&] { return window->notebook()->isVisible(); }, tapedeck::patience))
      qWarning("no notebook");
    // Debug, with all its panels, though they have nothing to show yet.
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    for (const Qt::Key key : {Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4})
      QTest::keyClick(window.get(), key, Qt::ControlModifier);
    const bool arranged = waitFor(
        [&] {
          const QList<double> of = shares(*window);
          return of[1] > 0 && of[2] > 0 && std::abs(of[1] + of[2] - of[0]) < 0.02;
        },
        tapedeck::patience);
    if (!arranged) qWarning("the panels are not arranged");
    settled([&] { return shares(*window); });
    return window;
  }

  static QDockWidget* panel(const MainWindow& window, const char* title) {
    for (auto* dock : window.findChildren<QDockWidget*>())
      if (dock->windowTitle() == title) return dock;
    qFatal("no panel %s", title);
  }

  /// What the panels have of the window: widths of the three on the right, height of the one below.
  static QList<double> shares(const MainWindow& window) {
    QList<double> result;
    for (const char* title : {"Tape", "Ops", "Tensor"})
      result << 1.0 * panel(window, title)->width() / window.width();
    return result << 1.0 * panel(window, "Plots")->height() / window.height();
  }

  static bool alike(const QList<double>& a, const QList<double>& b) {
    for (qsizetype i = 0; i < a.size(); ++i)
      if (std::abs(a[i] - b[i]) > 0.01) return false;
    return true;
  }

  static QString text(const QList<double>& values) {
    QStringList parts;
    for (const double value : values) parts << QString::number(value, 'f', 3);
    return parts.join(' ');
  }

  /// A small window's only panel.
  static QDockWidget* addDock(QMainWindow& window) {
    window.resize(800, 600);
    window.setCentralWidget(new QWidget);
    auto* dock = new QDockWidget("Dock", &window);
    dock->setObjectName("dock");
    window.addDockWidget(Qt::RightDockWidgetArea, dock);
    return dock;
  }

 private slots:
  void initTestCase() { useOwnSettings(); }
  void cleanup() { QSettings().clear(); }

  void panelsKeepTheirShareOfTheWindow() {
    const auto window = open({1280, 800});
    const QList<double> before = shares(*window);
    QVERIFY2(before[0] > 0.4, qPrintable(text(before)));
    for (const QSize size : {QSize(2400, 1300), QSize(1500, 1000), QSize(1280, 800)}) {
      window->resize(size);
      QTRY_VERIFY2(alike(shares(*window), before), qPrintable(text(shares(*window)) + " of " + text(before)));
    }
  }

  void aSplitterThatWasDraggedStaysWhereItIs() {
    auto window = open({1600, 1000});
    const QDockWidget* tape = panel(*window, "Tape");
    const QList<double> before = shares(*window);
    const QPoint splitter = tape->geometry().topLeft() + QPoint(-2, tape->height() / 2);
    QTest::mousePress(window.get(), Qt::LeftButton, {}, splitter);
    for (const int distance : {60, 240}) {
      QTest::mouseMove(window.get(), splitter + QPoint(distance, 0));
      QTest::qWait(0);  // the window moves a splitter when it has nothing else to do
    }
    QTest::mouseRelease(window.get(), Qt::LeftButton, {}, splitter + QPoint(240, 0));
    QTRY_VERIFY2(shares(*window)[0] < before[0] - 0.1, qPrintable(text(shares(*window))));
    const QList<double> dragged = settled([&] { return shares(*window); });
    window->resize(2200, 1300);
    QTRY_VERIFY2(alike(shares(*window), dragged), qPrintable(text(shares(*window)) + " of " + text(dragged)));
    // The next window has them, too, whatever its size.
    window->close();
    window.reset();
    const auto next = open({1700, 1050});
    QTRY_VERIFY2(alike(shares(*next), dragged), qPrintable(text(shares(*next)) + " of " + text(dragged)));
  }

  void brokenSettingsLeaveThePanelsInTheWindow() {
    QMainWindow window;
    QDockWidget* dock = addDock(window);
    DockShares shares(&window, {dock});
    QVERIFY(showActive(&window));
    QTRY_VERIFY(!shares.save().isEmpty());
    const QByteArray whole = shares.save();
    for (qsizetype length = 0; length < whole.size(); ++length) shares.restore(whole.left(length));
    QCOMPARE(shares.save(), whole);
    for (qsizetype at = 0; at < whole.size(); ++at)
      for (const char byte : {'\x00', '\x7f', '\xff'}) {
        QByteArray changed = whole;
        changed[at] = byte;
        shares.restore(changed);
        shares.apply();
        QCoreApplication::processEvents();
        QVERIFY(dock->width() > 0 && dock->width() < 800 && dock->height() > 0 && dock->height() <= 600);
      }
  }

  void aPanelThatIsGoneIsForgotten() {
    QMainWindow window;
    QDockWidget* dock = addDock(window);
    DockShares shares(&window, {dock});
    QVERIFY(showActive(&window));
    QTRY_VERIFY(!shares.save().isEmpty());
    delete dock;
    QCOMPARE(shares.save(), QByteArray());
    window.resize(900, 700);
    QCoreApplication::processEvents();
    QCOMPARE(shares.save(), QByteArray());
  }

  void aWindowThatWasTooSmallForItsPanelsGivesThemTheirSharesAgain() {
    const auto window = open({1280, 800});
    const QList<double> before = shares(*window);
    window->resize(window->minimumSizeHint());
    QTRY_VERIFY2(!alike(shares(*window), before), qPrintable(text(shares(*window))));
    nothingMayHappenFor(50);
    window->resize(1280, 800);
    QTRY_VERIFY2(alike(shares(*window), before), qPrintable(text(shares(*window)) + " of " + text(before)));
  }

  void aHiddenPanelLeavesItsRoomToTheOthers() {
    const auto window = open({1280, 800});
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier);  // into it
    QTRY_VERIFY(panel(*window, "Ops")->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier);
    QTRY_VERIFY(!panel(*window, "Ops")->isVisible());
    QTRY_VERIFY(panel(*window, "Tensor")->width() > panel(*window, "Tape")->width() - 4);
    window->resize(2000, 1100);
    QTRY_VERIFY2(panel(*window, "Tape")->width() > 1100, qPrintable(text(shares(*window))));
    QVERIFY(panel(*window, "Tensor")->width() > panel(*window, "Tape")->width() - 4);
  }

  void theFirstPanelOfAPlaceIsSeenUntilTheUserChoosesAnother() {
    auto window = newWindow();
    window->openNotebook(writeNotebook(folder_, "front.ipynb",
                                       {"import tapedeck as tf", "x = tf.constant(1.) + 2.", "y = x * x"}));
    QTRY_VERIFY(window->notebook()->isVisible());
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    const auto inFront = [&](const char* title) {
      const QDockWidget* dock = panel(*window, title);
      return dock->isVisible() && window->rect().intersects(dock->geometry());
    };
    const auto run = [&](int cell) {
      window->notebook()->setCurrentCell(cell, false);
      QTest::keyClick(window.get(), Qt::Key_Return, Qt::ShiftModifier);
      return waitFor([&] { return cellStateOf(*window, cell) == CellState::done; }, patience);
    };
    // A session has variables before it has ops: then those take the front.
    QVERIFY(run(0));
    QTRY_VERIFY(inFront("Variables"));
    QVERIFY(run(1));
    QTRY_VERIFY(inFront("Ops") && !inFront("Variables"));
    QTabBar* tabs = nullptr;
    for (auto* bar : window->findChildren<QTabBar*>())
      for (int i = 0; i < bar->count(); ++i)
        if (bar->isVisible() && bar->tabText(i) == "Variables") {
          tabs = bar;
          QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(i).center());
        }
    QVERIFY(tabs);
    QTRY_VERIFY(inFront("Variables"));
    QTest::keyClick(window.get(), Qt::Key_6, Qt::ControlModifier);  // another panel comes, and
    QVERIFY(run(2));                                                // ops, too
    QVERIFY(inFront("Variables") && !inFront("Ops"));
  }

  void theKeyOfAPanelBehindAnotherBringsItToTheFront() {
    auto window = newWindow();
    window->openNotebook(writeNotebook(folder_, "behind.ipynb",
                                       {"import tapedeck as tf\nx = tf.constant(1.) + 2.\ny = x * x"}));
    QTRY_VERIFY(window->notebook()->isVisible());
    const auto inFront = [&](const char* title) {
      const QDockWidget* dock = panel(*window, title);
      return dock->isVisible() && window->rect().intersects(dock->geometry());
    };
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window) && inFront("Ops"), patience);
    QTRY_VERIFY(panel(*window, "Variables")->isVisible());
    QVERIFY(!inFront("Variables"));
    QTest::keyClick(window.get(), Qt::Key_7, Qt::ControlModifier);
    QTRY_VERIFY(inFront("Variables") && !inFront("Ops"));
    QTest::keyClick(window.get(), Qt::Key_7, Qt::ControlModifier);
    QTRY_VERIFY(!panel(*window, "Variables")->isVisible());
    QTest::keyClick(window.get(), Qt::Key_7, Qt::ControlModifier);
    QTRY_VERIFY(inFront("Variables"));
    // One that was not there at all comes to the front, too.
    QVERIFY(!panel(*window, "Breakpoints")->isVisible());
    QTest::keyClick(window.get(), Qt::Key_0, Qt::ControlModifier);
    QTRY_VERIFY(inFront("Breakpoints") && !inFront("Variables"));
  }

  void aTensorOfManyAxesLeavesTheOtherPanelsTheirRoom() {
    const auto window = open({1280, 800}, "import tapedeck as tf\ntf.random.normal([2, 3, 4, 5, 6, 7])");
    const QList<double> before = shares(*window);
    window->notebook()->setCurrentCell(0, false);
    QTest::keyClick(window.get(), Qt::Key_Return, Qt::ShiftModifier);
    const inspector::SliceBar* bar = tensor(*window)->slices();
    QTRY_VERIFY_WITH_TIMEOUT(bar->isVisible() && bar->indexOf(3), patience);
    screenshot(window.get(), "panels-six-axes");
    QVERIFY2(alike(shares(*window), before), qPrintable(text(shares(*window)) + " of " + text(before)));
    for (int axis = 0; axis < 4; ++axis) {
      const QSpinBox* box = bar->indexOf(axis);
      QVERIFY(box && box->isVisible());
      QTRY_VERIFY2(bar->rect().contains(QRect(box->mapTo(bar, QPoint(0, 0)), box->size())),
                   qPrintable(box->accessibleName()));
      QVERIFY(box->width() >= box->minimumSizeHint().width());
    }
    // Fewer axes, fewer lines: the panel's room goes back to the values.
    const int tall = bar->height();
    window->resize(2560, 1440);
    QTRY_VERIFY(bar->height() < tall);
  }
};

TAPEDECK_TEST(TestPanels)
#include "tst_panels.moc"
