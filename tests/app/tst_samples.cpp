// Samples from the start page to their last sentence: what their text says is done with keys and mouse in a
// real window with a real session process, and is as the text says. The one that trains for long is in
// tst_autoencoder.
#include <QSlider>
#include <QTableView>
#include <cmath>

#include "inspector/model/functions/graph_text.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/graph/function_list.h"
#include "inspector/panels/graph/graph_view.h"
#include "inspector/panels/graph/node_outline.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::RecordKind;

class TestSamples : public QObject, SampleWindow {
  Q_OBJECT

 private:
  /// F10, until it stopped somewhere else or the cell ended; gives the record that ran, with the values that
  /// Tensor then shows.
  struct Step {
    QString op;
    RecordKind kind = RecordKind::op;
    std::vector<double> values;
  };
  Step step() {
    const auto before = session().status().stopped_before.value_or(0);
    const auto stop = session().stop();
    const int cell = window_->notebook()->currentCell();
    press(Qt::Key_F10);
    const auto ended = [&] {
      return stateOf(cell) == CellState::done && session().cursor() == session().recordCount();
    };
    const auto stopped = [&] {
      return isStopped(*window_) && session().stop() != stop &&
             session().cachedRecord(session().status().stopped_before.value_or(0));
    };
    Step made;
    if (!waitFor([&] { return stopped() || (before && ended()); }, patience) || before == 0) return made;
    const auto* record = session().cachedRecord(before);
    if (!record) return made;
    made.op = QString::fromStdString(record->op);
    made.kind = record->kind;
    const auto* model = tensor(*window_)->model();
    const auto shown = [&] {
      const auto* chip = model->chip();
      return chip && model->tile() && !model->loading() &&
             (ended()                            ? chip->role == inspector::TensorRole::output
              : chip->record != before           ? false
              : session().status().stopped_after ? chip->role == inspector::TensorRole::output
                                                 : chip->role == inspector::TensorRole::justRan);
    };
    // What runs inside of a record shows no values of the record itself.
    const auto inside = [&] {
      const auto* pending = session().cachedRecord(session().status().stopped_before.value_or(0));
      return !ended() && pending && pending->parent == before;
    };
    if (waitFor([&] { return inside() || shown(); }, patience) && !inside())
      made.values = model->tile()->values;
    return made;
  }

