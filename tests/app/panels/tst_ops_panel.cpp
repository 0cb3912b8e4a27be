// Ops, the playback bar and Tensor in a real window with a real session process: what they say after a cell,
// of a filter, and when the session is gone.
#include <signal.h>

#include <QAbstractButton>
#include <QInputDialog>
#include <QLineEdit>
#include <QTableView>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestOpsPanel : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void show() { window_ = newWindow(); }

  void openCells(const QStringList& cells) {
    show();
    window_->openNotebook(writeNotebook(folder_, "ops.ipynb", cells));
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->document()->cellCount() >= cells.size() && window_->document()->cell(0).source == cells[0],
        patience);
    debug();
  }
  /// The workspace with the panels, which come as soon as they have something to show.
  void debug() {
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("debug"));
  }

  CellState stateOf(int cell) { return cellStateOf(*window_, cell); }

  /// By the key, in the current cell.
  void runCell(int cell) {
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(cell) == CellState::done, patience);
  }

  /// Presses Shift+Enter, and waits until whatever it started has ended.
  void pressRun() {
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(nothingRuns(), 10 * patience);
  }
  bool nothingRuns() {
    for (int i = 0; i < window_->document()->cellCount(); ++i)
      if (stateOf(i) == CellState::queued || stateOf(i) == CellState::busy) return false;
    return true;
  }

  RecordsModel& rows() { return *timeline(*window_)->model(); }
  /// Of the op at a place among those that are listed: headings do not count.
  QModelIndex cell(int place, int column) {
    return rows().index(rows().rowOf(rows().listedRecord(place)), column);
  }
  QString cellText(int place, int column) { return cell(place, column).data().toString(); }
  QString bar() { return window_->findChild<QLabel*>("cursorLabel")->text(); }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void afterAGradientCellEverythingHasEnded() {
    show();
    auto* card = window_->findChild<QAbstractButton*>("open:first_gradient.ipynb");
    QVERIFY(card);
    QTest::mouseClick(card, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window_->document()->cellCount() > 1, patience);
    debug();
    // Shift+Enter through the notebook, until its last cell ran.
    const int last = window_->document()->cellCount() - 1;
    const auto codeCellsDone = [&] {
      for (int i = 0; i <= last; ++i)
        if (window_->document()->cell(i).type == CellType::code && stateOf(i) != CellState::done)
          return false;
      return true;
    };
    const auto newestIsShown = [&] {
      return bar().startsWith(QString("cursor: op %1 of %1").arg(rows().listedCount()));
    };
    // After every one of them the cursor is at the newest record: also where that is inside of a playback.
    for (int presses = 0; presses <= last && !codeCellsDone(); ++presses) {
      pressRun();
      QTRY_VERIFY2_WITH_TIMEOUT(rows().listedCount() == 0 || newestIsShown(), qPrintable(bar()), patience);
    }
    QTRY_VERIFY_WITH_TIMEOUT(codeCellsDone(), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(newestIsShown(), qPrintable(bar()), patience);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY2_WITH_TIMEOUT(newestIsShown(), qPrintable(bar()), patience);
    const int count = rows().listedCount();
    QVERIFY(count > 3);
    const auto playback = [&] {
      for (int row = 0; row < count; ++row)
        if (const auto* record = window_->session()->record(rows().listedRecord(row)))
          if (record->kind == protocol::RecordKind::playback) return row;
      return -1;
    };
    QTRY_VERIFY_WITH_TIMEOUT(playback() >= 0, patience);
    for (int row = 0; row < count; ++row) {
      QTRY_VERIFY_WITH_TIMEOUT(cellText(row, RecordsModel::Op) != "…", patience);
      QTRY_VERIFY2_WITH_TIMEOUT(cellText(row, RecordsModel::Duration) != "running",
                                qPrintable(cellText(row, RecordsModel::Op)), patience);
    }
    QVERIFY2(newestIsShown(), qPrintable(bar()));
    QCOMPARE(window_->findChild<QSlider*>("cursorSlider")->value(), count);
    QCOMPARE(rows().recordAt(timeline(*window_)->table()->currentIndex().row()),
             static_cast<inspector::RecordNumber>(count));
    const auto drawn = [&] {
      const auto& nodes = tape(*window_)->model()->graph().nodes;
      return std::find_if(nodes.begin(), nodes.end(),
                          [](const inspector::GraphNode& node) {
                            return node.kind == inspector::NodeKind::playback;
                          }) != nodes.end() &&
             std::none_of(nodes.begin(), nodes.end(), [](const inspector::GraphNode& node) {
               return node.state == protocol::RecordState::running;
             });
    };
    QTRY_VERIFY_WITH_TIMEOUT(drawn(), patience);
    screenshot(window_.get(), "ops-after-a-gradient");
  }

  void aTypedFilterShowsTheRowsThatMatch() {
    openCells(
        {"import tapedeck as tf\nW = tf.Variable([[1., 2.], [3., 4.]], name='W')\n"
         "for i in range(400):\n    with tf.GradientTape() as tape:\n"
         "        y = tf.reduce_sum(tf.square(tf.matmul(W, W)))\n    g = tape.gradient(y, W)",
         "import tapedeck as tf\nfor i in range(100): tf.tanh(tf.constant([1., 2.]))"});
    runCell(0);
    QTRY_VERIFY_WITH_TIMEOUT(rows().listedCount() > 2000, patience);
    auto* edit = timeline(*window_)->filterEdit();
    QTRY_VERIFY(edit->isVisible());
    QTest::mouseClick(edit, Qt::LeftButton);
    const auto type = [&](const QString& text) {
      edit->selectAll();
      QTest::keyClicks(edit, text);
      QTest::keyClick(edit, Qt::Key_Return);
      QTRY_VERIFY_WITH_TIMEOUT(rows().filterText() == text && !rows().scanning(), patience);
    };
    type("matmul is:forward");
    QCOMPARE(rows().listedCount(), 400);
    inspector::RecordNumber before = 0;
    for (int row = 0; row < 400; row += 57) {
      QTRY_VERIFY_WITH_TIMEOUT(cellText(row, RecordsModel::Op).contains("matmul"), patience);
      QVERIFY(rows().listedRecord(row) > before);
      before = rows().listedRecord(row);
    }
    screenshot(window_.get(), "ops-filter");
    type("op:reduce_sum is:forward");
    QCOMPARE(rows().listedCount(), 400);
    type("name:W matmul");
    QVERIFY(rows().listedCount() >= 400);
    QTRY_VERIFY_WITH_TIMEOUT(cellText(0, RecordsModel::Name).contains("W"), patience);
    type("kind:playback");
    QCOMPARE(rows().listedCount(), 400);
    type("tanh");
    QCOMPARE(rows().listedCount(), 0);
    // What runs from now on comes by itself.
    window_->notebook()->setCurrentCell(1, false);
    window_->notebook()->setFocus();
    runCell(1);
    QTRY_COMPARE_WITH_TIMEOUT(rows().listedCount(), 100, patience);
    QTRY_VERIFY_WITH_TIMEOUT(cellText(99, RecordsModel::Op).contains("tanh"), patience);
  }

  void aFilterFindsWhileTheCellRunsOn() {
    openCells(
        {"import tapedeck as tf\nx = tf.constant([1., 2.])\nfor i in range(3000): x = tf.tanh(x)\nwhile "
         "True: pass"});
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(rows().listedCount() >= 3000, patience);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::busy, patience);
    auto* edit = timeline(*window_)->filterEdit();
    QTRY_VERIFY(edit->isVisible());
    QTest::mouseClick(edit, Qt::LeftButton);
    QTest::keyClicks(edit, "op:tanh");
    QTRY_COMPARE_WITH_TIMEOUT(rows().listedCount(), 3000, patience);
    QCOMPARE(stateOf(0), CellState::busy);
    window_->kernel()->interrupt();
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::failed, patience);
  }

  void rowsWhoseValuesAreLostSaySoBeforeAnybodyAsks() {
    openCells(
        {"import tapedeck as tf, numpy as np\nx = tf.constant(np.ones([10, 10], np.float32))\n"
         "for i in range(200): y = tf.square(tf.constant(np.full([50, 1000], i, np.float32)))\n"
         "z = tf.exp(x)"});
    runCell(0);
    QTRY_COMPARE_WITH_TIMEOUT(rows().listedCount(), 201, patience);
    const auto isMarked = [&](int row) {
      return cellText(row, RecordsModel::Shapes).endsWith("values lost");
    };
    QTableView* table = timeline(*window_)->table();
    table->setFocus();
    table->scrollToTop();
    QTRY_VERIFY_WITH_TIMEOUT(cellText(0, RecordsModel::Op).contains("square"), patience);
    QVERIFY(!isMarked(0));
    // 16 MB have no room for 200 batches of 200 kB.
    bool given = false;
    QTimer answers;
    connect(&answers, &QTimer::timeout, this, [&] {
      auto* dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      if (!dialog || given) return;
      given = true;
      dialog->setDoubleValue(16);
      QTest::keyClick(dialog, Qt::Key_Return);
    });
    answers.start(20);
    QTest::keyClick(window_.get(), Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(given);
    QTRY_VERIFY2_WITH_TIMEOUT(isMarked(0), qPrintable(cellText(0, RecordsModel::Shapes)), patience);
    QVERIFY(cell(0, 0).data(Qt::ToolTipRole).toString().contains("values lost: they can't be"));
    QTRY_VERIFY_WITH_TIMEOUT(!cellText(200, RecordsModel::Op).isEmpty() && !isMarked(200), patience);
    screenshot(window_.get(), "ops-values-lost");
    // A request that comes all the same gets the reason.
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(cell(0, 1)).center());
    QTRY_COMPARE(window_->session()->cursor(), 1u);
    QTRY_VERIFY2_WITH_TIMEOUT(
        tensor(*window_)->findChild<inspector::TensorCanvas*>()->sentence().contains("was dropped"),
        qPrintable(tensor(*window_)->findChild<inspector::TensorCanvas*>()->sentence()), patience);
  }

  void whatWasNotFetchedFromADeadSessionSaysSo() {
    openCells(
        {"import tapedeck as tf, os\nx = tf.constant([1., 2.])\nfor i in range(30000): x = "
         "tf.tanh(x)\nos.getpid()"});
    runCell(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTRY_COMPARE_WITH_TIMEOUT(window_->session()->recordCount(), 30000u, patience);
    QTRY_COMPARE_WITH_TIMEOUT(window_->session()->cursor(), window_->session()->recordCount(), patience);
    const auto count = window_->session()->recordCount();
    QTRY_VERIFY_WITH_TIMEOUT(window_->session()->cachedRecord(count), patience);
    // While the cell ran, the table may have fetched some of them.
    inspector::RecordNumber missing = 1000;
    while (missing < count && window_->session()->cachedRecord(missing)) ++missing;
    QVERIFY(missing < count);
    bool isPid = false;
    const int pid = outputText(*window_, 0).trimmed().toInt(&isPid);
    QVERIFY2(isPid, qPrintable(outputText(*window_, 0)));
    QCOMPARE(::kill(pid, SIGKILL), 0);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->live(), patience);
    // To a record in the middle, by the slider's keys, as far as they lead.
    window_->session()->setCursor(missing);
    QTRY_COMPARE_WITH_TIMEOUT(cellText(static_cast<int>(missing) - 1, RecordsModel::Op),
                              QString("not fetched"), patience);
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->findChild<inspector::TensorCanvas*>()->sentence().contains(
                                 "was not fetched before"),
                             patience);
    screenshot(window_.get(), "ops-of-a-dead-session");
  }
};

TAPEDECK_TEST(TestOpsPanel)
#include "tst_ops_panel.moc"
