// The main job, as a new user does it, with keys and mouse, in a real window with a real session process.
// What the panels show is compared with values computed here.
#include <QAbstractItemView>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTableView>
#include <cmath>

#include "app/shell/window/start_page.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/panels/tape/tape_view.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "plots/plots_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::NodeKind;
using protocol::RecordKind;
using protocol::RecordState;

class TestMainJob : public QObject, SampleWindow {
  Q_OBJECT

 private:
  /// Presses a key in the window as a user does, and waits until the gate stopped somewhere else or the cell
  /// ended.
  void step(Qt::Key key = Qt::Key_F10, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    const auto before = session().stop();
    QTest::keyClick(window_.get(), key, modifiers);
    const QString cell = window_->document()->cell(window_->notebook()->currentCell()).id;
    const auto ended = [&] {
      const CellState state = window_->notebook()->cellState(cell);
      return state == CellState::done || state == CellState::failed;
    };
    QTRY_VERIFY_WITH_TIMEOUT((isStopped(*window_) && session().stop() != before) || ended(), patience);
  }

  const protocol::Record* pending() {
    return session().cachedRecord(session().status().stopped_before.value_or(0));
  }

  /// The values that the tensor panel shows for the selected tensor; none while newer ones are on their way.
  std::vector<double> shownValues() {
    const auto* model = tensor(*window_)->model();
    return model->tile() && !model->loading() ? model->tile()->values : std::vector<double>{};
  }

  /// Steps over `number` and waits until the tensor panel shows what came out of it.
  void stepOver(quint64 number) {
    step();
    const auto* model = tensor(*window_)->model();
    // Where a gradient is complete the cursor is at what made it so.
    const auto shows = [&] {
      if (model->currentChip() < 0 || shownValues().empty()) return false;
      const auto& chip = model->chips()[model->currentChip()];
      return session().status().stopped_after
                 ? chip.role == inspector::TensorRole::output
                 : chip.role == inspector::TensorRole::justRan && chip.record == number;
    };
    QTRY_VERIFY_WITH_TIMEOUT(shows(), patience);
  }

  int nodes(NodeKind kind) {
    int count = 0;
    for (const auto& node : tape(*window_)->model()->graph().nodes) count += node.kind == kind;
    return count;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void steppingThroughACustomGradient() {
    open("noisy_square.ipynb");
    // The start page gave way to the notebook, and opening it ran nothing.
    QCOMPARE(session().recordCount(), quint64{0});
    window_->notebook()->setCurrentCell(1, false);

    step();
    QVERIFY(isStopped(*window_));
    QTRY_VERIFY(pending());
    QCOMPARE(session().cursor(), session().status().stopped_before.value_or(0));
    QCOMPARE(pending()->state, RecordState::pending);
    QCOMPARE(QString::fromStdString(pending()->op), QString("multiply"));  // x * x
    // The tensor panel shows its input: x = 2.
    QTRY_COMPARE(shownValues(), std::vector<double>{2.});
    // The line of `return x * x, grad` is marked, in the cell that runs.
    const QStringList lines = window_->document()->cell(1).source.split('\n');
    QCOMPARE(lines[static_cast<int>(session().status().line) - 1].trimmed(), QString("return x * x, grad"));
    screenshot(window_.get(), "main-job-first-stop");
    const auto firstRecord = session().status().stopped_before.value_or(0);

    stepOver(firstRecord);
    // It ran: its record and the panel hold 2 · 2, and the graph has its node.
    QCOMPARE(shownValues(), std::vector<double>{4.});
    QTRY_VERIFY(session().record(firstRecord) && session().record(firstRecord)->state == RecordState::done);
    QCOMPARE(QString::fromStdString(session().record(firstRecord)->outputs.at(0).preview), QString("4.0"));
    QTRY_VERIFY(nodes(NodeKind::op) + nodes(NodeKind::custom) >= 1);
    screenshot(window_.get(), "main-job-second-stop");

    // Now backwards. This stop is the VJP of noisy_square, which the first gradient of the playback, 1, goes
    // into.
    QTRY_VERIFY(pending());
    QCOMPARE(pending()->kind, RecordKind::vjp);
    QVERIFY(pending()->backward && pending()->custom_gradient);
    QCOMPARE(QString::fromStdString(pending()->inputs.at(0).preview), QString("1.0"));
    // It is the user's: the steps go into it.
    bool enteredCustom = false;
    double noise = -1;
    const auto firstStop = session().status().stopped_before.value_or(0);
    for (int i = 0; i < 12 && isStopped(*window_); ++i) {
      QTRY_VERIFY(pending());
      const auto record = *pending();
      if (record.op == "random_uniform" && record.backward) {
        const auto* parent = session().record(record.parent);
        QTRY_VERIFY((parent = session().record(record.parent)) != nullptr);
        QCOMPARE(parent->kind, RecordKind::vjp);
        QVERIFY(parent->custom_gradient);
        enteredCustom = true;
        screenshot(window_.get(), "main-job-custom-gradient");
        stepOver(record.number);
        QCOMPARE(shownValues().size(), std::size_t{1});
        noise = shownValues()[0];
        break;
      }
      step();
    }
    QVERIFY(enteredCustom);
    QVERIFY2(noise >= 0 && noise < 1, qPrintable(QString::number(noise)));
    QVERIFY(session().status().stopped_before.value_or(0) > firstStop);

    // The next op adds it to the true gradient, 2 · 1 · 2 = 4.
    QTRY_VERIFY(pending());
    QCOMPARE(QString::fromStdString(pending()->op), QString("add"));
    stepOver(pending()->number);
    QVERIFY2(std::abs(shownValues()[0] - (4 + noise)) < 1e-6, qPrintable(QString::number(shownValues()[0])));

    // F5 lets it run; both curves draw themselves.
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(window_->kernel()->state() == KernelState::idle, patience);
    const auto points = [this](const char* name) {
      const auto* series = window_->series()->series(name);
      return series ? series->values : std::vector<double>{};
    };
    QTRY_COMPARE_WITH_TIMEOUT(points("noisy").size(), std::size_t{20}, patience);
    QTRY_COMPARE_WITH_TIMEOUT(points("clean").size(), std::size_t{20}, patience);
    for (int k = 0; k < 20; ++k)
      QVERIFY2(std::abs(points("clean")[k] - 2 * std::pow(-.8, k)) < 1e-5, qPrintable(QString::number(k)));
    QVERIFY(std::abs(points("noisy")[1] - (2 - .9 * (4 + noise))) < 1e-5);
    screenshot(window_.get(), "main-job-finished");

    // Dragging the slider to its left end rewinds every panel to the first record, and back.
    auto* slider = window_->findChild<QSlider*>("cursorSlider");
    QVERIFY(knowsAllRecords(*window_));
    const auto newest = session().recordCount();
    QTRY_COMPARE(session().cursor(), newest);
    QTRY_COMPARE(static_cast<quint64>(slider->maximum()), newest);
    QStyleOptionSlider option;
    option.initFrom(slider);
    option.orientation = Qt::Horizontal;
    option.minimum = slider->minimum();
    option.maximum = slider->maximum();
    option.sliderPosition = option.sliderValue = slider->value();
    const QRect handle =
        slider->style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, slider);
    QTest::mousePress(slider, Qt::LeftButton, {}, handle.center());
    for (int x = handle.center().x(); x > 0; x -= 20)
      QTest::mouseMove(slider, QPoint(x, handle.center().y()));
    QTest::mouseMove(slider, QPoint(0, handle.center().y()));
    QTest::mouseRelease(slider, Qt::LeftButton, {}, QPoint(0, handle.center().y()));
    QTRY_COMPARE(session().cursor(), quint64{1});
    auto* table = timeline(*window_)->findChild<QTableView*>();
    QTRY_COMPARE(timeline(*window_)->model()->recordAt(table->currentIndex().row()), quint64{1});
    QTRY_VERIFY(tape(*window_)->model()->graph().cursor == 1);
    QTRY_VERIFY(!shownValues().empty() && (shownValues()[0] == 4. || shownValues()[0] == 2.));
    screenshot(window_.get(), "main-job-rewound");
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
    QTRY_COMPARE(session().cursor(), newest);
  }

