// Graph, in a real window with a real session process: a function with an if and a loop, its traces and why
// they were made, its graph before and after each pass, and what leads to its lines.
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QSignalSpy>
#include <algorithm>
#include <csignal>

#include "app/shell/guide/guide_window.h"
#include "app/shell/panels/workspaces.h"
#include "inspector/model/functions/graph_text.h"
#include "inspector/panels/graph/function_list.h"
#include "inspector/panels/graph/graph_view.h"
#include "inspector/panels/graph/node_outline.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::GraphTree;

namespace {

const char* const settle_cell =
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "@tf.function\n"
    "def settle(x, k=2):\n"
    "    half = tf.sqrt(tf.constant(0.25))\n"
    "    size = tf.reduce_sum(tf.square(x))\n"
    "    tf.exp(x)\n"
    "    if tf.reduce_sum(tf.square(x)) > 100.0:\n"
    "        x = x / tf.sqrt(size)\n"
    "    while tf.reduce_sum(tf.square(x)) > 1.0:\n"
    "        x = x * half\n"
    "    return x\n"
    "settle(tf.constant([3., 4., 12.]))\n"
    "settle(tf.constant([1., 2., 2.]))\n"
    "settle(tf.constant([5., 5.]))";
constexpr int functionLine = 3, ifLine = 8, whileLine = 10, bodyLine = 11, secondTraceLine = 15;

const char* const fused_cell =
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "@tf.function\n"
    "def energy(x):\n"
    "    y = tf.exp(x * 2.)\n"
    "    return tf.reduce_sum(y)\n"
    "energy(tf.ones([4096]))";

const char* const power_cell =
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "@tf.function\n"
    "def power(x, k):\n"
    "    return x ** k\n"
    "for k in range(6):\n"
    "    power(tf.constant(2.0), k)";

}  // namespace

