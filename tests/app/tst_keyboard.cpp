// The window without a mouse: where Tab goes, the way into panels and back, what shows the focus.
#include <QAccessible>
#include <QDockWidget>
#include <QPlainTextEdit>
#include <QSet>
#include <QTabBar>
#include <QTableView>

#include "app/shell/panels/panel_docks.h"
#include "app/shell/window/focus_ring.h"
#include "inspector/panels/panel.h"
#include "inspector/ui/theme.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

QRect rectIn(const QWidget* widget, const QWidget* window) {
  return {widget->mapTo(window, QPoint()), widget->size()};
}

QString named(const QWidget* widget) {
  if (!widget) return "nothing";
  return QString("%1 %2 “%3”")
      .arg(widget->metaObject()->className(), widget->objectName(), widget->accessibleName());
}

/// All that a screen reader finds below it, itself included.
void collect(QAccessibleInterface* one, QSet<const QObject*>* found) {
  if (one->object()) *found << one->object();
  for (int i = 0; i < one->childCount(); ++i)
    if (QAccessibleInterface* child = one->child(i)) collect(child, found);
}

}  // namespace

class TestKeyboard : public QObject, private SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  static QWidget* focus() { return QApplication::focusWidget(); }
  QWidget* panelWidget(const char* name) const { return window_->findChild<QWidget*>(name); }
  inspector::Panel* panel(const QString& id) const { return window_->panels()->panel(id); }
  bool focusIn(const QWidget* tree) const {
    return focus() && (focus() == tree || tree->isAncestorOf(focus()));
  }
  QKeySequence keyOf(const QString& id) const {
    for (const auto& descriptor : window_->panels()->descriptors())
      if (descriptor.id == id) return descriptor.key;
    return {};
  }
  void pressKeyOf(const QString& id) { QTest::keySequence(focus() ? focus() : window_.get(), keyOf(id)); }

  /// From the start page: a notebook that is paused in its second cell, with the Debug workspace's panels.
  void pauseInOps() {
    openCells(folder_,
              {"import tapedeck as tf\nx = tf.constant([[1., 2.], [3., 4.]])\ny = x + x\nz = tf.exp(y)"});
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().recordCount() == 2, patience);
    pressKeyOf("ops");
    QTRY_VERIFY2(focusIn(timeline(*window_)->table()), qPrintable(named(focus())));
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    if (window_ && window_->kernel()) window_->kernel()->interrupt();
    window_.reset();
    QSettings().clear();
  }

  void tabGoesOnlyWhereSomethingIsInSight() {
    pauseInOps();
    const QWidget* const table = focus();
    QSet<const QWidget*> seen;
    bool around = false;
    for (int i = 0; i < 200 && !around; ++i) {
      press(Qt::Key_Tab);
      QVERIFY(focus());
      QVERIFY2(window_->rect().contains(rectIn(focus(), window_.get()).center()), qPrintable(named(focus())));
      QVERIFY2(!focusIn(panel("console")), "Console is behind Ops");
      seen << focus();
      around = focus() == table;
      // The text of a cell keeps Tab for itself; Esc leaves it, and the notebook.
      if (window_->notebook()->isAncestorOf(focus()) && qobject_cast<CodeEditor*>(focus())) break;
    }
    QVERIFY(seen.size() > 8);
    // The same way back.
    timeline(*window_)->table()->setFocus();
    for (int i = 0; i < 12; ++i) {
      press(Qt::Key_Tab, Qt::ShiftModifier);
      QVERIFY2(window_->rect().contains(rectIn(focus(), window_.get()).center()), qPrintable(named(focus())));
    }
  }

  // Four presses from Ops used to run code in a hidden Console.
  void whatIsTypedRunsInNoHiddenConsole() {
    pauseInOps();
    for (int i = 0; i < 4; ++i) press(Qt::Key_Tab);
    QTest::keyClicks(focus(), "print(6*7)");
    press(Qt::Key_Return);
    nothingMayHappenFor(500);
    QCOMPARE(window_->findChild<QPlainTextEdit*>("consoleOutput")->toPlainText(), QString());
  }

  void tabLeavesConsolesEmptyLine() {
    pauseInOps();
    pressKeyOf("console");
    auto* input = window_->findChild<QPlainTextEdit*>("consoleInput");
    QTRY_VERIFY2(focus() == input, qPrintable(named(focus())));
    press(Qt::Key_Tab);
    QVERIFY2(focus() != input, "Tab stays in the empty line");
    window_->notebook()->setFocus();  // from inside the key would hide the panel
    pressKeyOf("console");
    QTRY_VERIFY(focus() == input);
    press(Qt::Key_Tab, Qt::ShiftModifier);
    QVERIFY2(focus() != input, "Shift+Tab stays in the empty line");
    window_->notebook()->setFocus();
    pressKeyOf("console");
    QTRY_VERIFY(focus() == input);
    QTest::keyClicks(input, "pri");
    press(Qt::Key_Tab);  // completes
    QVERIFY(focus() == input);
    QTRY_VERIFY_WITH_TIMEOUT(input->toPlainText() == "print", patience);
  }

  void aPanelThatGoesBehindAnotherGivesTheFocusUp() {
    pauseInOps();
    pressKeyOf("console");
    auto* input = window_->findChild<QPlainTextEdit*>("consoleInput");
    QTRY_VERIFY(focus() == input);
    bool clicked = false;
    for (auto* bar : window_->findChildren<QTabBar*>())
      for (int i = 0; i < bar->count() && bar->isVisible() && !clicked; ++i)
        if (bar->tabText(i) == "Ops") {
          QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(i).center());
          clicked = true;
        }
    QVERIFY(clicked);
    QTRY_VERIFY2(!focusIn(panel("console")), qPrintable(named(focus())));
    QVERIFY(focus() && window_->rect().contains(rectIn(focus(), window_.get()).center()));
  }

  void eachPanelsKeyLeadsIntoItAndEscapeBack() {
    pauseInOps();
    for (const auto& descriptor : window_->panels()->descriptors()) {
      window_->notebook()->setFocus();
      pressKeyOf(descriptor.id);
      // Where nothing in it takes keys its frame does.
      const auto* there = window_->findChild<QDockWidget*>("panel." + descriptor.id);
      QTRY_VERIFY2(focusIn(there), qPrintable(descriptor.id + ": " + named(focus())));
      const auto* ring = window_->findChild<FocusRing*>();
      QTRY_VERIFY2(ring->around() == focus(), qPrintable(descriptor.id + ": " + named(ring->around())));
      for (int i = 0; i < 2 && focusIn(there); ++i) press(Qt::Key_Escape);  // a form may close first
      QVERIFY2(focusIn(window_->notebook()), qPrintable(descriptor.id + ": " + named(focus())));
    }
  }

  void aPanelsKeyHidesItOnlyFromInside() {
    pauseInOps();
    for (const char* id : {"tensor", "tape", "variables", "console", "breakpoints"}) {
      pressKeyOf(id);
      QTRY_VERIFY2(focusIn(panel(id)), id);
      window_->notebook()->setFocus();
      pressKeyOf(id);
      QTRY_VERIFY2(focusIn(panel(id)), id);
      QVERIFY2(panel(id)->isVisible(), id);
      pressKeyOf(id);
      QTRY_VERIFY2(!panel(id)->isVisible(), id);
      QVERIFY2(focusIn(window_->notebook()), qPrintable(QString("%1: %2").arg(id, named(focus()))));
    }
  }

  void escapeClearsAFilterAndThenLeavesThePanel() {
    pauseInOps();
    press(Qt::Key_F, Qt::ControlModifier);
    auto* filter = timeline(*window_)->filterEdit();
    QTRY_VERIFY(focus() == filter);
    QTest::keyClicks(filter, "exp");
    for (int i = 0; i < 3 && !filter->text().isEmpty(); ++i)
      QTest::keyClick(QApplication::activePopupWidget() ? QApplication::activePopupWidget() : focus(),
                      Qt::Key_Escape);
    QVERIFY(filter->text().isEmpty());
    QVERIFY(focusIn(timeline(*window_)));
    press(Qt::Key_Escape);
    QVERIFY(focusIn(window_->notebook()));
    press(Qt::Key_F, Qt::ControlModifier);
    pressKeyOf("ops");
    press(Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(focus() == filter);
    press(Qt::Key_Escape);  // without words it has nothing to clear
    QVERIFY2(focusIn(window_->notebook()), qPrintable(named(focus())));
  }

  void enterOpensASampleOnTheStartPage() {
    window_ = newWindow();
    const auto onSample = [] { return focus() && focus()->objectName() == "open:noisy_square.ipynb"; };
    for (int i = 0; i < 60 && !onSample(); ++i) press(Qt::Key_Tab);
    QVERIFY(onSample());
    press(Qt::Key_Return);
    QTRY_VERIFY(window_->notebook()->isVisible() && document().cellCount() > 3);
  }

  // Also where the style draws nothing: lists, trees, cards.
  void aFrameShowsTheFocus() {
    window_ = newWindow();
    const auto* ring = window_->findChild<FocusRing*>();
    QVERIFY(ring);
    const QColor accent = inspector::Theme::fromPalette(window_->palette()).accent;
    for (int i = 0; i < 6; ++i) {
      press(Qt::Key_Tab);
      QTRY_COMPARE(ring->around(), focus());
      const QRect frame = rectIn(ring, window_.get());
      QVERIFY(frame.intersects(rectIn(focus(), window_.get())));
      const QImage picture = window_->grab().toImage();
      QCOMPARE(picture.pixelColor(frame.topLeft() + QPoint(1, 1)).name(), accent.name());
      QCOMPARE(picture.pixelColor(frame.bottomRight() - QPoint(1, 1)).name(), accent.name());
    }
  }

  void screenReadersFindNothingInHiddenPanels() {
    pauseInOps();
    auto* output = window_->findChild<QPlainTextEdit*>("consoleOutput");
    QSet<const QObject*> found;
    collect(QAccessible::queryAccessibleInterface(window_.get()), &found);
    QVERIFY(found.contains(timeline(*window_)->table()));
    QVERIFY(!found.contains(output));
    pressKeyOf("console");
    QTRY_VERIFY(focusIn(panel("console")));
    found.clear();
    collect(QAccessible::queryAccessibleInterface(window_.get()), &found);
    QVERIFY(found.contains(output));
    QVERIFY(!found.contains(timeline(*window_)->table()));
  }
};

TAPEDECK_TEST(TestKeyboard)
#include "tst_keyboard.moc"
