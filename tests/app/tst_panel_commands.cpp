// What Breakpoints, Variables and Console do, once by their keys and once from their menus, by the mouse.
#include <QClipboard>
#include <QLineEdit>
#include <QListView>
#include <QPlainTextEdit>
#include <QTabBar>
#include <QTreeWidget>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/model/variables/watch_model.h"
#include "inspector/panels/console/console_input.h"
#include "inspector/panels/console/console_view.h"
#include "inspector/panels/variables/value_view.h"
#include "inspector/panels/variables/variables_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::ValueTree;
using protocol::BreakpointKind;

class TestPanelCommands : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;
  bool byMouse_ = false;

  /// `panel`/`text` in the menus, or its key, where the focus is.
  void act(const QString& panel, const QString& text, Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    if (byMouse_) {
      const QString trouble = chooseInMenus(window_.get(), panel + '/' + text);
      QVERIFY2(trouble.isEmpty(), qPrintable(trouble));
    } else {
      QVERIFY2(QApplication::focusWidget(), qPrintable(text));
      QTest::keyClick(QApplication::focusWidget(), key, modifiers);
    }
  }
  void showPanel(Qt::Key key, QWidget* part) {
    const auto inSight = [part] { return part->isVisible() && !part->visibleRegion().isEmpty(); };
    if (!inSight()) QTest::keyClick(window_.get(), key, Qt::ControlModifier);
    QTRY_VERIFY(inSight());
  }
  static void bothWays() {
    QTest::addColumn<bool>("mouse");
    QTest::newRow("keys") << false;
    QTest::newRow("menus") << true;
  }

  // ---- Breakpoints
  const std::vector<inspector::BreakpointEntry>& breakpoints() { return window_->breakpoints()->all(); }
  QTreeWidget* list() { return window_->findChild<QTreeWidget*>("breakpoints"); }
  void clickRow(int row) {
    QTest::mouseClick(list()->viewport(), Qt::LeftButton, {},
                      list()->visualItemRect(list()->topLevelItem(row)).center());
    QTRY_VERIFY(list()->hasFocus());
  }

  // ---- Variables
  inspector::VariablesView* variables() { return window_->findChild<inspector::VariablesView*>(); }
  QModelIndex row(const QString& name) {
    const QAbstractItemModel* model = variables()->table()->model();
    for (int group = 0; group < model->rowCount(); ++group) {
      const QModelIndex top = model->index(group, 0);
      for (int i = 0; i < model->rowCount(top); ++i)
        if (model->index(i, 0, top).data().toString() == name) return model->index(i, 0, top);
    }
    return {};
  }
  void clickVariable(const QString& name) {
    QTRY_VERIFY2_WITH_TIMEOUT(row(name).isValid(), qPrintable(name), patience);
    auto* table = variables()->table();
    table->scrollTo(row(name));
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(row(name)).center());
    QTRY_VERIFY(table->hasFocus());
  }
  QString firstGroup() { return variables()->table()->model()->index(0, 0).data().toString(); }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void breakpointsPanel_data() { bothWays(); }
  void breakpointsPanel() {
    QFETCH(bool, mouse);
    byMouse_ = mouse;
    const QString panel = "Breakpoints";
    openCells(folder_, {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x"});
    click(0);
    press(Qt::Key_F9);
    QCOMPARE(breakpoints().size(), std::size_t{1});
    showPanel(Qt::Key_0, list());
    clickRow(0);
    act(panel, "Switch on or off", Qt::Key_Space, Qt::ShiftModifier);
    QTRY_VERIFY(!breakpoints()[0].breakpoint.enabled);
    act(panel, "Switch on or off", Qt::Key_Space, Qt::ShiftModifier);
    QTRY_VERIFY(breakpoints()[0].breakpoint.enabled);
    act(panel, "Edit", Qt::Key_F2);
    QTRY_VERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
    QTest::keyClicks(QApplication::focusWidget(), "max(out) > 3");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QTRY_COMPARE(breakpoints()[0].breakpoint.condition, std::string("max(out) > 3"));
    clickRow(0);
    act(panel, "Go to its line", Qt::Key_Return, Qt::AltModifier);
    QTRY_VERIFY(editorOf(0)->hasFocus());
    clickRow(0);
    // One of each kind; the form waits for what it is about.
    const auto both = Qt::AltModifier | Qt::ShiftModifier;
    const struct {
      const char* text;
      Qt::Key key;
      BreakpointKind kind;
    } kinds[] = {{"Where a condition holds", Qt::Key_C, BreakpointKind::condition},
                 {"At an op", Qt::Key_O, BreakpointKind::op},
                 {"At a VJP", Qt::Key_V, BreakpointKind::vjp},
                 {"At each playback", Qt::Key_P, BreakpointKind::playback},
                 {"Where a variable is read", Qt::Key_R, BreakpointKind::read},
                 {"Where a variable is written", Qt::Key_W, BreakpointKind::write}};
    std::size_t count = 1;
    for (const auto& one : kinds) {
      act(panel, one.text, one.key, both);
      ++count;
      QTRY_COMPARE(breakpoints().size(), count);
      QCOMPARE(breakpoints().back().breakpoint.kind, one.kind);
    }
    clickRow(0);
    while (!breakpoints().empty()) {
      act(panel, "Remove", Qt::Key_Delete);
      --count;
      QTRY_COMPARE(breakpoints().size(), count);
    }
  }

  void variablesPanel_data() { bothWays(); }
  void variablesPanel() {
    QFETCH(bool, mouse);
    byMouse_ = mouse;
    const QString panel = "Variables";
    openCells(folder_, {"import tapedeck as tf\nrate = 0.5\nimage = tf.reshape(tf.range(6.), [2, 3])",
                        "def inner(h):\n    return h * 2.\ndef outer(v):\n    return inner(v + "
                        "1.)\nouter(tf.constant(1.))"});
    click(0);
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    showPanel(Qt::Key_7, variables());
    clickVariable("image");
    QGuiApplication::clipboard()->clear();
    act(panel, "Copy expression", Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(QGuiApplication::clipboard()->text(), QString("image"));
    act(panel, "Copy value", Qt::Key_C, Qt::ControlModifier);
    QTRY_VERIFY2(QGuiApplication::clipboard()->text().contains("3."),
                 qPrintable(QGuiApplication::clipboard()->text()));
    act(panel, "Show in Tensor", Qt::Key_T, Qt::ControlModifier);
    const auto* shown = tensor(*window_)->model();
    QTRY_VERIFY_WITH_TIMEOUT(shown->tile() && shown->chip()->label == "image", patience);
    // A watch expression comes and goes.
    clickVariable("rate");
    act(panel, "Watch it", Qt::Key_Insert);
    auto* watches = variables()->watchTable();
    QTRY_COMPARE(watches->model()->rowCount(), 1);
    QTRY_VERIFY(watches->isVisible());
    QTest::mouseClick(watches->viewport(), Qt::LeftButton, {},
                      watches->visualRect(watches->model()->index(0, 0)).center());
    QTRY_VERIFY(watches->hasFocus());
    act(panel, "Remove the expression", Qt::Key_Delete);
    QTRY_COMPARE(watches->model()->rowCount(), 0);
    clickVariable("rate");
    act(panel, "New watch expression", Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(variables()->watchEdit()->hasFocus());
    clickVariable("rate");
    act(panel, "Edit value", Qt::Key_F2);
    QTRY_VERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    field->selectAll();
    QTest::keyClicks(field, "0.25");
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(row("rate").siblingAtColumn(ValueTree::Value).data().toString(),
                              QString("0.25"), patience);
    clickVariable("rate");
    act(panel, "Filter", Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(variables()->filterEdit()->hasFocus());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    // Modules are listed when they are asked for.
    clickVariable("rate");
    QVERIFY(!row("tf").isValid());
    act(panel, "Functions, classes and modules, too", Qt::Key_F, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(row("tf").isValid());
    // The frames of a stop.
    click(1);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    const auto first = session().stop();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != first, patience);
    QTRY_COMPARE_WITH_TIMEOUT(firstGroup(), QString("Locals of inner"), patience);
    clickVariable("h");
    act(panel, "Frame of the caller", Qt::Key_PageDown, Qt::AltModifier);
    QTRY_COMPARE_WITH_TIMEOUT(firstGroup(), QString("Locals of outer"), patience);
    clickVariable("v");
    act(panel, "Frame that was called", Qt::Key_PageUp, Qt::AltModifier);
    QTRY_COMPARE_WITH_TIMEOUT(firstGroup(), QString("Locals of inner"), patience);
  }

  void consolePanel_data() { bothWays(); }
  void consolePanel() {
    QFETCH(bool, mouse);
    byMouse_ = mouse;
    openCells(folder_, {"import tapedeck as tf\nx = tf.constant(1.) + 1."});
    click(0);
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    auto* console = window_->findChild<inspector::ConsoleView*>();
    QTRY_VERIFY(!session().status().running_cell);  // until then it takes no code
    showPanel(Qt::Key_8, console);
    auto* input = console->input();
    QTest::mouseClick(input->viewport(), Qt::LeftButton, {}, QPoint(5, 5));
    QTRY_VERIFY(input->hasFocus());
    const auto enter = [&](const QString& code) {
      QTest::keyClicks(input, code);
      QTest::keyClick(input, Qt::Key_Return);
    };
    enter("x * 10.");
    QTRY_VERIFY2_WITH_TIMEOUT(console->output()->toPlainText().contains("20."),
                              qPrintable(console->output()->toPlainText()), patience);
    act("Console", "Clear", Qt::Key_L, Qt::ControlModifier);
    QTRY_COMPARE(console->output()->toPlainText(), QString());
    QTRY_VERIFY(input->hasFocus());
    enter("while True: pass");
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY(console->model()->running());
    act("Console", "Stop", Qt::Key_Period, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!console->model()->running(), patience);
    enter("x + 1.");
    QTRY_VERIFY_WITH_TIMEOUT(console->output()->toPlainText().contains("3."), patience);
  }
};

TAPEDECK_TEST(TestPanelCommands)
#include "tst_panel_commands.moc"
