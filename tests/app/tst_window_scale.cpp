// Ctrl+= and Ctrl+-: text and icons of all windows; with Alt the notebook's text alone; one entry takes both
// back.
#include <QAbstractButton>
#include <QDockWidget>
#include <QMenuBar>
#include <QTableView>
#include <QToolBar>
#include <QToolButton>

#include "app/notebook/view/cell_toolbar.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "inspector/ui/window_scale.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

std::unique_ptr<MainWindow> opened(const QString& path) {
  auto window = newWindow();
  window->openNotebook(path);
  return window;
}

}  // namespace

class TestWindowScale : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { inspector::setWindowScale(100); }

  void theStartPageGrowsWithItsCards() {
    const auto window = newWindow();
    auto* card = window->findChild<QAbstractButton*>("open:noisy_square.ipynb");
    QVERIFY(card);
    const int height = card->height();
    const double points = window->menuBar()->font().pointSizeF();
    const int icon = window->findChild<QToolBar*>("toolbar.main")->iconSize().height();
    for (int i = 0; i < 3; ++i) QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 150);
    QTRY_VERIFY(card->height() > 1.3 * height);
    QTRY_COMPARE(window->menuBar()->font().pointSizeF(), 1.5 * points);
    QTRY_COMPARE(window->findChild<QToolBar*>("toolbar.main")->iconSize().height(), 27);
    QCOMPARE(icon, 18);
    QVERIFY(card->isVisible());
    QTRY_VERIFY(window->menuBar()->actionGeometry(window->menuBar()->actions().last()).right() > 300);
    screenshot(window.get(), "scale-150-start");
    // A window that opens now has the size, too.
    const auto other = newWindow();
    QCOMPARE(other->menuBar()->font().pointSizeF(), 1.5 * points);
    QTest::keyClick(window.get(), Qt::Key_Minus, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 125);
    QTRY_COMPARE(other->menuBar()->font().pointSizeF(), 1.25 * points);
    QCOMPARE(QSettings().value("scale").toInt(), 125);
  }

  void itEndsAtBothEnds() {
    const auto window = newWindow();
    for (int i = 0; i < 12; ++i) QTest::keyClick(window.get(), Qt::Key_Minus, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 50);
    for (int i = 0; i < 20; ++i) QTest::keyClick(window.get(), Qt::Key_Plus, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 300);
  }

  void nonsenseInTheSettingsIsTheUsualSize() {
    for (const QVariant& nonsense : {QVariant("large"), QVariant(100), QVariant()}) {
      QSettings().setValue("scale", nonsense);
      inspector::applySavedScale();
      QCOMPARE(inspector::windowScale(), 100);
    }
    QSettings().setValue("scale", 100'000);
    inspector::applySavedScale();
    QCOMPARE(inspector::windowScale(), 300);
  }

  void panelsAndNotebookGrowTogether() {
    const auto window = opened(sample("noisy_square.ipynb"));
    QTRY_VERIFY(window->notebook()->isVisible());
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_VERIFY(timeline(*window)->isVisible());
    auto* rows = timeline(*window)->findChild<QTableView*>();
    const int row = rows->verticalHeader()->defaultSectionSize();
    const auto* canvas = window->findChild<inspector::TapeView*>()->findChild<inspector::CanvasWidget*>();
    QCOMPARE(canvas->letters(), 1.0);
    const int notebook = window->notebook()->widget()->height();
    for (int i = 0; i < 3; ++i) QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QTRY_VERIFY(rows->verticalHeader()->defaultSectionSize() > 1.25 * row);
    QVERIFY(qAbs(canvas->letters() - 1.5) < 0.01);
    QTRY_VERIFY(window->notebook()->widget()->height() > 1.2 * notebook);
    shots(window.get(), "scale-150");
    // Presenting is larger yet.
    QTest::keyClick(window.get(), Qt::Key_4, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(canvas->letters() > 1.6);
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window.get(), Qt::Key_0, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(inspector::windowScale(), 100);
    QTRY_COMPARE(rows->verticalHeader()->defaultSectionSize(), row);
    QCOMPARE(canvas->letters(), 1.0);
  }

  /// Every button with an icon, those of the cell's tools among them, which stay clear of the cell.
  void everyIconGrows() {
    const auto window = opened(sample("noisy_square.ipynb"));
    QTRY_VERIFY(window->notebook()->isVisible());
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_VERIFY(timeline(*window)->isVisible());
    const auto* tools = window->findChild<CellToolbar*>();
    QTRY_VERIFY(tools && tools->isVisible());
    const auto icons = [&] {
      QHash<const QAbstractButton*, int> heights;
      for (const auto* button : window->findChildren<QAbstractButton*>())
        if (button->isVisible() && !button->icon().isNull()) heights[button] = button->iconSize().height();
      return heights;
    };
    const auto clear = [&] {
      const int cell = window->notebook()->currentCell();
      const QWidget* editor = nullptr;
      for (const auto* each : window->findChildren<CellWidget*>())
        if (each->id() == window->document()->cell(cell).id) editor = each->editor();
      const QRect place(tools->mapTo(window.get(), QPoint()), tools->size());
      return editor && !QRect(editor->mapTo(window.get(), QPoint()), editor->size()).intersects(place);
    };
    QVERIFY(clear());
    const auto before = icons();
    QVERIFY(before.size() > 20);
    const int height = tools->height();
    const auto* dock = window->findChild<QDockWidget*>("panel.ops");
    const auto* close = dock->findChild<QAbstractButton*>("qt_dockwidget_closebutton");
    QVERIFY(close && close->isVisible());
    const int title = dock->widget()->y(), closing = close->height();
    for (int i = 0; i < 5; ++i) QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 200);
    QTRY_VERIFY(tools->height() > 1.9 * height);
    QTRY_VERIFY(clear());
    QTRY_VERIFY(dock->widget()->y() > 1.6 * title);
    QTRY_VERIFY(close->height() > 1.6 * closing);
    const auto after = icons();
    for (auto button = before.begin(); button != before.end(); ++button)
      if (after.contains(button.key()))
        QVERIFY2(after[button.key()] >= 1.9 * button.value(),
                 qPrintable(QString("%1 %2: %3, then %4")
                                .arg(button.key()->objectName(), button.key()->accessibleName())
                                .arg(button.value())
                                .arg(after[button.key()])));
    screenshot(window.get(), "scale-200-icons");
  }

  /// At 150 % and 1280 pixels every tool is in sight; where one is not, a button shows it.
  void noToolIsOutOfReach() {
    const auto window = opened(sample("noisy_square.ipynb"));
    window->resize(1280, 800);
    auto* bar = window->findChild<QToolBar*>("toolbar.main");
    QTRY_VERIFY(bar->isVisible() && bar->width() == 1280);
    auto* run =
        qobject_cast<QToolButton*>(bar->widgetForAction(window->findChild<QAction*>("cell.run_advance")));
    QVERIFY(run);
    const auto hidden = [&] {
      QStringList names;
      for (QAction* action : bar->actions()) {
        const QWidget* widget = bar->widgetForAction(action);
        if (!widget || action->isSeparator() || action->objectName().isEmpty()) continue;
        if (!widget->isVisible() || !bar->rect().contains(widget->geometry())) names << action->objectName();
      }
      return names;
    };
    QTRY_COMPARE(run->toolButtonStyle(), Qt::ToolButtonTextBesideIcon);
    QCOMPARE(hidden(), QStringList());
    for (int i = 0; i < 3; ++i) QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 150);
    QTRY_COMPARE(run->toolButtonStyle(), Qt::ToolButtonIconOnly);
    QTRY_COMPARE(hidden(), QStringList());
    QVERIFY(!run->accessibleName().isEmpty() && !run->toolTip().isEmpty());
    screenshot(window.get(), "scale-150-tools");
    window->resize(2560, 1440);
    QTRY_COMPARE(run->toolButtonStyle(), Qt::ToolButtonTextBesideIcon);
    QTRY_COMPARE(hidden(), QStringList());
    window->resize(1280, 800);
    for (int i = 0; i < 3; ++i) QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QCOMPARE(inspector::windowScale(), 250);
    const auto* more = bar->findChild<QToolButton*>("qt_toolbar_ext_button");
    QTRY_VERIFY(!hidden().isEmpty());
    QTRY_VERIFY(more->isVisible() && more->width() >= 40);
    QVERIFY(!more->accessibleName().isEmpty());
    inspector::setWindowScale(100);
    QTRY_COMPARE(run->toolButtonStyle(), Qt::ToolButtonTextBesideIcon);
    QTRY_COMPARE(hidden(), QStringList());
  }

  void aCellsToolsGrowInPresent() {
    const auto window = opened(sample("noisy_square.ipynb"));
    QTRY_VERIFY(window->notebook()->isVisible());
    QTest::keyClick(window.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    const auto* tools = window->findChild<CellToolbar*>();
    QTRY_VERIFY(tools && tools->isVisible());
    const int height = tools->height(), icon = tools->button(CellAction::run)->iconSize().height();
    QTest::keyClick(window.get(), Qt::Key_4, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY2(tools->height() > 1.3 * height, qPrintable(QString::number(tools->height())));
    QVERIFY(tools->button(CellAction::run)->iconSize().height() > 1.3 * icon);
    // They stay clear of the cell's text.
    const QString id = tools->cellId();
    const auto clear = [&] {
      for (const auto* cell : window->findChildren<CellWidget*>())
        if (cell->id() == id && cell->editor())
          return !QRect(cell->editor()->mapTo(window.get(), QPoint()), cell->editor()->size())
                      .intersects(QRect(tools->mapTo(window.get(), QPoint()), tools->size()));
      return false;
    };
    QTRY_VERIFY(clear());
    shots(window.get(), "present-tools");
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(tools->height(), height);
  }

  void withAltTheNotebookGrowsAlone() {
    const auto window = opened(sample("noisy_square.ipynb"));
    QTRY_VERIFY(window->notebook()->isVisible());
    const double points = window->menuBar()->font().pointSizeF();
    const auto height = [&] { return window->notebook()->widget()->height(); };
    const int before = settled(height, 60);  // formulas come when they are set
    for (int i = 0; i < 4; ++i)
      QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(height() > before);
    QCOMPARE(inspector::windowScale(), 100);
    QCOMPARE(window->menuBar()->font().pointSizeF(), points);
    QTest::keyClick(window.get(), Qt::Key_Minus, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window.get(), Qt::Key_Equal, Qt::ControlModifier);
    QCOMPARE(chooseInMenus(window.get(), "view.usual_size"), QString());
    QCOMPARE(inspector::windowScale(), 100);
    QTRY_COMPARE(height(), before);
  }
};

TAPEDECK_TEST(TestWindowScale)
#include "tst_window_scale.moc"
