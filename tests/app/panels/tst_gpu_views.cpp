// What the window shows of devices, in a session with emulated GPUs: where ops ran and values lie, what was
// copied, when GPUs worked, where values are computed again, and a run on both devices.
#include <QRegularExpression>

#include "inspector/model/ops/records_model.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/time/time_view.h"
#include "inspector/panels/time/track_canvas.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::GraphNode;
using inspector::RecordsModel;
using inspector::TapeGraph;
using inspector::TimeView;

namespace {

/// The variable is on the CPU, what it is multiplied with on the GPU.
const QString both_devices =
    "import tapedeck as tf\n"
    "with tf.device('/cpu:0'):\n"
    "    v = tf.Variable(tf.random_uniform([500, 400], seed=1), name='v')\n"
    "x = tf.random_uniform([600, 500], seed=2)\n"
    "with tf.GradientTape() as tape:\n"
    "    y = tf.matmul(x, v)\n"
    "    z = tf.exp(y * -0.01)\n"
    "    loss = tf.reduce_mean(z)\n"
    "gradient = tape.gradient(loss, v)\n"
    "values, places = tf.unique(tf.cast(z[0] * 9., tf.int32))";
const QString elsewhere = "computed again on /cpu:0; it ran on /gpu:0";

double element(const protocol::Tile& tile, std::int64_t row, std::int64_t column) {
  return tile.values.at(static_cast<std::size_t>(row * tile.columns + column));
}

}  // namespace

