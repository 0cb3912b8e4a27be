// Going back by keys: Shift+F5 to where a breakpoint last held, F3 from match to match of a filter of values,
// the search in the past; in a session and in a trace. F10 at the end of a cell runs nothing.
#include <QComboBox>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QStatusBar>
#include <QTableView>

#include "app/notebook/view/code_editor.h"
#include "app/shell/opening/trace_control.h"
#include "app/shell/window/past_dialog.h"
#include "app/shell/window/reverse_control.h"
#include "tests/app/slow_search.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

// Of each step: multiply (line 5), subtract (6), assign; w = 1, 2, 4, 8, … 512, and loss = 1/w.
const QStringList past_cells = {
    "import tapedeck as tf\n"
    "w = tf.Variable(1., name='w')\n"
    "for step in range(10):\n"
    "    tf.summary.scalar('loss', 1 / float(w), step=step)\n"
    "    y = w * 2.\n"
    "    z = y - 1.\n"
    "    w.assign(y)"};

}  // namespace

class TestPastSearch : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void open() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "past.ipynb", past_cells));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
  }
  void run() {
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 0) == CellState::done, patience);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_COMPARE_WITH_TIMEOUT(cursor(window_.get()), window_->session()->recordCount(), patience);
  }
  static quint64 cursor(const MainWindow* window) { return window->session()->cursor(); }
  static QString status(const MainWindow* window) { return window->statusBar()->currentMessage(); }
  void addBreakpoint(protocol::BreakpointKind kind, const char* target, const char* condition) {
    protocol::Breakpoint breakpoint;
    breakpoint.kind = kind;
    breakpoint.target = target;
    breakpoint.condition = condition;
    window_->breakpoints()->add(breakpoint);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->breakpoints()->onTheirWay(), patience);
  }
  static const protocol::Record* record(const MainWindow* window) {
    return window->session()->record(window->session()->cursor());
  }
  static std::string opOf(const MainWindow* window) {
    const protocol::Record* at = record(window);
    return at ? at->op : std::string();
  }

  void closeAll() {
    // A window takes its dialogs along, which stand in the list, too.
    QList<QPointer<MainWindow>> others;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* other = qobject_cast<MainWindow*>(widget); other && other != window_.get()) others << other;
    for (const auto& other : others) delete other.data();
  }

  /// The dialog, asked and answered; its answer's label.
  QLabel* ask(const QString& question, int expectedWhich = 0) {
    QTest::keyClick(window_.get(), Qt::Key_F3, Qt::ControlModifier | Qt::ShiftModifier);
    auto* dialog = window_->findChild<PastDialog*>();
    if (!dialog || !waitFor([&] { return dialog->isVisible(); }, patience)) return nullptr;
    dialog->findChild<QComboBox*>("pastWhen")->setCurrentIndex(expectedWhich);
    auto* field = dialog->findChild<QLineEdit*>("pastQuestion");
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, question);
    QTest::keyClick(field, Qt::Key_Return);
    auto* answer = dialog->findChild<QLabel*>("pastAnswer");
    const auto done = [&] { return !answer->text().isEmpty() && !answer->text().startsWith("Searching"); };
    return waitFor(done, patience) ? answer : nullptr;
  }

  /// In the window's session, with records, a search that gets on by the test's word.
  std::unique_ptr<test::SlowSearch> slowDown() {
    auto slow = std::make_unique<test::SlowSearch>(window_->session()->source());
    window_->session()->setSource(slow.get());
    const auto arrived = [this] {
      return window_->session()->recordCount() >= 20 && cursor(window_.get()) >= 20;
    };
    if (!waitFor(arrived, patience)) qWarning("the records did not come again");
    return slow;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    closeAll();
    window_.reset();
  }
  void shiftF5GoesBackFromHitToHit() {
    open();
    run();
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2(status(window_.get()).contains("There is no breakpoint to go back to"),
                 qPrintable(status(window_.get())));
    addBreakpoint(protocol::BreakpointKind::condition, "", "op:multiply max(out) < 100");
    const quint64 newest = cursor(window_.get());
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    // 64 = 32 · 2, in the sixth step.
    QTRY_VERIFY2_WITH_TIMEOUT(
        status(window_.get()).startsWith("Back at op ") && status(window_.get()).contains("it is 64"),
        qPrintable(status(window_.get())), patience);
    const quint64 first = cursor(window_.get());
    QVERIFY(first < newest);
    QTRY_COMPARE_WITH_TIMEOUT(opOf(window_.get()), std::string("multiply"), patience);
    QVERIFY(!window_->session()->following());
    shots(window_.get(), "reverse-continue");
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(status(window_.get()).contains("it is 32"), qPrintable(status(window_.get())),
                              patience);
    QVERIFY(cursor(window_.get()) < first);
    for (int i = 0; i < 4; ++i) {
      const quint64 before = cursor(window_.get());
      QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
      QTRY_VERIFY_WITH_TIMEOUT(cursor(window_.get()) < before, patience);
    }
    const quint64 oldest = cursor(window_.get());
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(status(window_.get()).startsWith("No breakpoint held before here") ||
                                  status(window_.get()).startsWith("This is the session's first record"),
                              qPrintable(status(window_.get())), patience);
    QCOMPARE(cursor(window_.get()), oldest);
  }

  void whatGoingBackCanNotDecideOrReachItSays() {
    open();
    run();
    addBreakpoint(protocol::BreakpointKind::condition, "", "op:multiply step == 3");
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    // It held at one of the ten.
    QTRY_VERIFY2_WITH_TIMEOUT(
        status(window_.get()).startsWith("No breakpoint can be shown to have held before here: ") &&
            status(window_.get()).contains("10 ops could not be decided: what Python names"),
        qPrintable(status(window_.get())), patience);
    window_->breakpoints()->removeAll();
    // `for step in range(10)`: no op is of that line.
    auto* editor = window_->notebook()->findChildren<CodeEditor*>().value(0);
    QVERIFY(editor);
    const QPoint line3(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(3) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, line3);
    QTRY_VERIFY(editor->hasFocus());
    QTest::keyClick(editor, Qt::Key_F9);
    QCOMPARE(window_->breakpoints()->all().size(), std::size_t{1});
    QCOMPARE(window_->breakpoints()->all()[0].breakpoint.line, 3u);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->breakpoints()->onTheirWay(), patience);
    QTRY_VERIFY(window_->findChild<QAction*>("step.reverse")->isEnabled());
    QStringList said;
    connect(window_->statusBar(), &QStatusBar::messageChanged, this,
            [&said](const QString& text) { said << text; });
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(
        status(window_.get()).startsWith("No breakpoint can be shown to have held before here: ") &&
            status(window_.get()).contains("No op is recorded of line 3 of ") &&
            status(window_.get()).contains("going back can't stop there"),
        qPrintable(said.join("\n")), patience);
    disconnect(window_->statusBar(), nullptr, this, nullptr);
    // And beside a hit.
    addBreakpoint(protocol::BreakpointKind::op, "multiply", "");
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(status(window_.get()).startsWith("Back at op ") &&
                                  status(window_.get()).contains("No op is recorded of line 3 of "),
                              qPrintable(status(window_.get())), patience);
  }

  void linesCountAndPausedProgramsStayPaused() {
    open();
    QTRY_VERIFY(!window_->notebook()->findChildren<CodeEditor*>().isEmpty());
    auto* editor = window_->notebook()->findChildren<CodeEditor*>().first();
    const QPoint line6(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(6) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, line6);
    QTRY_VERIFY(editor->hasFocus());
    QTest::keyClick(editor, Qt::Key_F9);
    QTest::keyClick(editor, Qt::Key_Return, Qt::ControlModifier);
    // Before line 6 of each step: one op has run, then three, then five.
    for (const std::uint64_t finished : {1u, 3u, 5u}) {
      QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && window_->session()->status().finished == finished,
                               patience);
      if (finished < 5) QTest::keyClick(window_.get(), Qt::Key_F5);
    }
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(status(window_.get()).contains("line 6"), qPrintable(status(window_.get())),
                              patience);
    QTRY_COMPARE_WITH_TIMEOUT(cursor(window_.get()), quint64{4}, patience);
    QVERIFY(window_->session()->status().gate == protocol::GateState::stopped);
    window_->breakpoints()->removeAll();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->breakpoints()->onTheirWay(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 0) == CellState::done, patience);
  }

  void aTraceIsSearchedAsASessionIs() {
    open();
    addBreakpoint(protocol::BreakpointKind::write, "w", "max(out) > 1e6");
    run();
    const QString path = folder_.filePath("past.tapetrace");
    window_->traces()->saveTo(path);
    QTRY_VERIFY_WITH_TIMEOUT(status(window_.get()).startsWith("Saved"), patience);
    window_->openNotebook(path);
    MainWindow* trace = nullptr;
    const auto find = [&] {
      for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* other = qobject_cast<MainWindow*>(widget); other && other != window_.get() &&
                                                             other->session()->live() &&
                                                             other->session()->recordCount() > 0)
          trace = other;
      return trace != nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(find(), patience);
    QTRY_COMPARE_WITH_TIMEOUT(cursor(trace), trace->session()->recordCount(), patience);
    protocol::Breakpoint breakpoint;
    breakpoint.kind = protocol::BreakpointKind::write;
    breakpoint.target = "w";
    breakpoint.condition = "max(out) < 20";
    trace->breakpoints()->removeAll();
    trace->breakpoints()->add(breakpoint);
    QVERIFY(showActive(trace));
    QTest::keyClick(trace, Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(status(trace).contains("write of w") && status(trace).contains("it is 16"),
                              qPrintable(status(trace)), patience);
    QVERIFY(cursor(trace) < trace->session()->recordCount());
  }

  void aFilterOfValuesFindsOpsAndF3GoesThrough() {
    open();
    run();
    auto* view = timeline(*window_);
    QTRY_VERIFY(view && view->isVisible());
    view->table()->setFocus();
    QTest::keyClick(view->table(), Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(view->filterEdit()->hasFocus());
    QTest::keyClicks(view->filterEdit(), "op:multiply max(abs(out)) > 100");
    QTest::keyClick(view->filterEdit(), Qt::Key_Return);
    // 128, 256, 512 and 1024.
    QTRY_COMPARE_WITH_TIMEOUT(view->model()->listedCount(), 4, patience);
    QTRY_VERIFY_WITH_TIMEOUT(!view->model()->scanning(), patience);
    QTRY_VERIFY(view->table()->hasFocus());
    shots(window_.get(), "ops-values");
    const auto at = [&](int place) { return view->model()->listedRecord(place); };
    QTest::keyClick(view->table(), Qt::Key_F3, Qt::ShiftModifier);
    QTRY_COMPARE(cursor(window_.get()), at(3));
    QTest::keyClick(view->table(), Qt::Key_F3, Qt::ShiftModifier);
    QTRY_COMPARE(cursor(window_.get()), at(2));
    QTest::keyClick(view->table(), Qt::Key_F3);
    QTRY_COMPARE(cursor(window_.get()), at(3));
    QTest::keyClick(view->table(), Qt::Key_F3);
    QCOMPARE(cursor(window_.get()), at(3));
    bool told = false;
    for (const QLabel* label : view->findChildren<QLabel*>())
      told |= label->text().contains("This is the last");
    QVERIFY(told);
  }

  void thePastAnswersWhenItWas() {
    open();
    run();
    QTest::keyClick(window_.get(), Qt::Key_F3, Qt::ControlModifier | Qt::ShiftModifier);
    auto* dialog = window_->findChild<PastDialog*>();
    QTRY_VERIFY_WITH_TIMEOUT(dialog && dialog->isVisible(), patience);
    auto* field = dialog->findChild<QLineEdit*>("pastQuestion");
    auto* answer = dialog->findChild<QLabel*>("pastAnswer");
    auto* go = dialog->findChild<QPushButton*>("pastGo");
    auto* further = dialog->findChild<QPushButton*>("pastFurther");
    auto* which = dialog->findChild<QComboBox*>("pastWhen");
    const auto ask = [&](const QString& text) {
      field->setFocus();
      field->selectAll();
      QTest::keyClicks(field, text);
      QTest::keyClick(field, Qt::Key_Return);
    };
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->series()->series("loss") && window_->series()->series("loss")->size() == 10, patience);
    ask("loss > 0.1");
    QTRY_VERIFY2(answer->text().startsWith("loss was 0.125 at step 3"), qPrintable(answer->text()));
    QVERIFY(go->isEnabled());
    screenshot(dialog, "search-the-past");
    QTest::mouseClick(go, Qt::LeftButton);
    QTRY_VERIFY(cursor(window_.get()) < window_->session()->recordCount());
    QTest::mouseClick(further, Qt::LeftButton);
    QTRY_VERIFY2(answer->text().startsWith("loss was 0.25 at step 2"), qPrintable(answer->text()));
    ask("w < 20");
    QTRY_VERIFY2_WITH_TIMEOUT(answer->text().contains("w: it was 16"), qPrintable(answer->text()), patience);
    ask("w == 64");
    QTRY_VERIFY2_WITH_TIMEOUT(answer->text().contains("w: it was 64"), qPrintable(answer->text()), patience);
    QTest::mouseClick(go, Qt::LeftButton);
    QTRY_VERIFY(answer->text().contains(QString("At op %1").arg(cursor(window_.get()))));
    which->setFocus();
    QTest::keyClick(which, Qt::Key_Down);
    ask("w > 20");
    QTRY_VERIFY2_WITH_TIMEOUT(answer->text().contains("w: it was 32"), qPrintable(answer->text()), patience);
    ask("max(abs(out)) > 1e9");
    QTRY_VERIFY2_WITH_TIMEOUT(answer->text().startsWith("It did not hold"), qPrintable(answer->text()),
                              patience);
    ask("max(out >");
    QTRY_VERIFY2(answer->text().contains("Ask for a curve"), qPrintable(answer->text()));
    QTest::keyClick(dialog, Qt::Key_Escape);
    QTRY_VERIFY(!dialog->isVisible());
  }

  // Of each step: matmul, subtract and square (line 6), reduce_sum (7), a step of w, whose error halves: 4,
  // 2, 1, 0.5, …; so loss is 16, 4, 1, 0.25, …
  void aNameThatIsAssignedATensorIsSearchedFor() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "named.ipynb",
                                        {"import tapedeck as tf\n"
                                         "w = tf.Variable([[4.]], name='weights')\n"
                                         "def halved(x):\n"
                                         "    return x * 0.5\n"
                                         "class Doubled:\n"
                                         "    def __call__(self, x):\n"
                                         "        return x * 2.\n"
                                         "doubled = Doubled()\n",
                                         "for step in range(6):\n"
                                         "    error = (tf.matmul(tf.ones([1, 1]), w)\n"
                                         "             - tf.zeros([1, 1]))\n"
                                         "    loss = tf.reduce_sum(tf.square(error))\n"
                                         "    number = float(tf.reduce_max(error)) * 2\n"
                                         "    half = halved(loss + 1.)\n"
                                         "    double = doubled(loss + 3.)\n"
                                         "    w.assign(w * 0.5)\n"}));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 1) == CellState::done, patience);
    QVERIFY(knowsAllRecords(*window_));
    QLabel* answer = ask("loss > 0.5");
    QVERIFY(answer);
    QVERIFY2(answer->text().contains("loss: it was 1."), qPrintable(answer->text()));
    QVERIFY2(answer->text().contains("Line 4 of cell [2] gave it that value."), qPrintable(answer->text()));
    auto* dialog = window_->findChild<PastDialog*>();
    QTest::mouseClick(dialog->findChild<QPushButton*>("pastGo"), Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(opOf(window_.get()), std::string("reduce_sum"), patience);
    const quint64 first = cursor(window_.get());
    QTest::mouseClick(dialog->findChild<QPushButton*>("pastFurther"), Qt::LeftButton);
    QTRY_VERIFY2_WITH_TIMEOUT(answer->text().contains("loss: it was 4."), qPrintable(answer->text()),
                              patience);
    QTest::mouseClick(dialog->findChild<QPushButton*>("pastGo"), Qt::LeftButton);
    QTRY_VERIFY(cursor(window_.get()) < first);
    // The square of the same line, and what the subtraction reads, are not what the names got.
    answer = ask("loss < 0.01");
    QVERIFY(answer && answer->text().contains("It did not hold"));
    answer = ask("error[0, 0] == 0.5");
    QVERIFY2(answer && answer->text().contains("error[0, 0]: it was 0.5"), qPrintable(answer->text()));
    QVERIFY2(answer->text().contains("Line 2 of cell [2]"), qPrintable(answer->text()));
    answer = ask("max(abs(error)) < 3", 1);
    QVERIFY2(answer && answer->text().contains("it was 2."), qPrintable(answer->text()));
    // A Python number, and what a function of the program's made, are no op's of the line.
    for (const char* name : {"number", "half"}) {
      answer = ask(QString("%1 > 0").arg(name));
      QVERIFY2(answer && answer->text().contains("its value is not the result of an op"),
               qPrintable(answer->text()));
    }
    // What an object's own method made of the line's sum is not taken for that sum; the sums are counted.
    answer = ask("double > 0");
    QVERIFY2(answer && answer->text().startsWith("It can't be shown to have held"),
             qPrintable(answer->text()));
    QVERIFY2(answer->text().contains("6 ops that meet it may have made a value of double or not"),
             qPrintable(answer->text()));
    answer = ask("nowhere > 0");
    QVERIFY2(answer && answer->text().contains("no cell that ran assigns it"), qPrintable(answer->text()));
    screenshot(dialog, "search-the-past-named");
  }

  // Everything that is asked for held: what the records do not have can't be said not to have.
  void whatIsNotRecordedIsNotSaidNotToHaveHeld() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "unrecorded.ipynb",
                                        {"import tapedeck as tf\n"
                                         "class Net:\n"
                                         "    def __init__(self):\n"
                                         "        self.w1 = tf.Variable([[4., -2.]], name='w1')\n"
                                         "        self.rate = 0.01\n"
                                         "net = Net()\n"
                                         "v = tf.Variable(1., name='v')\n"
                                         "weights = tf.Variable(1., name='other')\n"
                                         "def helper(y):\n"
                                         "    return y * 2.\n",
                                         "for step in range(6):\n"
                                         "    k = 40\n"
                                         "    n = step * 2\n"
                                         "    first, second = step, 7\n"
                                         "    z = helper(v + 19.)\n"
                                         "    total = tf.reduce_sum(net.w1)\n"
                                         "    net.w1.assign(net.w1 * 0.5)\n"}));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 1) == CellState::done, patience);
    QVERIFY(knowsAllRecords(*window_));
    const QString numbers = "values of Python numbers are not recorded";
    const QList<std::pair<QString, QString>> open = {
        {"k == 40", "it is a Python number"},
        {"n == 4", numbers},
        {"step == 3", numbers},
        {"second == 7", numbers},
        {"z > 38", "comes from a function of yours"},
        {"weights == 1", "a variable of another name"},
        {"net.rate < 0.05", "What the attribute net.rate was is recorded only where it is a variable"},
        {"total > 0 and net.rate < 1", "don't compare attributes"},
        {"total > 0 and k == 40", "what Python names and curves were"},
        {"norm(net.w1) > 1e9", "What the attribute net.w1 was"}};
    for (const auto& [question, reason] : open) {
      const QLabel* answer = ask(question);
      QVERIFY2(answer, qPrintable(question));
      QVERIFY2(answer->text().startsWith("It can't be shown to have held") && answer->text().contains(reason),
               qPrintable(question + ": " + answer->text()));
      QVERIFY2(question != "step == 3" || answer->text().contains("Line 1 gives step"),
               qPrintable(answer->text()));
    }
    // A path of a variable that goes by another one in the records.
    for (const auto& [question, value] : {std::pair{"net.w1[0, 1] < -0.7", "w1[0, 1]: it was -1."},
                                          {"norm(net.w1) < 0.5", "w1: it was 0."}}) {
      const QLabel* answer = ask(question);
      QVERIFY2(answer && answer->text().startsWith("At op ") && answer->text().contains(value),
               qPrintable(answer ? answer->text() : question));
    }
    // What an op alone made is decided everywhere.
    const QLabel* answer = ask("total > 100");
    QVERIFY2(answer && answer->text().startsWith("It did not hold: "),
             qPrintable(answer ? answer->text() : QString()));
  }

  // In the first step of the second cell already, in Ops and in the search.
  void aModelOfAnEarlierCellHasItsNames() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "model.ipynb",
                                        {"import tapedeck as tf\n"
                                         "class Net:\n"
                                         "    def __init__(self):\n"
                                         "        self.w1 = tf.Variable(8.)\n"
                                         "        self.w2 = tf.Variable(1.)\n"
                                         "model = Net()\n",
                                         "for step in range(4):\n"
                                         "    y = model.w1 * model.w2\n"
                                         "    model.w1.assign(model.w1 * 0.5)\n"}));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 1) == CellState::done, patience);
    QVERIFY(knowsAllRecords(*window_));
    const auto names = [&](quint64 record) {
      const auto* model = timeline(*window_)->model();
      return model->index(model->rowOf(record), inspector::RecordsModel::Name).data().toString();
    };
    QTRY_COMPARE_WITH_TIMEOUT(names(1), QString("model.w1, model.w2"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(names(7), QString("model.w1, model.w2"), patience);
    QLabel* answer = ask("model.w1 > 3");
    QVERIFY2(answer && answer->text().contains("model.w1: it was 4."), qPrintable(answer->text()));
  }

  void aLongSearchShowsHowFarItIsAndEscEndsIt() {
    open();
    run();
    const auto slow = slowDown();
    const quint64 newest = window_->session()->recordCount();
    QTest::keyClick(window_.get(), Qt::Key_F3, Qt::ControlModifier | Qt::ShiftModifier);
    auto* dialog = window_->findChild<PastDialog*>();
    QTRY_VERIFY_WITH_TIMEOUT(dialog && dialog->isVisible(), patience);
    auto* field = dialog->findChild<QLineEdit*>("pastQuestion");
    auto* answer = dialog->findChild<QLabel*>("pastAnswer");
    QTest::keyClicks(field, "w > 1e9");
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_COMPARE(slow->waiting(), 1);
    QCOMPARE(answer->text(), QString("Searching…"));
    slow->answer(7, newest - 7, newest);
    QTRY_COMPARE(answer->text(),
                 QString("Searching: 7 of %1 ops looked at. Esc stops it and closes.").arg(newest));
    QVERIFY(!dialog->findChild<QPushButton*>("pastGo")->isEnabled());
    QTRY_COMPARE(slow->waiting(), 1);
    slow->answer(5, newest - 12, newest);
    QTRY_VERIFY2(answer->text().startsWith("Searching: 12 of"), qPrintable(answer->text()));
    QTRY_COMPARE(slow->waiting(), 1);
    const int asked = slow->searches();
    QTest::keyClick(dialog, Qt::Key_Escape);
    QTRY_VERIFY(!dialog->isVisible());
    QTRY_COMPARE(slow->waiting(), 0);  // the session gets the Cancel
    nothingMayHappenFor(100);
    QCOMPARE(slow->searches(), asked);
    // A question that is typed anew ends the one before, too, and takes its progress away.
    QTest::keyClick(window_.get(), Qt::Key_F3, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(dialog->isVisible() && field->hasFocus());
    QTest::keyClick(field, Qt::Key_Return);
    QTRY_COMPARE(slow->waiting(), 1);
    QTest::keyClicks(field, "w < 7");
    QTRY_COMPARE(slow->waiting(), 0);
    QCOMPARE(answer->text(), QString());
    QTest::keyClick(dialog, Qt::Key_Escape);
    window_.reset();
  }

  void goingBackShowsHowFarItIsAndEscOrStopEndsIt() {
    open();
    run();
    addBreakpoint(protocol::BreakpointKind::condition, "", "max(out) > 1e9");
    const auto slow = slowDown();
    const quint64 newest = window_->session()->recordCount();
    auto* reverse = window_->findChild<ReverseControl*>();
    QVERIFY(reverse);
    reverse->setPatience(0);
    const auto begin = [&] {
      QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
      QTRY_COMPARE(slow->waiting(), 1);
      QTRY_VERIFY2(window_->messages()->text().startsWith("Going back to a breakpoint: 0 of"),
                   qPrintable(window_->messages()->text()));
      slow->answer(9, newest - 9, newest);
      QTRY_VERIFY2(window_->messages()->text().startsWith("Going back to a breakpoint: 9 of"),
                   qPrintable(window_->messages()->text()));
      QVERIFY(window_->messages()->text().contains("Esc stops it"));
      QTRY_COMPARE(slow->waiting(), 1);
    };
    const auto ended = [&] {
      QTRY_VERIFY2(status(window_.get()).startsWith("Stopped going back: no breakpoint held in the 9 ops"),
                   qPrintable(status(window_.get())));
      QTRY_COMPARE(slow->waiting(), 0);
      QVERIFY2(!window_->messages()->text().contains("Going back"), qPrintable(window_->messages()->text()));
      QVERIFY(!reverse->searching());
      QCOMPARE(cursor(window_.get()), newest);
    };
    begin();
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : window_.get(),
                    Qt::Key_Escape);
    ended();
    window_->statusBar()->clearMessage();
    begin();
    QPushButton* stop = nullptr;
    for (QPushButton* button : window_->messages()->findChildren<QPushButton*>())
      if (button->text().remove('&') == "Stop" && button->isVisible()) stop = button;
    QVERIFY(stop);
    QTest::mouseClick(stop, Qt::LeftButton);
    ended();
    window_.reset();
  }

  void f10AtTheEndOfACellSaysThatItIsFinished() {
    open();
    window_->stepper()->setFinishedPause(60'000);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    addBreakpoint(protocol::BreakpointKind::condition, "", "op:subtract max(out) > 1000");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && window_->session()->status().stopped_after, patience);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, 0) == CellState::done, patience);
    QTRY_VERIFY2(status(window_.get()).contains("is finished"), qPrintable(status(window_.get())));
    QVERIFY(knowsAllRecords(*window_));
    const quint64 records = window_->session()->recordCount();
    QTRY_COMPARE_WITH_TIMEOUT(window_->stepper()->state(), StepperState::idle, patience);
    for (int press = 0; press < 3; ++press) QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY2(status(window_.get()).contains("Another F10"), qPrintable(status(window_.get())));
    QCOMPARE(window_->session()->recordCount(), records);
    QCOMPARE(window_->stepper()->state(), StepperState::idle);
  }
};

TAPEDECK_TEST(TestPastSearch)
#include "tst_past_search.moc"
