// The sample that trains for long, in a real window with a real session process: what its text says is done
// with keys and mouse and is as it says, and then what a long training leaves is looked at. It trains once
// for all of them.
#include <QLineEdit>
#include <QTableView>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/runs/health_model.h"
#include "inspector/panels/health/health_view.h"
#include "tests/app/panels/tape_of_sample.h"
#include "tests/test_program.h"
#include "tests/views/tape_geometry.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestAutoencoder : public QObject, TapeOfSample {
  Q_OBJECT

  /// Its last record, with the panels; trains where no test has yet.
  void showTheEnd() {
    if (!window_) {
      open("lbfgs_autoencoder.ipynb");
      QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    }
    QTRY_VERIFY_WITH_TIMEOUT(allDone(), 10 * patience);
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
    showAllRecords();
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanupTestCase() { window_.reset(); }

  void whatItsTextSaysIsSo() {
    open("lbfgs_autoencoder.ipynb");
    // "Run all cells. While it trains the loss curve grows in the Plots panel; Pause stops it at the next
    // operation."
    press(Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    const int training = cellThatBegins("losses =");
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(training) == CellState::busy, patience);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->series()->names().isEmpty() &&
                                 window_->series()->series(window_->series()->names()[0])->size() > 2,
                             patience);
    press(Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    const auto* loss = window_->series()->series(window_->series()->names()[0]);
    const auto points = loss->size();
    QVERIFY(points < 50);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("debug"));
    screenshot(window_.get(), "sample-autoencoder-paused");
    // The line where it stopped is visible, although panels appeared.
    CodeEditor* stopped = nullptr;
    for (int i = 0; i < document().cellCount(); ++i)
      if (CodeEditor* editor = document().cell(i).type == CellType::code ? editorOf(i) : nullptr)
        if (editor->markedLine()) stopped = editor;
    QVERIFY(stopped);
    const QWidget* viewport = window_->notebook()->viewport();
    const QPoint line = stopped->mapTo(viewport, QPoint(8, stopped->yOfLine(stopped->markedLine()) + 4));
    QVERIFY2(viewport->rect().contains(line), qPrintable(QString::number(line.y())));
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(allDone(), 10 * patience);
    QTRY_VERIFY(loss->size() > points);
    QVERIFY(loss->values.back() < 0.5 * loss->values.front());
    // What it shows and draws is below the last cell.
    const auto& outputs = document().cell(cellThatBegins("show(images")).outputs;
    int pictures = 0;
    for (const auto& output : outputs)
      pictures += output.contains("data") && output["data"].contains("image/png");
    QCOMPARE(pictures, 2);
    // "Each new pair it tells to the panel Health (Alt+7)"
    press(Qt::Key_7, Qt::AltModifier);
    const auto* health = window_->findChild<inspector::HealthView*>();
    QVERIFY(health);
    QTRY_VERIFY_WITH_TIMEOUT(health->isVisible() && health->model()->published().size() == 1, patience);
    QTRY_VERIFY_WITH_TIMEOUT(health->isAncestorOf(QApplication::focusWidget()), patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_B);
    QTRY_VERIFY_WITH_TIMEOUT(health->pairs()->isVisible(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(health->pairs()->model()->rowCount() > 40, patience);
    QTRY_COMPARE_WITH_TIMEOUT(health->pairs()->model()->columnCount(), 4, patience);  // curve by curve
  }

  // Values near the end depend on everything before them, and are not held: they come all the same, by what
  // is kept on the way.
  void steppingBackNearItsEndShowsValues() {
    showTheEnd();
    QTRY_VERIFY_WITH_TIMEOUT(session().recordCount() > 5000 && session().cursor() == session().recordCount(),
                             patience);
    const auto* model = tensor(*window_)->model();
    for (int step = 0; step < 20; ++step) {
      const auto before = session().cursor();
      QTest::keyClick(window_.get(), Qt::Key_F10, Qt::ShiftModifier);
      QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), before - 1, patience);
      QTRY_VERIFY_WITH_TIMEOUT(session().cachedRecord(before - 1) && !model->loading(), patience);
      QTRY_VERIFY2_WITH_TIMEOUT(!model->tensor() || model->tile(), qPrintable(model->problem()), patience);
    }
    QVERIFY2(session().status().held_bytes <= session().status().budget_bytes,
             qPrintable(QString::number(session().status().held_bytes)));
    screenshot(window_.get(), "ops-back-near-the-end");
  }

  void itsHintAboutTheTapeIsTrue() {
    showTheEnd();
    const quint64 end = session().recordCount();
    QVERIFY(shows(end));
    // "To look at the weights themselves, click `W` in the Tape panel …"
    canvas().setFocus();
    QTest::keyClick(&canvas(), Qt::Key_F);
    const int weights = nodeNamed("W:0");
    QVERIFY(weights >= 0);
    const std::size_t nodes = graph().nodes.size();
    QVERIFY(QRectF(canvas().rect()).contains(canvas().nodeRect(weights)));
    screenshot(window_.get(), "tape-autoencoder-end");
    const auto& layout = canvas().laidOut()->layout;
    QCOMPARE(test::misread(graph(), layout), QString());
    QCOMPARE(test::unpaired(graph(), layout), QString());
    QTest::mouseClick(&canvas(), Qt::LeftButton, {}, canvas().nodeRect(weights).center().toPoint());
    auto* model = tensor(*window_)->model();
    QTRY_VERIFY(model->tensor() && model->tensor()->name == "W:0");
    // "… and type `28x28` into the reshape box of the Tensor panel"
    auto* reshape = tensor(*window_)->findChild<QLineEdit*>();
    QVERIFY(reshape);
    QTest::mouseClick(reshape, Qt::LeftButton);
    QTest::keyClicks(reshape, "28x28");
    QVERIFY2(model->reshapeError().isEmpty(), qPrintable(model->reshapeError()));
    QTRY_VERIFY_WITH_TIMEOUT(model->imageTile() && !model->imageTile()->values.empty(), patience);
    // "every column of W is a little picture"
    QCOMPARE(model->imageTile()->grid.count, 196);
    QCOMPARE(session().cursor(), end);
    QCOMPARE(graph().nodes.size(), nodes);
    screenshot(window_.get(), "tape-autoencoder-weights");
  }
};

TAPEDECK_TEST(TestAutoencoder)
#include "tst_autoencoder.moc"