class TestGraphPanel : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  inspector::GraphView* graph() const { return window_->findChild<inspector::GraphView*>(); }
  inspector::NodeOutline* nodes() const { return graph()->nodes(); }
  QTreeWidget* functions() const { return graph()->functions(); }
  const GraphTree* tree() const { return static_cast<const GraphTree*>(nodes()->model()); }
  QTreeWidgetItem* function(int at = 0) const { return functions()->topLevelItem(at); }

  void run(const QStringList& cells) {
    openCells(folder_, cells);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(stateOf(0) == CellState::done, qPrintable(outputText(*window_, 0)), patience);
  }
  /// By its key, as a user does.
  void showGraph() {
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("analyze"));
    QTest::keyClick(window_.get(), Qt::Key_9, Qt::AltModifier);
    QTRY_VERIFY(graph() && graph()->isVisible());
  }
  void showFunctions(int count) {
    showGraph();
    QTRY_COMPARE(functions()->topLevelItemCount(), count);
    QTRY_VERIFY(graph()->graphNote()->text().isEmpty() && tree()->rowCount() > 0);
  }
  QList<QModelIndex> all(const QModelIndex& parent = {}) const {
    QList<QModelIndex> found;
    for (int i = 0; i < tree()->rowCount(parent); ++i) {
      const QModelIndex one = tree()->index(i, 0, parent);
      found << one << all(one);
    }
    return found;
  }
  /// The first row of that op.
  QModelIndex nodeOf(const QString& op) const {
    for (const QModelIndex& one : all())
      if (QString::fromStdString(tree()->row(one)->op) == op) return one;
    return {};
  }
  QString cellOf(const QModelIndex& index, int column) const {
    return index.siblingAtColumn(column).data().toString();
  }
  QString text() const { return inspector::graphAsText(tree()->rows(), {}); }
  std::pair<QString, int> line(int number, int cell = 0) const { return {document().cell(cell).id, number}; }
  void clickOn(const QModelIndex& index) {
    QVERIFY(index.isValid());
    nodes()->scrollTo(index);
    const QModelIndex op = index.siblingAtColumn(GraphTree::Op);
    nodes()->scrollTo(op);
    QTest::mouseClick(nodes()->viewport(), Qt::LeftButton, {}, nodes()->visualRect(op).center());
  }
  void pressInNodes(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    nodes()->setFocus();
    QTest::keyClick(nodes(), key, modifiers);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theGradientOfACallUnderATapeHasAGraphBelowTheTrace() {
    run(
        {"import tapedeck as tf\n"
         "tf.config.run_functions_eagerly(False)\n"
         "w = tf.Variable(2., name='w')\n"
         "@tf.function\n"
         "def loss(x):\n"
         "    return tf.reduce_sum(tf.square(x * w))\n"
         "with tf.GradientTape() as tape:\n"
         "    y = loss(tf.constant([1., 2.]))\n"
         "grad = tape.gradient(y, w)"});
    showFunctions(1);
    QTreeWidgetItem* trace = function()->child(0);
    QCOMPARE(trace->childCount(), 1);
    QTreeWidgetItem* gradient = trace->child(0);
    QCOMPARE(gradient->text(inspector::FunctionList::Signature), QString("gradient of loss: w"));
    QCOMPARE(gradient->text(inspector::FunctionList::Reason), QString("called under a tape"));
    functions()->scrollToItem(gradient);
    QTest::mouseClick(functions()->viewport(), Qt::LeftButton, {},
                      functions()->visualItemRect(gradient).center());
    QTRY_VERIFY2(graph()->graphNote()->text().startsWith("This graph runs while nothing records."),
                 qPrintable(graph()->graphNote()->text()));
    QCOMPARE(graph()->stages()->count(), 4);
    const auto hasOp = [&](const std::string& op) {
      return std::ranges::any_of(tree()->rows(), [&](const auto& row) { return row.op == op; });
    };
    QVERIFY(hasOp("multiply") && hasOp("return"));
    shots(window_.get(), "graph-gradient");
  }

  void functionsTracesAndReasonsAreListed() {
    run({settle_cell});
    showFunctions(1);
    QCOMPARE(function()->text(inspector::FunctionList::Signature), QString("settle"));
    QCOMPARE(function()->childCount(), 2);
    const auto column = [&](int trace, int which) { return function()->child(trace)->text(which); };
    using List = inspector::FunctionList;
    QCOMPARE(column(0, List::Signature), QString("settle(x: float32 (3,), k=2)"));
    QCOMPARE(column(0, List::Reason), QString("first call"));
    QCOMPARE(column(0, List::Calls), QString("ran 2 times"));
    QCOMPARE(column(1, List::Reason), QString("argument x: shape (3,) became (2,)"));
    QCOMPARE(column(1, List::Calls), QString("ran 1 time"));
    QTRY_VERIFY2(column(1, List::Made).startsWith("cell [1] line 15, after op "),
                 qPrintable(column(1, List::Made)));
    QVERIFY2(column(1, List::Nodes).contains(" nodes, "), qPrintable(column(1, List::Nodes)));
    // The newest one is shown first; a click on the other one shows that.
    QVERIFY2(text().contains("float32 (2,)"), qPrintable(text()));
    QTest::mouseClick(functions()->viewport(), Qt::LeftButton, {},
                      functions()->visualItemRect(function()->child(0)).center());
    QTRY_VERIFY2(text().contains("float32 (3,)") && !text().contains("float32 (2,)"), qPrintable(text()));
    shots(window_.get(), "graph-panel");
    // Enter goes to the line of the call; of the function, to its first line.
    functions()->setCurrentItem(function()->child(1));
    functions()->setFocus();
    QTest::keyClick(functions(), Qt::Key_Return);
    QTRY_COMPARE(window_->notebook()->currentLine(), line(secondTraceLine));
    functions()->setCurrentItem(function());
    functions()->setFocus();
    QTest::keyClick(functions(), Qt::Key_Return);
    QTRY_COMPARE(window_->notebook()->currentLine(), line(functionLine));
  }

  void theColumnsHaveRoomForWhatDistinguishesTraces() {
    run({settle_cell});
    showFunctions(1);
    using List = inspector::FunctionList;
    const auto textWidth = [&](int column) {
      return functions()->fontMetrics().horizontalAdvance(function()->child(0)->text(column));
    };
    for (const int column : {List::Calls, List::Nodes}) {
      QVERIFY(functions()->columnWidth(column) >= textWidth(column) + 8);
      QVERIFY(functions()->columnWidth(column) <=
              std::max(textWidth(column) + 30, functions()->header()->sectionSizeHint(column)));
    }
    const int others = functions()->columnWidth(List::Calls) + functions()->columnWidth(List::Nodes) +
                       functions()->columnWidth(List::Made);
    const int both = functions()->columnWidth(List::Signature) + functions()->columnWidth(List::Reason);
    QVERIFY2(both * 10 >= others * 9, qPrintable(QString("%1 and %2").arg(both).arg(others)));
    // A name in a loop's body, behind its indentation.
    const QModelIndex body = nodeOf("multiply");
    nodes()->scrollTo(body);
    QVERIFY(nodes()->visualRect(body).width() >= nodes()->fontMetrics().horizontalAdvance("captured0") + 8);
  }

  void nodesLeadToTheirLinesAndInputs() {
    run({settle_cell});
    showFunctions(1);
    clickOn(nodeOf("branch"));
    QTRY_COMPARE(window_->notebook()->currentLine(), line(ifLine));
    QVERIFY(nodes()->hasFocus());  // the arrows go on in the graph
    clickOn(nodeOf("loop"));
    QTRY_COMPARE(window_->notebook()->currentLine(), line(whileLine));
    // The body is nested below "do".
    const QModelIndex body = nodeOf("multiply");
    QCOMPARE(cellOf(body.parent(), GraphTree::Node), QString("do"));
    QCOMPARE(cellOf(body.parent().parent(), GraphTree::Op), QString("loop"));
    nodes()->goTo(body);
    pressInNodes(Qt::Key_Return);
    QTRY_COMPARE(window_->notebook()->currentLine(), line(bodyLine));
    QTRY_VERIFY(window_->notebook()->isAncestorOf(QApplication::focusWidget()));
    // A click on an input's name goes to its node; so does I, again and again, and R goes back.
    const QModelIndex loop = nodeOf("loop");
    nodes()->goTo(loop);
    nodes()->scrollTo(loop.siblingAtColumn(GraphTree::Inputs));
    QTest::mouseClick(nodes()->viewport(), Qt::LeftButton, {}, nodes()->pointOf(loop, 1));
    QTRY_COMPARE(cellOf(nodes()->currentIndex(), GraphTree::Op), QString("branch"));
    QCOMPARE(window_->notebook()->currentLine(), line(bodyLine));
    nodes()->goTo(loop);
    pressInNodes(Qt::Key_I);
    QCOMPARE(cellOf(nodes()->currentIndex(), GraphTree::Op), QString("greater"));
    pressInNodes(Qt::Key_I);
    QCOMPARE(cellOf(nodes()->currentIndex(), GraphTree::Op), QString("branch"));
    nodes()->goTo(nodeOf("square"));
    pressInNodes(Qt::Key_R);
    QCOMPARE(cellOf(nodes()->currentIndex(), GraphTree::Op), QString("reduce_sum"));
    // Left folds the loop, Right unfolds it.
    nodes()->goTo(loop);
    QVERIFY(nodes()->isExpanded(loop));
    pressInNodes(Qt::Key_Left);
    QVERIFY(!nodes()->isExpanded(loop));
    pressInNodes(Qt::Key_Right);
    QVERIFY(nodes()->isExpanded(loop));
  }

  void eachPassShowsWhatItChanged() {
    run({settle_cell});
    showFunctions(1);
    QCOMPARE(graph()->stages()->currentText(), QString("As traced"));
    QCOMPARE(graph()->stages()->count(), graph()->model()->stages().size());
    const auto next = [&](const QString& stage) {
      pressInNodes(Qt::Key_N);
      QTRY_VERIFY2(graph()->stages()->currentText().startsWith("After " + stage + ": "),
                   qPrintable(graph()->stages()->currentText()));
      QTRY_VERIFY(graph()->graphNote()->text().isEmpty());
    };
    next("constant folding");
    QCOMPARE(graph()->stages()->currentText(), QString("After constant folding: 1 folded"));
    QVERIFY2(text().contains("constant(0.5) : float32 ()  (line 5)  [folded: was sqrt(%1)]"),
             qPrintable(text()));
    next("common subexpressions");
    QVERIFY2(text().contains("# %6 = square(x) : float32 (2,)  (line 8)  [merged: the same as %3]"),
             qPrintable(text()));
    // Gone nodes are struck through and say so.
    QModelIndex merged;
    for (const QModelIndex& one : all())
      if (one.data(GraphTree::GoneRole).toBool() && !merged.isValid()) merged = one;
    QCOMPARE(cellOf(merged, GraphTree::Change), QString("merged: the same as %3"));
    QVERIFY(merged.data(Qt::AccessibleTextRole).toString().contains("not in the graph any longer"));
    shots(window_.get(), "graph-merged");
    next("dead code");
    QVERIFY2(text().contains("# %5 = exp(x) : float32 (2,)  (line 7)  [removed: nothing reads it]"),
             qPrintable(text()));
    // P goes back, and Ctrl+C copies what is shown.
    pressInNodes(Qt::Key_P);
    QTRY_VERIFY2(text().contains("[merged: the same as %3]"), qPrintable(text()));
    pressInNodes(Qt::Key_C, Qt::ControlModifier);
    const QString copied = QGuiApplication::clipboard()->text();
    QVERIFY2(copied.startsWith("settle(x: float32 (2,), k=2)\n") && copied.endsWith(text()),
             qPrintable(copied));
  }

  void fusedOpsSayWhereTheirLoopRuns() {
    run({fused_cell});
    showFunctions(1);
    const auto stage = [&] { return graph()->stages()->currentText(); };
    for (const char* pass : {"constant folding", "common subexpressions", "dead code", "fusion"}) {
      pressInNodes(Qt::Key_N);
      QTRY_VERIFY2(stage().startsWith(QString("After %1: ").arg(pass)), qPrintable(stage()));
      QTRY_VERIFY(graph()->graphNote()->text().isEmpty());
    }
    QCOMPARE(stage(), QString("After fusion: 3 fused"));
    const QString sum = cellOf(nodeOf("reduce_sum"), GraphTree::Node);
    for (const char* op : {"multiply", "exp"})
      QCOMPARE(cellOf(nodeOf(op), GraphTree::Change),
               QString("fused: one loop computes it with others, at %1").arg(sum));
    QCOMPARE(cellOf(nodeOf("reduce_sum"), GraphTree::Change),
             QString("fused: one loop computes it with those before it"));
  }

  void theFilterFindsNodesAndWhatTheyAreInsideOf() {
    run({settle_cell});
    showFunctions(1);
    const int before = static_cast<int>(all().size());
    pressInNodes(Qt::Key_F, Qt::ControlModifier);
    QTRY_VERIFY(graph()->filterEdit()->hasFocus());
    QTest::keyClicks(graph()->filterEdit(), "multiply");
    QTest::keyClick(graph()->filterEdit(), Qt::Key_Return);
    QTRY_VERIFY2(
        graph()->graphNote()->text().startsWith("1 of ") && graph()->graphNote()->text().endsWith(" nodes"),
        qPrintable(graph()->graphNote()->text()));
    // The nodes are as many as the list of functions says.
    const auto* trace = graph()->model()->chosenTrace();
    QVERIFY(trace);
    QCOMPARE(graph()->graphNote()->text(), QString("1 of %1 nodes").arg(trace->traced_nodes));
    QStringList shown;
    for (const QModelIndex& one : all())
      shown << (cellOf(one, GraphTree::Op).isEmpty() ? cellOf(one, GraphTree::Node)
                                                     : cellOf(one, GraphTree::Op));
    QCOMPARE(shown, QStringList({"loop", "do", "multiply"}));
    graph()->filterEdit()->setFocus();
    QTest::keyClick(graph()->filterEdit(), Qt::Key_Escape);
    QTRY_COMPARE(static_cast<int>(all().size()), before);
    QVERIFY(graph()->graphNote()->text().isEmpty());
  }

  void aFunctionThatIsTracedTooOftenHasAdvice() {
    run({power_cell});
    showFunctions(1);
    QCOMPARE(function()->childCount(), 7);
    const QString warning = function()->child(0)->text(0);
    QVERIFY2(
        warning.startsWith("⚠ Traced 6 times") && warning.contains("Argument k changes: pass it as a tensor"),
        qPrintable(warning));
    QCOMPARE(function()->child(6)->text(inspector::FunctionList::Reason),
             QString("argument k: 4 became 5 (Python number: pass a tensor)"));
    shots(window_.get(), "graph-retraced");
  }

  void itAnswersWhileTheProgramWaitsAtAnOp() {
    openCells(folder_, {QString(settle_cell) + "\ny = tf.exp(tf.constant(1.))"});
    click(0);
    press(Qt::Key_End, Qt::ControlModifier);
    press(Qt::Key_F9);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    showFunctions(1);
    QCOMPARE(function()->childCount(), 2);
    pressInNodes(Qt::Key_N);
    QTRY_VERIFY2(text().contains("[folded: was sqrt(%1)]"), qPrintable(text()));
    QVERIFY(isStopped(*window_));
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
  }

  void aKilledSessionKeepsWhatWasShown() {
    run({settle_cell});
    showFunctions(1);
    const QString before = text();
    QCOMPARE(::kill(static_cast<pid_t>(window_->kernel()->processId()), SIGKILL), 0);
    QTRY_VERIFY2(graph()->note()->text().contains("The session has ended; this is as of then."),
                 qPrintable(graph()->note()->text()));
    QCOMPARE(text(), before);
    QCOMPARE(function()->childCount(), 2);
    // Another trace was not fetched.
    functions()->setCurrentItem(function()->child(0));
    QTRY_COMPARE(graph()->graphNote()->text(),
                 QString("The session has ended: this graph was not fetched before."));
    QCOMPARE(tree()->rowCount(), 0);
    QCOMPARE(graph()->stages()->count(), 0);
    // The one that was shown is still here.
    functions()->setCurrentItem(function()->child(1));
    QTRY_COMPARE(text(), before);
    QVERIFY(graph()->stages()->count() > 0);
    functions()->setCurrentItem(function()->child(0));
    QTRY_COMPARE(tree()->rowCount(), 0);
    screenshot(window_.get(), "graph-killed");
  }

  void aLongGraphComesInPieces() {
    openCells(folder_, {"import tapedeck as tf\n"
                        "tf.config.run_functions_eagerly(False)\n"
                        "@tf.function\n"
                        "def deep(x):\n"
                        "    for _ in range(20000):\n"
                        "        x = -x\n"
                        "    return x\n"
                        "y = deep(tf.constant(1.))"});
    showGraph();
    QStringList notes;
    const auto* model = graph()->model();
    const auto connection = connect(model, &inspector::FunctionsModel::noteChanged, this,
                                    [&notes, model] { notes << model->graphNote(); });
    const auto heard = qScopeGuard([&] { disconnect(connection); });
    click(0);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(stateOf(0) == CellState::done, qPrintable(outputText(*window_, 0)), patience);
    QTRY_COMPARE(tree()->rowCount(), 20002);  // the argument and "return"
    QVERIFY2(notes.contains("Fetching the graph: 10,000 of 20,002 rows"), qPrintable(notes.join('\n')));
    pressInNodes(Qt::Key_End);
    QTRY_COMPARE(cellOf(nodes()->currentIndex(), GraphTree::Node), QString("return"));
    pressInNodes(Qt::Key_I);
    QCOMPARE(cellOf(nodes()->currentIndex(), GraphTree::Node), QString("%20000"));
  }

  void whereNothingIsTracedItSaysWhy() {
    openCells(folder_, {"import tapedeck as tf\n"
                        "tf.config.run_functions_eagerly(True)\n"
                        "f = tf.function(lambda x: x + 1.)\n"
                        "y = f(tf.constant(1.))",
                        "tf.config.run_functions_eagerly(False)\ny = tf.exp(y)", "y = f(y)"});
    showGraph();
    QTRY_VERIFY2(graph()->emptyText()->text().startsWith("No session is running."),
                 qPrintable(graph()->emptyText()->text()));
    click(0);
    runByKey(0);
    QTRY_VERIFY2(graph()->emptyText()->text().startsWith("Functions run eagerly: "),
                 qPrintable(graph()->emptyText()->text()));
    QVERIFY(graph()->emptyText()->text().contains("tf.config.run_functions_eagerly(False)"));
    QVERIFY(graph()->emptyText()->isVisible());
    screenshot(window_.get(), "graph-eager");
    click(1);
    runByKey(1);
    QTRY_VERIFY2(graph()->emptyText()->text().startsWith("No function was traced yet: "),
                 qPrintable(graph()->emptyText()->text()));
    // H, and the button, open the guide.
    QTest::keyClick(window_.get(), Qt::Key_9, Qt::AltModifier);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_H);
    QTRY_VERIFY(window_->guide() && window_->guide()->isVisible());
    window_->guide()->close();
    window_->activateWindow();
    click(2);
    runByKey(2);
    QTRY_COMPARE(functions()->topLevelItemCount(), 1);
    QCOMPARE(function()->text(0), QString("<lambda>"));
  }

  void aCellThatRunsAgainShowsItsNewFunction() {
    run({settle_cell});
    showFunctions(1);
    pressInNodes(Qt::Key_N);
    QTRY_VERIFY(text().contains("[folded: was sqrt(%1)]"));
    const quint64 before = graph()->model()->trace();
    click(0);
    runByKey(0);
    QTRY_VERIFY(graph()->model()->trace() != before);
    QTRY_COMPARE(functions()->topLevelItemCount(), 1);
    QTRY_VERIFY(graph()->graphNote()->text().isEmpty());
    QVERIFY2(text().contains("[folded: was sqrt(%1)]"), qPrintable(text()));  // of the same stage
  }
};

TAPEDECK_TEST(TestGraphPanel)
#include "tst_graph_panel.moc"
