// The command palette, find and replace and the panels' keys in a whole window, by keys and mouse.
#include <QDockWidget>
#include <QLineEdit>
#include <QListWidget>
#include <QToolButton>

#include "app/notebook/find/find_bar.h"
#include "app/notebook/view/popups.h"
#include "app/shell/panels/panel_docks.h"
#include "app/shell/window/command_palette.h"
#include "app/shell/window/fuzzy_match.h"
#include "app/shell/window/samples.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestCommandPalette : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void open(const QStringList& cells) {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "palette.ipynb", cells));
    QVERIFY(waitFor([&] { return window_->notebook()->isVisible(); }, patience));
  }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : window_.get(), static_cast<Qt::Key>(key), modifiers);
  }
  void pressSequence(const QKeySequence& keys) { press(keys[0].key(), keys[0].keyboardModifiers()); }
  CommandPalette* palette() { return window_->findChild<CommandPalette*>(); }
  QListWidget* list() { return window_->findChild<QListWidget*>("paletteList"); }
  void type(const QString& text) { QTest::keyClicks(QApplication::focusWidget(), text); }
  QString chosen() { return list()->currentItem() ? list()->currentItem()->text() : QString(); }
  QString spoken(int row) { return list()->item(row)->data(Qt::AccessibleTextRole).toString(); }
  bool inNotebook() {
    const QWidget* focus = QApplication::focusWidget();
    return focus && (focus == window_->notebook() || window_->notebook()->isAncestorOf(focus));
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void lettersFitInTheirOrder() {
    QCOMPARE(fuzzyMatch("Insert cell above", "x").score, 0);
    QVERIFY(fuzzyMatch("Insert cell above", "ica").score > 0);
    QCOMPARE(fuzzyMatch("Insert cell above", "ica").places, (QList<int>{0, 7, 12}));
    QCOMPARE(fuzzyMatch("Insert cell above", "aci").score, 0);
    QVERIFY(fuzzyMatch("Insert cell above", "above insert").score > 0);
    QVERIFY(fuzzyMatch("Run all cells", "ra").score > fuzzyMatch("Rerun at last", "al").score - 1);
    QVERIFY(fuzzyMatch("Run cell", "run").score > fuzzyMatch("Report unit names", "run").score);
    QVERIFY(fuzzyMatch("Save", "save").score > fuzzyMatch("Save as", "save").score);
    QCOMPARE(fuzzyMatch("anything", "").score, 0);
  }

  void itHasEveryActionOfTheMenus() {
    open({"1"});
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(palette()->isVisible());
    QStringList texts;
    for (int i = 0; i < list()->count(); ++i) texts << spoken(i);
    for (const QAction* action : window_->findChildren<QAction*>()) {
      if (action->shortcut().isEmpty() || action->text().isEmpty() || action->menu() ||
          !action->isVisible() || action->objectName() == "view.palette")
        continue;
      const QString text = QString(action->text()).remove('&').remove("…");
      const QString key = action->shortcut().toString(QKeySequence::NativeText);
      const bool there = std::any_of(texts.begin(), texts.end(), [&](const QString& line) {
        return line.startsWith(text + ", ") && line.contains(", " + key);
      });
      QVERIFY2(there, qPrintable(text + " " + key));
    }
    screenshot(window_.get(), "palette");
  }

  void anEmptyMenuHasNoCommand() {
    window_ = newWindow();
    QVERIFY(recentNotebooks().isEmpty());
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(palette()->isVisible());
    QVERIFY(list()->count() > 20);
    for (int i = 0; i < list()->count(); ++i)
      QVERIFY2(!spoken(i).contains("No notebooks yet"), qPrintable(spoken(i)));
  }

  void aFewLettersRunACommandAndTheFocusGoesBack() {
    open({"x = 1", "y = 2"});
    window_->notebook()->setCurrentCell(0, true);
    QWidget* const editor = QApplication::focusWidget();
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    type("insbelow");
    QCOMPARE(chosen(), "Insert cell below");
    press(Qt::Key_Escape);
    QVERIFY(!palette()->isVisible());
    QCOMPARE(QApplication::focusWidget(), editor);
    QCOMPARE(window_->document()->cellCount(), 2);
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    type("insbelow");
    press(Qt::Key_Return);
    QVERIFY(!palette()->isVisible());
    QCOMPARE(window_->document()->cellCount(), 3);
    QVERIFY(inNotebook());
    // What was used last is first.
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(chosen(), "Insert cell below");
    press(Qt::Key_Tab);
    QVERIFY(window_->findChild<QLineEdit*>("paletteField")->hasFocus());
    press(Qt::Key_Down);
    QVERIFY(chosen() != "Insert cell below");
    press(Qt::Key_Up);
    QTest::mouseClick(list()->viewport(), Qt::LeftButton, {},
                      list()->visualItemRect(list()->item(0)).center());
    QTRY_COMPARE(window_->document()->cellCount(), 4);
  }

  void whatIsDisabledSaysWhy() {
    window_ = newWindow();
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(palette()->isVisible());
    type("insbelow");
    QVERIFY2(spoken(0).endsWith("not now: it needs an open notebook"), qPrintable(spoken(0)));
    press(Qt::Key_Return);
    QVERIFY(palette()->isVisible());
    screenshot(window_.get(), "palette-start-page");
    press(Qt::Key_Escape);
    QVERIFY(!palette()->isVisible());
  }

  void aClickElsewhereClosesIt() {
    open({"x = 1"});
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    window_->notebook()->setFocus(Qt::MouseFocusReason);
    QTRY_VERIFY(!palette()->isVisible());
    QVERIFY(inNotebook());
  }

  void findAndReplaceByKeysAlone() {
    open({"alpha = 1", "beta = alpha + alpha"});
    auto* bar = window_->findChild<FindBar*>();
    window_->notebook()->setFocus();
    press(Qt::Key_F, Qt::ControlModifier);
    QVERIFY(bar->isVisible());
    type("alpha");
    QTRY_COMPARE(bar->findChild<QLabel*>("findSummary")->text(), "1 of 3 · cell 1, line 1");
    // Elsewhere Shift+Enter runs a cell.
    press(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(bar->findChild<QLabel*>("findSummary")->text(), "3 of 3 · cell 2, line 1");
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);
    press(Qt::Key_F3);
    QCOMPARE(bar->findChild<QLabel*>("findSummary")->text(), "1 of 3 · cell 1, line 1");
    press(Qt::Key_H, Qt::ControlModifier);
    auto* by = bar->findChild<QLineEdit*>("replaceField");
    QVERIFY(by->isVisible());
    for (int i = 0; i < 20 && !by->hasFocus(); ++i) press(Qt::Key_Tab);
    QVERIFY(by->hasFocus());
    type("gamma");
    for (int i = 0; i < 4 && QApplication::focusWidget()->objectName() != "replaceAll"; ++i)
      press(Qt::Key_Tab);
    press(Qt::Key_Space);
    QCOMPARE(window_->document()->cell(1).source, "beta = gamma + gamma");
    QTRY_VERIFY(!bar->finder()->searching());
    shots(window_.get(), "find-replaced");
    press(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window_->document()->cell(0).source, "alpha = 1");
    QCOMPARE(window_->document()->cell(1).source, "beta = alpha + alpha");
    QTRY_VERIFY(bar->finder()->count() == 3 && !bar->finder()->searching());
    shots(window_.get(), "find-hits");
    press(Qt::Key_Escape);
    QVERIFY(!bar->isVisible());
    QVERIFY(inNotebook());
  }

  void inAPanelWithAFilterCtrlFGoesThere() {
    open({"1"});
    window_->panels()->reveal("variables");
    auto* filter = window_->findChild<QLineEdit*>("variablesFilter");
    QTRY_VERIFY(filter->isVisible());
    QTest::mouseClick(filter, Qt::LeftButton);
    press(Qt::Key_F, Qt::ControlModifier);
    QVERIFY(filter->hasFocus());
    QVERIFY(!window_->findChild<FindBar*>()->isVisible());
  }

  void splitByItsKeyAndSelectedCellsInPictures() {
    open({"a = 1\nb = 2", "c = 3", "d = 4"});
    window_->notebook()->setCurrentCell(0, true);
    press(Qt::Key_Down);
    press(Qt::Key_Underscore, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(window_->document()->cellCount(), 4);
    QCOMPARE(window_->document()->cell(1).source, "b = 2");
    press(Qt::Key_Escape);
    press(Qt::Key_J, Qt::ShiftModifier);
    QCOMPARE(window_->notebook()->selectedCells(), (QList<int>{1, 2}));
    shots(window_.get(), "cells-selected");
  }

  void namesAreOfferedByTheSessionAndWhileItIsBusyByTheNotebook() {
    open({"import math\nlong_name = 1", "", "import time\ntime.sleep(1000)"});
    auto* popup = window_->notebook()->findChild<CompletionPopup*>();
    window_->notebook()->setCurrentCell(0, false);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(cellStateOf(*window_, 0), CellState::done);
    QTRY_COMPARE(window_->kernel()->state(), KernelState::idle);
    window_->notebook()->setCurrentCell(1, true);
    type("math.");
    QTRY_VERIFY(popup->isVisible());
    QVERIFY2(popup->shown().contains("math.cos") || popup->shown().contains("cos"),
             qPrintable(popup->shown().join(' ')));
    press(Qt::Key_Escape);
    QVERIFY(!popup->isVisible());
    // A cell that runs does not hold up what is typed.
    window_->notebook()->setCurrentCell(2, false);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(cellStateOf(*window_, 2), CellState::busy);
    window_->notebook()->setCurrentCell(1, true);
    press(Qt::Key_End);
    press(Qt::Key_Return);
    type("long");
    QTRY_VERIFY(popup->isVisible());
    QCOMPARE(popup->shown(), QStringList{"long_name"});
    press(Qt::Key_Tab);
    QVERIFY(window_->document()->cell(1).source.endsWith("\nlong_name"));
    QVERIFY(window_->kernel()->state() == KernelState::busy);
    // Switched off by its menu entry.
    const QString trouble = chooseInMenus(window_.get(), "edit.complete_typing");
    QVERIFY2(trouble.isEmpty(), qPrintable(trouble));
    window_->notebook()->setCurrentCell(1, true);
    press(Qt::Key_End);
    press(Qt::Key_Return);
    type("long");
    nothingMayHappenFor(300);
    QVERIFY(!popup->isVisible());
    window_->kernel()->interrupt();
    QTRY_VERIFY(cellStateOf(*window_, 2) != CellState::busy);
  }

  // After its key was pressed twice nothing had the keyboard.
  void aPanelThatIsHiddenGivesTheKeyboardToTheNotebook_data() {
    QTest::addColumn<bool>("ran");
    QTest::addColumn<bool>("editing");
    QTest::addColumn<bool>("debug");
    QTest::newRow("nothing ran") << false << false << false;
    QTest::newRow("nothing ran, from a text") << false << true << false;
    QTest::newRow("a cell ran, from a text") << true << true << false;
    QTest::newRow("a cell ran, the panels of Debug") << true << false << true;
  }
  void aPanelThatIsHiddenGivesTheKeyboardToTheNotebook() {
    QFETCH(bool, ran);
    QFETCH(bool, editing);
    QFETCH(bool, debug);
    open({"import tapedeck as tf\nx = tf.ones([2, 2])\nx + 1."});
    window_->notebook()->setCurrentCell(0, false);
    if (debug) press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    if (ran) {
      press(Qt::Key_Return, Qt::ControlModifier);
      QTRY_COMPARE(cellStateOf(*window_, 0), CellState::done);
    }
    for (const inspector::PanelDescriptor& panel : window_->panels()->descriptors()) {
      auto* dock = window_->findChild<QDockWidget*>("panel." + panel.id);
      for (const bool by_mouse : {false, true}) {
        window_->notebook()->setFocus();
        if (editing) press(Qt::Key_Return);
        const QPointer<QWidget> before = QApplication::focusWidget();
        QVERIFY(inNotebook());
        pressSequence(panel.key);
        const auto entered = [dock] {
          const QWidget* focus = QApplication::focusWidget();
          return dock->isVisible() && (focus == dock || dock->isAncestorOf(focus));
        };
        QTRY_VERIFY2(entered(), qPrintable(panel.title));
        if (by_mouse) {
          auto* button = dock->findChild<QAbstractButton*>("qt_dockwidget_closebutton");
          QVERIFY2(button, qPrintable(panel.title));
          QTest::mouseClick(button, Qt::LeftButton);
        } else {
          pressSequence(panel.key);
        }
        QTRY_VERIFY2(dock->isHidden(), qPrintable(panel.title));
        const auto back = [&] {
          const QWidget* focus = QApplication::focusWidget();
          return focus && focus == before;
        };
        QTRY_VERIFY2(back(), qPrintable(panel.title));
      }
    }
  }
};

TAPEDECK_TEST(TestCommandPalette)
#include "tst_command_palette.moc"