class TestGpuViews : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  QAction* onCpu() const { return window_->findChild<QAction*>("session.replay_on_cpu"); }
  const RecordsModel& rows() const { return *timeline(*window_)->model(); }
  /// Of the op at a place among those that are listed: headings do not count.
  QModelIndex cell(int place, int column) const {
    return rows().index(rows().rowOf(rows().listedRecord(place)), column);
  }
  QString cellText(int place, int column) const { return cell(place, column).data().toString(); }
  QString source() const {
    const inspector::TensorModel* model = tensor(*window_)->model();
    return model->tile() && !model->loading() ? QString::fromStdString(model->tile()->source) : QString();
  }
  const TapeGraph* graph() const {
    const auto* laid = tape(*window_)->canvas()->laidOut();
    return laid ? &laid->graph : nullptr;
  }
  const GraphNode* node(const QString& op, bool backward = false) const {
    if (!graph()) return nullptr;
    for (const GraphNode& one : graph()->nodes)
      if (one.op == op && one.backward == backward) return &one;
    return nullptr;
  }

  void runAndLook(const QStringList& cells) {
    openCells(folder_, cells);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    click(0);
    runByKey(0);
    showAllRecords();
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void opsTapeAndStatusBarNameDevices() {
    runAndLook({both_devices});
    QTRY_VERIFY2(
        QRegularExpression(" · cpu · gpu:0 \\S+ \\S+ of \\S+ \\S+ · gpu:1 ").match(state()).hasMatch(),
        qPrintable(state()));
    // The variable goes there for the product; what has no kernel goes to the CPU and comes back.
    QStringList copies, reasons;
    for (int row = 0; row < rows().listedCount(); ++row) {
      QTRY_VERIFY(cell(row, RecordsModel::Op).data(RecordsModel::HereRole).toBool());
      if (!cellText(row, RecordsModel::Op).startsWith("⇄ ")) continue;
      copies << cellText(row, RecordsModel::Op);
      reasons << cell(row, RecordsModel::Op).data(Qt::ToolTipRole).toString();
      QCOMPARE(cellText(row, RecordsModel::Device), copies.last().section(' ', -1));
    }
    QVERIFY2(copies.contains("⇄ copy to /gpu:0") && copies.contains("⇄ copy to /cpu:0"),
             qPrintable(copies.join(", ")));
    QVERIFY2(reasons.filter("why: no CUDA kernel for unique").size() >= 2, qPrintable(reasons.join("\n\n")));

    goTo("op:exp and not backward");
    QCOMPARE(cellText(0, RecordsModel::Device), QString("/gpu:0"));
    QTRY_VERIFY(node("exp") && node("exp")->device == "/gpu:0");
    QTRY_VERIFY(node("copy to /gpu:0") && node("copy to /gpu:0")->copies);
    QVERIFY(!node("exp")->copies);
    screenshot(window_.get(), "gpu-views-ops");
    // Its gradient comes back.
    session().setCursor(session().recordCount());
    goTo("op:unique");
    QCOMPARE(cellText(0, RecordsModel::Device), QString("/cpu:0"));
  }

  void valuesAreComputedAgainWhereTheKeySays() {
    runAndLook(
        {both_devices, "tf.debugging.set_replay_device('/cpu:0')", "tf.debugging.set_replay_device(None)"});
    goTo("op:exp and not backward");
    const auto* canvas = tensor(*window_)->canvas();
    // Computed again for a first look, it is held for the next ones.
    const auto isFromGpu = [&] { return source() == "recomputed" || source() == "held"; };
    QTRY_VERIFY2(isFromGpu(), qPrintable(source()));
    const protocol::Tile there = *tensor(*window_)->model()->tile();
    QVERIFY(!onCpu()->isChecked());
    for (const bool here : {true, false}) {
      press(Qt::Key_U, Qt::ControlModifier | Qt::AltModifier);
      QTRY_COMPARE(onCpu()->isChecked(), here);
      QTRY_VERIFY2(here ? source() == elsewhere : isFromGpu(), qPrintable(source()));
      if (here) QCOMPARE(canvas->sourceText(), elsewhere);
      // The visible part, and so the tile, changes with the panel's size: the elements of both are compared.
      const protocol::Tile tile = *tensor(*window_)->model()->tile();
      const std::int64_t rows = std::min(tile.rows, there.rows),
                         columns = std::min(tile.columns, there.columns);
      QVERIFY(rows > 1 && columns > 1 && tile.row == there.row && tile.column == there.column);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
          QVERIFY(std::abs(element(tile, row, column) - element(there, row, column)) < 1e-5);
      if (here) shots(window_.get(), "gpu-views-debug");
    }
    for (const int cell : {1, 2}) {
      click(cell);
      runByKey(cell);
      QTRY_COMPARE(onCpu()->isChecked(), cell == 1);
      QTRY_VERIFY2(cell == 1 ? source() == elsewhere : isFromGpu(), qPrintable(source()));
    }
    QCOMPARE(chooseInMenus(window_.get(), "session.replay_on_cpu"), QString());
    QTRY_COMPARE(source(), elsewhere);
    // What was chosen holds for the next session.
    window_->kernel()->restart();
    QTRY_VERIFY(isReady(*window_) && session().recordCount() == 0);
    QTRY_VERIFY(session().status().replay_on_cpu && onCpu()->isChecked());
  }

  void aScalarSaysItToo() {
    runAndLook({both_devices});
    goTo("op:reduce_mean and not backward");
    press(Qt::Key_U, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(tensor(*window_)->canvas()->showsScalar());
    QTRY_COMPARE(source(), elsewhere);
    // Whichever comes first, the value's place or its statistics, the description keeps both.
    const auto parts = [&] { return tensor(*window_)->canvas()->accessibleDescription().split(" · "); };
    QTRY_VERIFY2(parts().contains(elsewhere), qPrintable(parts().join(" · ")));
    QTRY_VERIFY2(!parts().filter("mean").isEmpty(), qPrintable(parts().join(" · ")));
    screenshot(window_.get(), "gpu-views-scalar");
  }

  void timeHasATrackForTheGpu() {
    runAndLook({both_devices});
    press(Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    auto* view = window_->findChild<TimeView*>();
    QTRY_VERIFY(view && view->isVisible() && view->model()->overview() && view->model()->indexed() == 1);
    QTRY_VERIFY2(view->summary()->text().contains("/gpu:0 worked on "), qPrintable(view->summary()->text()));
    const auto boxesOfGpu = [&] {
      int boxes = 0;
      const protocol::ProfileTrack* track = view->model()->track();
      for (const auto& shown : view->track()->shown())
        boxes += track && shown.lane < track->lanes.size() && track->lanes[shown.lane].device == "/gpu:0";
      return boxes;
    };
    QTRY_VERIFY(boxesOfGpu() > 0);
    shots(window_.get(), "gpu-views-time");
  }

  void aRunOnBothDevicesStopsAtTheFirstOpThatDiffers() {
    openCells(folder_,
              {"import tapedeck as tf\nx = tf.constant([1., 2., 3.])\ndef f():\n    y = tf.exp(x)\n"
               "    wrong = 3. if y.device.endswith('GPU:0') else 2.\n    return tf.reduce_sum(y * wrong)",
               "tf.debugging.lockstep(f, '/cpu:0', '/gpu:0')"});
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    click(0);
    runByKey(0);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE(stateOf(1), CellState::failed);
    const QString text = outputText(*window_, 1);
    QVERIFY2(text.contains("multiply (line 6 of the cell): ") &&
                 text.contains(" in the first run (/cpu:0)") && text.contains(" in the second (/gpu:0)"),
             qPrintable(text));
    const auto records = QRegularExpression("Records (\\d+) and (\\d+)\\.").match(text);
    QVERIFY2(records.hasMatch(), qPrintable(text));
    showAllRecords();
    for (const int run : {1, 2}) {
      goTo("record == " + records.captured(run));
      QVERIFY2(cellText(0, RecordsModel::Op).endsWith(" multiply"),
               qPrintable(cellText(0, RecordsModel::Op)));
      QCOMPARE(cellText(0, RecordsModel::Device), QString(run == 1 ? "/cpu:0" : "/gpu:0"));
    }
    shots(window_.get(), "gpu-views-lockstep");
  }
};

TAPEDECK_TEST(TestGpuViews)
#include "tst_gpu_views.moc"