  void trainingPausesShowsItsWeightsAndGoesOn() {
    open("lbfgs_autoencoder.ipynb");
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    const auto loss = [this] {
      const auto* series = window_->series()->series("loss");
      return series ? series->values : std::vector<double>{};
    };
    QTRY_VERIFY_WITH_TIMEOUT(loss().size() >= 5, 4 * patience);
    // Falling: full-batch L-BFGS makes progress from the third evaluation on.
    QVERIFY(loss()[4] < loss()[0]);

    QTest::keyClick(window_.get(), Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    const auto finished = session().status().finished;
    nothingMayHappenFor(300);
    QCOMPARE(session().status().finished, finished);  // it really waits

    // The weights: an input named W of some record, shown as images of 28×28.
    bool found = false;
    for (auto number = session().recordCount();
         number > 0 && !found && number + 600 > session().recordCount(); --number) {
      QTRY_VERIFY_WITH_TIMEOUT(session().record(number), patience);
      for (const auto& input : session().record(number)->inputs) found = found || input.name == "W:0";
      if (found) session().setCursor(number);
    }
    QVERIFY(found);
    auto* model = tensor(*window_)->model();
    int chip = -1;
    QTRY_VERIFY_WITH_TIMEOUT(
        [&] {
          for (std::size_t i = 0; i < model->chips().size(); ++i)
            if (model->chips()[i].info.name == "W:0") chip = static_cast<int>(i);
          return chip >= 0;
        }(),
        patience);
    auto* chips = tensor(*window_)->chips();
    QTest::mouseClick(chips, Qt::LeftButton, {}, chips->tabRect(chip).center());
    QCOMPARE(model->currentChip(), chip);
    auto* reshape = tensor(*window_)->findChild<QLineEdit*>();
    QTest::mouseClick(reshape, Qt::LeftButton);
    QTest::keyClicks(reshape, "28x28");
    QVERIFY2(model->reshapeError().isEmpty(), qPrintable(model->reshapeError()));
    QVERIFY(model->images().has_value());
    QTRY_VERIFY_WITH_TIMEOUT(model->imageTile() && !model->imageTile()->values.empty(), patience);
    QCOMPARE(tensor(*window_)->canvas()->mode(),
             inspector::TensorMode::heatMap);  // as images, not as numbers
    screenshot(window_.get(), "autoencoder-weights");

    const auto points = loss().size();
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(loss().size() > points + 2, patience);
    window_->kernel()->interrupt();
    QTRY_VERIFY_WITH_TIMEOUT(window_->kernel()->state() == KernelState::idle, patience);
  }
};

TAPEDECK_TEST(TestMainJob)
#include "tst_main_job.moc"
