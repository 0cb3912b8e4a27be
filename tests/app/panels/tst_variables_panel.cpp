// Variables, watches, the call stack and the console, by keys and mouse, in a window that begins with a file.
#include <QClipboard>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QToolButton>

#include "inspector/model/variables/watch_model.h"
#include "inspector/panels/console/console_input.h"
#include "inspector/panels/console/console_view.h"
#include "tests/app/panels/variable_rows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::ValueTree;

namespace {

const QStringList training_cell = {
    "import tapedeck as tf\nimport numpy as np",
    "w = tf.Variable([[1., 2.], [3., 4.]], name='w')\nrate = 0.5\nsizes = [10, 20, "
    "30]\nfar = np.arange(300.)\n"
    "image = tf.reshape(tf.range(400.), [20, 20])",
    "def scaled(h, factor):\n    bent = h * factor\n    return bent + 1.\n\n"
    "def step(x):\n    offset = x + 1.\n    return scaled(offset, 2.)\n\nout = "
    "step(tf.constant([1., 2.]))\nprint(out.numpy())"};

}  // namespace

class TestVariablesPanel : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  inspector::Session& session() { return *window_->session(); }
  inspector::VariablesView* panel() { return window_->findChild<inspector::VariablesView*>(); }
  inspector::ConsoleView* console() { return window_->findChild<inspector::ConsoleView*>(); }

  void open(const QStringList& cells, QSize size = {1280, 800}) {
    window_ = newWindow(size);
    window_->openNotebook(writeNotebook(folder_, "variables.ipynb", cells));
    QTRY_COMPARE(window_->document()->cellCount(), static_cast<int>(cells.size()));
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);  // opening starts nothing
  }

  void run(int cell) {
    window_->notebook()->setCurrentCell(cell, false);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    const QString id = window_->document()->cell(cell).id;
    QTRY_COMPARE_WITH_TIMEOUT(window_->notebook()->cellState(id), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  /// F10 in a cell, until the gate stops elsewhere.
  void step() {
    const auto before = session().stop();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
  }

  void raise(const QString& title, Qt::Key key, QWidget* shown) { raisePanel(*window_, title, key, shown); }
  void showVariables() { raise("Variables", Qt::Key_7, panel()); }
  void showConsole() { raise("Console", Qt::Key_8, console()); }

  QModelIndex row(const QString& name, const QString& group = {}) {
    return variableRow(panel(), name, group);
  }
  QString shown(const QString& name, int column = ValueTree::Value) {
    return row(name).siblingAtColumn(column).data().toString();
  }
  void click(const QModelIndex& index, int column = ValueTree::Name) {
    auto* table = panel()->table();
    const QModelIndex at = index.siblingAtColumn(column);
    table->scrollTo(at);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
  }
  void doubleClick(const QModelIndex& index, int column) {
    click(index, column);
    auto* table = panel()->table();
    QTest::mouseDClick(table->viewport(), Qt::LeftButton, {},
                       table->visualRect(index.siblingAtColumn(column)).center());
  }
  void type(const QString& text) {
    QTRY_VERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
    auto* editor = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    editor->selectAll();
    QTest::keyClicks(editor, text);
    QTest::keyClick(editor, Qt::Key_Return);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void globalsAreThereAfterEachCell() {
    open(training_cell);
    run(0);
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(panel()->table()->model()->rowCount(), 1, patience);
    QVERIFY(!row("tf").isValid() && !row("In").isValid());  // modules are not listed, nor IPython's own
    run(1);
    QTRY_VERIFY_WITH_TIMEOUT(row("sizes").isValid(), patience);
    QCOMPARE(shown("w", ValueTree::Shape), QString("2×2"));
    QCOMPARE(shown("w", ValueTree::Dtype), QString("float32"));
    QCOMPARE(shown("w", ValueTree::Device), QString("/cpu:0"));
    QCOMPARE(shown("w", ValueTree::Bytes), QString("16 bytes"));
    QCOMPARE(shown("w", ValueTree::Type), QString("Variable"));
    QCOMPARE(shown("rate"), QString("0.5"));
    QCOMPARE(shown("sizes", ValueTree::Shape), QString("3 items"));
    QTRY_COMPARE(shown("far", ValueTree::Type), QString("ndarray"));
    // A list unfolds by the mouse or keys.
    click(row("sizes"));
    QTest::keyClick(panel()->table(), Qt::Key_Right);
    QTRY_COMPARE(panel()->table()->model()->rowCount(row("sizes")), 3);
    // Histograms of visible rows are fetched automatically, also of an array that no op made.
    panel()->table()->scrollTo(row("image").siblingAtColumn(ValueTree::Histogram));
    QTRY_VERIFY_WITH_TIMEOUT(!row("image")
                                  .siblingAtColumn(ValueTree::Histogram)
                                  .data(ValueTree::HistogramRole)
                                  .value<QList<quint64>>()
                                  .isEmpty(),
                             patience);
    // The filter, by its key.
    QTest::keyClick(panel()->table(), Qt::Key_F, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), "ndarray");
    QVERIFY(row("far").isValid() && !row("rate").isValid());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(row("rate").isValid());
    screenshot(window_.get(), "variables-after-a-cell");
  }

  void aStopShowsLocalsFirstAndTheStack() {
    open(training_cell);
    run(0);
    run(1);
    window_->notebook()->setCurrentCell(2, false);
    step();  // x + 1. in step
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(panel()->table()->model()->index(0, 0).data().toString(),
                              QString("Locals of step"), patience);
    step();  // h * factor in scaled
    QTRY_COMPARE_WITH_TIMEOUT(panel()->table()->model()->index(0, 0).data().toString(),
                              QString("Locals of scaled"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(shown("h"), QString("[2., 3.]"), patience);
    QVERIFY(row("rate").isValid());
    // The stack, by the mouse: the caller's line is marked, and its variables shown.
    QListView* stack = panel()->stack();
    QTRY_COMPARE(stack->model()->rowCount(), 3);
    QVERIFY(stack->model()->index(0, 0).data().toString().startsWith("scaled, "));
    QTest::mouseClick(stack->viewport(), Qt::LeftButton, {},
                      stack->visualRect(stack->model()->index(1, 0)).center());
    QTRY_VERIFY_WITH_TIMEOUT(row("x", "Locals").isValid(), patience);
    const MarkedLine line = markedLine(session(), window_->findChild<inspector::FramesModel*>());
    QCOMPARE(line.line, 7);
    QVERIFY(!line.pending);
    screenshot(window_.get(), "variables-at-a-stop");
    QTest::keyClick(panel()->table(), Qt::Key_PageUp, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(row("factor", "Locals").isValid(), patience);
    // A click shows the tensor.
    click(row("h"));
    const auto* model = tensor(*window_)->model();
    QTRY_VERIFY_WITH_TIMEOUT(model->tile() && model->chip()->label == "h", patience);
    QCOMPARE(model->tile()->values, (std::vector<double>{2, 3}));
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 2), QString("[5. 7.]\n"), patience);
    QTRY_VERIFY_WITH_TIMEOUT(!row("h").isValid() && row("out").isValid(), patience);
  }

  void aDoubleClickEditsAndABadTextIsRefused() {
    open(training_cell);
    run(0);
    window_->notebook()->setCurrentCell(2, false);
    step();
    showVariables();
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(row("out").isValid(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    doubleClick(row("out", "Globals"), ValueTree::Value);
    type("[0., nan]");
    QTRY_COMPARE_WITH_TIMEOUT(shown("out"), QString("[ 0., nan]"), patience);
    doubleClick(row("out", "Globals"), ValueTree::Value);
    type("nonsense(");
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->isVisible(), patience);
    QCOMPARE(shown("out"), QString("[ 0., nan]"));
  }

  void anEditedLocalReachesTheNextOp() {
    open({"import tapedeck as tf",
          "def f(h, factor):\n    a = h + 0.\n    return a * factor\nprint(f(tf.constant([1., 2.]), "
          "3.).numpy())"});
    run(0);
    window_->notebook()->setCurrentCell(1, false);
    step();
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(shown("factor"), QString("3.0"), patience);
    doubleClick(row("factor"), ValueTree::Value);
    type("10");
    QTRY_COMPARE_WITH_TIMEOUT(shown("factor"), QString("10"), patience);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 1), QString("[10. 20.]\n"), patience);
  }

  void watchesFollowTheStepsAndStayWithTheNotebook() {
    open(training_cell);
    run(0);
    window_->notebook()->setCurrentCell(2, false);
    step();
    showVariables();
    QTest::mouseClick(panel()->table()->viewport(), Qt::LeftButton);
    QTest::keyClick(panel()->table(), Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(QApplication::focusWidget(), panel()->watchEdit());
    QTest::keyClicks(panel()->watchEdit(), "float(tf.reduce_sum(h))");
    QTest::keyClick(panel()->watchEdit(), Qt::Key_Return);
    const QAbstractItemModel* watches = panel()->watchTable()->model();
    const auto value = [&] { return watches->index(0, ValueTree::Value).data().toString(); };
    QTRY_COMPARE_WITH_TIMEOUT(value(), QString("NameError: name 'h' is not defined"), patience);
    const auto records = session().recordCount();
    step();
    QTRY_COMPARE_WITH_TIMEOUT(value(), QString("5.0"), patience);
    QCOMPARE(session().recordCount(), records + 1);  // the watch's op is none of the session's
    screenshot(window_.get(), "variables-watch");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    QVERIFY(window_->isWindowModified());
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isWindowModified());
    const QString path = window_->document()->path();
    window_.reset();

    window_ = newWindow();
    window_->openNotebook(path);
    auto* model = window_->findChild<inspector::WatchModel*>();
    QTRY_COMPARE(model->expressions(), QStringList{"float(tf.reduce_sum(h))"});
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);  // nothing runs because a file was opened
    QVERIFY(!window_->isWindowModified());
    // Without expressions the file says nothing of them.
    model->remove(0);
    QVERIFY(!window_->document()->serialize().contains("tapedeck\":"));
    window_->document()->markUnsaved();
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isWindowModified());
  }

  void watchesOfAFileRunWhenTheUserAcceptsThem() {
    const QString note = folder_.filePath("ran.txt");
    const auto openWithWatches = [&] {
      const QString path = writeNotebook(folder_, "watched.ipynb", {"x = 5", "x = 6"});
      QFile file(path);
      QVERIFY(file.open(QIODevice::ReadOnly));
      auto json = nlohmann::ordered_json::parse(file.readAll().toStdString());
      file.close();
      json["metadata"]["tapedeck"]["watches"] = {"open('" + note.toStdString() + "', 'a').write('ran')",
                                                 "<b>x</b>", "x + 1"};
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(QByteArray::fromStdString(json.dump()));
      file.close();
      window_ = newWindow();
      window_->openNotebook(path);
      QTRY_COMPARE(window_->document()->cellCount(), 2);
      showVariables();
    };
    openWithWatches();
    const auto* watches = panel()->watchTable()->model();
    const auto value = [&](int row) { return watches->index(row, ValueTree::Value).data().toString(); };
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);
    QVERIFY(panel()->offerText()->isVisible());
    QVERIFY(panel()->offerText()->text().startsWith("In the file, not running: open('"));
    QVERIFY(panel()->offerText()->text().endsWith("'ran'), <b>x</b>, x + 1"));
    run(0);
    run(1);
    QTRY_COMPARE(panel()->model()->rowCount() > 0, true);
    screenshot(window_.get(), "variables-watches-of-a-file");
    QVERIFY(!QFile::exists(note));
    QCOMPARE(value(2), QString("not evaluated until you accept it"));

    panel()->table()->setFocus();
    QTest::keyClick(panel()->table(), Qt::Key_Return, Qt::AltModifier);
    QTRY_COMPARE_WITH_TIMEOUT(value(2), QString("7"), patience);
    QVERIFY(QFile::exists(note));
    QVERIFY(!panel()->offerText()->isVisible());
    QVERIFY(!window_->isWindowModified() || window_->document()->serialize().contains("x + 1"));
    window_->document()->markUnsaved();
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isWindowModified());
    window_.reset();

    // Discarded, they are gone from the file, too. The buttons take the keyboard, and the mouse.
    QVERIFY(QFile::remove(note));
    openWithWatches();
    run(0);
    QTest::keyClick(panel()->table(), Qt::Key_Delete, Qt::AltModifier);
    QTRY_VERIFY(!panel()->offerText()->isVisible());
    QCOMPARE(panel()->watchTable()->model()->rowCount(), 0);
    run(1);
    QVERIFY(!QFile::exists(note));
    QVERIFY(!window_->document()->serialize().contains("watches"));
    window_->document()->markUnsaved();
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isWindowModified());
    window_.reset();
    openWithWatches();
    QTest::mouseClick(panel()->discardButton(), Qt::LeftButton);
    QCOMPARE(panel()->watchTable()->model()->rowCount(), 0);
    window_->document()->markUnsaved();
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isWindowModified());
    window_.reset();
    openWithWatches();
    panel()->acceptButton()->setFocus();
    QTest::keyClick(panel()->acceptButton(), Qt::Key_Space);
    QVERIFY(!panel()->offerText()->isVisible());
    QCOMPARE(panel()->watchTable()->model()->rowCount(), 3);
  }

  void theConsoleRunsInTheFrameAndRemembers() {
    open(training_cell);
    run(0);
    window_->notebook()->setCurrentCell(2, false);
    step();
    step();
    showConsole();
    auto* input = console()->input();
    const auto enter = [&](const QString& code) {
      input->setFocus();
      QTest::keyClicks(input, code);
      QTest::keyClick(input, Qt::Key_Return);
      QTRY_VERIFY_WITH_TIMEOUT(!console()->model()->running(), patience);
    };
    const auto output = [&] { return console()->output()->toPlainText(); };
    enter("print('hi', factor)");
    QTRY_VERIFY_WITH_TIMEOUT(output().endsWith(">>> print('hi', factor)\nhi 2.0"), patience);
    enter("h + 1.");
    QTRY_VERIFY_WITH_TIMEOUT(output().contains("[3., 4.]"), patience);
    enter("nothing");
    QTRY_VERIFY_WITH_TIMEOUT(output().endsWith("NameError: name 'nothing' is not defined"), patience);
    enter("factor = 100.");
    // What is typed before comes back by Up; Tab completes.
    QTest::keyClick(input, Qt::Key_Up);
    QCOMPARE(input->toPlainText(), QString("factor = 100."));
    QTest::keyClick(input, Qt::Key_Up);
    QCOMPARE(input->toPlainText(), QString("nothing"));
    input->clear();
    QTest::keyClicks(input, "facto");
    QTest::keyClick(input, Qt::Key_Tab);
    QTRY_COMPARE_WITH_TIMEOUT(input->toPlainText(), QString("factor"), patience);
    input->clear();
    // Endless code ends by Esc, and what waits goes on.
    QTest::keyClicks(input, "while True: pass");
    QTest::keyClick(input, Qt::Key_Return);
    QTest::keyClick(input, Qt::Key_Return);
    QVERIFY(console()->model()->running());
    QTest::keyClick(input, Qt::Key_Escape);
    QVERIFY(!console()->model()->running());
    enter("1 + 1");
    QTRY_VERIFY_WITH_TIMEOUT(output().endsWith(">>> 1 + 1\n2"), patience);
    screenshot(window_.get(), "console");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

  void looksInTheDarkAndOnALargeScreen() {
    inspector::applyAppearance(inspector::Appearance::dark);
    open(training_cell, {2560, 1440});
    run(0);
    run(1);
    window_->notebook()->setCurrentCell(2, false);
    step();
    step();
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(shown("h"), QString("[2., 3.]"), patience);
    screenshotIn(inspector::Appearance::dark, window_.get(), "variables-large-dark");
    inspector::applyAppearance(inspector::Appearance::light);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }
};

TAPEDECK_TEST(TestVariablesPanel)
#include "tst_variables_panel.moc"