  double lastNumber(int cell) { return outputText(*window_, cell).trimmed().toDouble(); }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void aFirstGradient() {
    open("first_gradient.ipynb");
    // "Run a cell with Shift+Enter."
    press(Qt::Key_Return, Qt::ShiftModifier);  // over the two texts above it
    press(Qt::Key_Return, Qt::ShiftModifier);
    const int forward = cellThatBegins("import tapedeck");
    runByKey(forward);
    QVERIFY2(outputText(*window_, forward).contains("numpy=9.0"), qPrintable(outputText(*window_, forward)));
    // "Press F10 here and watch the Tape panel: first the multiplication appears, then the steps go
    // backwards."
    const int backward = cellThatBegins("grad = ");
    click(backward);
    step();
    QVERIFY(isStopped(*window_));
    const auto graph = [&] { return tape(*window_)->model()->graph(); };
    QTRY_COMPARE(graph().ops, 1u);
    QCOMPARE(step().values, std::vector<double>{9.});
    bool back = false;
    for (int i = 0; i < 5 && !back; ++i) {
      const auto* pending = session().cachedRecord(session().status().stopped_before.value_or(0));
      back = pending && pending->kind == RecordKind::vjp;
      if (!back) step();
    }
    QVERIFY(back);
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(backward), CellState::done, patience);
    QVERIFY(outputText(*window_, backward).contains("numpy=6.0"));
    // The second derivative is 2; the branch with the minus sign has the gradient -1.
    const int second = cellThatBegins("gradgrad = "), branch = cellThatBegins("def absolute");
    for (const int cell : {second, branch, cellThatBegins("slope = ")}) {
      click(cell);
      runByKey(cell);
    }
    QVERIFY(outputText(*window_, second).contains("numpy=2.0"));
    QVERIFY(outputText(*window_, branch).contains("numpy=1.0"));
    QVERIFY(outputText(*window_, branch).contains("numpy=-1.0"));
    // "This is the slope of x³ from -2 to 2: a parabola."
    QTRY_COMPARE(window_->series()->names().size(), 1);
    const auto* curve = window_->series()->series(window_->series()->names()[0]);
    QTRY_COMPARE(curve->size(), std::size_t{41});
    for (std::size_t i = 0; i < 41; ++i) {
      const double x = (static_cast<double>(i) - 20) / 10;
      QCOMPARE(curve->steps[i], x);
      QVERIFY(std::abs(curve->values[i] - 3 * x * x) < 1e-5);
    }
    // "Drag the slider under the window back to the start. Every panel shows the values of that moment
    // again."
    press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    auto* slider = window_->findChild<QSlider*>("cursorSlider");
    QTRY_COMPARE(slider->value(), slider->maximum());
    const int middle = slider->height() / 2;
    QTest::mousePress(slider, Qt::LeftButton, {}, {slider->width() - 6, middle});
    for (int x = slider->width() - 6; x > -20; x -= 40) QTest::mouseMove(slider, {x, middle});
    QTest::mouseRelease(slider, Qt::LeftButton, {}, {-20, middle});
    QTRY_COMPARE(session().cursor(), inspector::RecordNumber{1});
    QTRY_COMPARE(timeline(*window_)->model()->recordAt(timeline(*window_)->table()->currentIndex().row()),
                 quint64{1});
    const auto* model = tensor(*window_)->model();
    QTRY_VERIFY(model->tile() && !model->loading() && model->tile()->values == std::vector<double>{9.});
    QTRY_COMPARE(graph().cursor, quint64{1});
    QCOMPARE(graph().vjps, 0u);
    screenshot(window_.get(), "sample-first-gradient-rewound");
    // "Then open Noisy square"
    const auto windows = QApplication::topLevelWidgets();
    press(Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
    MainWindow* other = nullptr;
    const auto opened = [&] {
      for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* window = qobject_cast<MainWindow*>(widget); window && !windows.contains(widget))
          other = window;
      return other && other->isVisible();
    };
    QVERIFY(waitFor(opened, tapedeck::patience));
    QTest::mouseClick(other->findChild<QAbstractButton*>("open:noisy_square.ipynb"), Qt::LeftButton);
    QTRY_VERIFY(other->notebook()->isVisible() && other->document()->cellCount() > 3);
    QVERIFY(other->document()->cell(0).source.startsWith("# Noisy square"));
    other->close();
  }

  void theNaN() {
    open("log1pexp.ipynb");
    const int first = cellThatBegins("import tapedeck"), at100 = cellThatBegins("grad_log1pexp(100.)");
    click(first);
    runByKey(first);
    QVERIFY(outputText(*window_, first).contains("numpy=0.5"));
    // "Select the cell above and press F10 to step through it"
    click(at100);
    step();
    QVERIFY(isStopped(*window_));
    std::vector<Step> steps;
    while (isStopped(*window_) && steps.size() < 12) {
      steps.push_back(step());
      if (steps.back().kind == RecordKind::vjp && steps.back().op == "exp") break;
    }
    const auto value = [&](RecordKind kind, const char* op) {
      for (const Step& one : steps)
        if (one.kind == kind && one.op == op && one.values.size() == 1) return one.values[0];
      return -12345.;
    };
    QCOMPARE(value(RecordKind::op, "exp"), std::numeric_limits<double>::infinity());
    QCOMPARE(value(RecordKind::op, "log"), std::numeric_limits<double>::infinity());
    QCOMPARE(value(RecordKind::vjp, "log"), 0.);
    QVERIFY(std::isnan(value(RecordKind::vjp, "exp")));
    screenshot(window_.get(), "sample-nan-born");
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(at100), CellState::done, patience);
    QVERIFY(outputText(*window_, at100).contains("numpy=nan"));
    // "or drag the slider back over the last operations and watch the Tensor panel"
    press(Qt::Key_F10, Qt::ShiftModifier);
    QTRY_VERIFY(session().cursor() < session().recordCount());
    // "The fix": the slope is ½ at 0 and 1 at 100, and the curve has no hole.
    const int mended = cellThatBegins("@tfe.custom_gradient"), slope = cellThatBegins("xs = ");
    for (const int cell : {mended, slope}) {
      click(cell);
      runByKey(cell);
    }
    QVERIFY(outputText(*window_, mended).contains("numpy=0.5"));
    QVERIFY(outputText(*window_, mended).contains("numpy=1.0"));
    QTRY_COMPARE(window_->series()->names().size(), 1);
    const auto* curve = window_->series()->series(window_->series()->names()[0]);
    QTRY_COMPARE(curve->size(), std::size_t{56});
    for (const double y : curve->values) QVERIFY(y >= 0 && y <= 1);
    QCOMPARE(curve->steps.front(), -10.);
    QCOMPARE(curve->steps.back(), 100.);
    screenshot(window_.get(), "sample-nan-mended");
    // "Can you write a forward pass that gives it?" In a cell of one's own, below the last one.
    window_->notebook()->setCurrentCell(document().cellCount() - 1, false);
    window_->notebook()->setFocus();
    const int own = document().cellCount();
    press(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(document().cellCount(), own + 1);
    click(own);
    type("x = tf.constant(100.)\nfloat(x + tf.log(1 + tf.exp(-x)))");
    runByKey(own);
    QCOMPARE(lastNumber(own), 100.);
  }

  void noisySquare() {
    open("noisy_square.ipynb");
    // "Press F10. The cell starts and stops before its first op; each further F10 runs one." "… the
    // steps go into it, and you see its own ops."
    step();
    QVERIFY(isStopped(*window_));
    bool custom = false, noise = false;
    for (int i = 0; i < 10 && !noise; ++i) {
      const Step one = step();
      custom = custom || (session().cachedRecord(session().status().stopped_before.value_or(0))->kind ==
                          RecordKind::vjp);
      noise = one.op == "random_uniform";
    }
    QVERIFY(custom && noise);
    // "Press F5 to let it run, and watch both curves in the Plots panel."
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
    QTRY_COMPARE(window_->series()->names(), QStringList({"noisy", "clean"}));
    const auto size = [&](const char* name) { return window_->series()->series(name)->size(); };
    QTRY_COMPARE(size("noisy"), std::size_t{20});
    QTRY_COMPARE(size("clean"), std::size_t{20});
    press(Qt::Key_3, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(app::plots(*window_)->isVisible());
    screenshot(window_.get(), "sample-noisy-curves");
    // "We can check that against the formula." "… so x = -0.25."
    const int check = cellThatBegins("expected ="), mean = cellThatBegins("sum(noisy");
    for (const int cell : {check, mean}) {
      click(cell);
      runByKey(cell);
    }
    QVERIFY(lastNumber(check) < 1e-5);
    QVERIFY2(std::abs(lastNumber(mean) + 0.25) < 0.15, qPrintable(QString::number(lastNumber(mean))));
    const double before = lastNumber(mean);
    // "Try it: make the noise fair with tf.random_uniform((), -.5, .5) and run the notebook again."
    click(1);
    CodeEditor* editor = editorOf(1);
    QVERIFY(editor->findFirst("random_uniform(())", false, true, false, false, true, 0, 0));
    type("random_uniform((), -.5, .5)");
    QVERIFY(document().cell(1).source.contains("true_grad + tf.random_uniform((), -.5, .5)\n"));
    press(Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(allDone() && lastNumber(mean) != before, patience);
    // "Where does the noisy curve wander now?" Around 0.
    QVERIFY2(std::abs(lastNumber(mean)) < 0.15, qPrintable(QString::number(lastNumber(mean))));
  }

  void aGraphFunction() {
    open("graph_functions.ipynb");
    const int settle = cellThatBegins("import tapedeck"), power = cellThatBegins("@tf.function\ndef power");
    click(settle);
    runByKey(settle);
    // "choose the workspace Analyze (Ctrl+Alt+5) and press Alt+9: Graph lists settle with two traces."
    press(Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    press(Qt::Key_9, Qt::AltModifier);
    auto* graph = window_->findChild<inspector::GraphView*>();
    QTRY_VERIFY(graph && graph->isVisible() && graph->functions()->topLevelItemCount() == 1);
    const QTreeWidgetItem* function = graph->functions()->topLevelItem(0);
    QCOMPARE(function->childCount(), 2);
    // "The first ran twice … The second was made because argument x: shape (3,) became (2,)."
    using List = inspector::FunctionList;
    QCOMPARE(function->child(0)->text(List::Calls), QString("ran 2 times"));
    QCOMPARE(function->child(1)->text(List::Reason), QString("argument x: shape (3,) became (2,)"));
    // "Click into the nodes and press N": folded, merged, removed.
    const auto text = [&] { return inspector::graphAsText(graph->model()->rows(), {}); };
    QTRY_VERIFY(!graph->model()->rows().empty());
    for (const char* note :
         {"[folded: was sqrt(%1)]", "[merged: the same as %4]", "[removed: nothing reads it]"}) {
      QTest::mouseClick(graph->nodes()->viewport(), Qt::LeftButton, {}, {80, 8});
      press(Qt::Key_N);
      QTRY_VERIFY2(text().contains(note), qPrintable(text()));
    }
    screenshot(window_.get(), "sample-graph-functions");
    // "power has six traces … The row with ⚠ says what to do."
    click(power);
    runByKey(power);
    QTRY_COMPARE(graph->functions()->topLevelItemCount(), 2);
    QCOMPARE(graph->functions()->topLevelItem(1)->childCount(), 7);
    QVERIFY(graph->functions()->topLevelItem(1)->child(0)->text(0).contains("pass it as a tensor"));
    // "Try it": a tensor's values share one trace.
    click(power);
    CodeEditor* editor = editorOf(power);
    QVERIFY(editor->findFirst("(2.0), k)", false, true, false, false, true, 0, 0));
    type("(2.0), tf.constant(float(k)))");
    runByKey(power);
    QTRY_COMPARE(graph->functions()->topLevelItem(1)->childCount(), 1);
  }

  void aFirstNetwork() {
    open("first_network.ipynb");
    const int train = cellThatBegins("import tapedeck"), result = cellThatBegins("network(x)");
    const auto lastLoss = [&] {
      const auto* curve = window_->series()->series("loss");
      return curve && curve->size() == 200 ? curve->values.back() : -1;
    };
    // "Run the cell with Shift+Enter, and watch its loss in Plots." "What it makes of the four examples".
    click(train);
    runByKey(train);
    QTRY_VERIFY2(lastLoss() > 0 && lastLoss() < 0.001, qPrintable(QString::number(lastLoss())));
    click(result);
    runByKey(result);
    static const QRegularExpression number("[0-9.]+(?=[\\],])");
    QList<bool> ones;
    for (auto found = number.globalMatch(outputText(*window_, result)); found.hasNext();)
      ones << (found.next().captured().toDouble() > 0.9);
    QCOMPARE(ones, (QList<bool>{false, true, true, false}));
    // "Click on the line gradients = …, press F9, and give the breakpoint the condition step == 40 … Run the
    // cell again: it stops there, and Tape shows what step 40 has computed so far".
    stopInTheNetwork();
    QVERIFY(isStopped(*window_));
    QTRY_COMPARE(window_->series()->series("loss")->size(), std::size_t{40});
    QTRY_COMPARE(tape(*window_)->model()->graph().vjps, 0u);
    QTRY_VERIFY(tape(*window_)->model()->graph().ops >= 7);
    // "Each F10 now runs one VJP, from the loss back to W1."
    QStringList vjps;
    for (int i = 0; i < 40 && !vjps.contains("tanh"); ++i)
      if (const Step one = step(); one.kind == RecordKind::vjp) vjps << one.op;
    QCOMPARE(vjps.value(0), QString("reduce_mean"));
    QCOMPARE(vjps.value(1), QString("square"));
    QVERIFY2(vjps.contains("matmul") && vjps.last() == "tanh", qPrintable(vjps.join(' ')));
    screenshot(window_.get(), "sample-network-played-back");
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(train), CellState::done, patience);
    // "Remove the nonlinearity … The loss stops at 0.25".
    click(train);
    CodeEditor* editor = editorOf(train);
    QVERIFY(editor->findFirst("tf.tanh(tf.matmul(x, W1) + b1)", false, true, false, false, true, 0, 0));
    type("tf.matmul(x, W1) + b1");
    press(Qt::Key_Delete, Qt::AltModifier | Qt::ShiftModifier);  // all breakpoints
    runByKey(train);
    QTRY_VERIFY2(std::abs(lastLoss() - 0.25) < 1e-3, qPrintable(QString::number(lastLoss())));
  }
};

TAPEDECK_TEST(TestSamples)
#include "tst_samples.moc"
