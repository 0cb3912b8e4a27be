// Search the past, where several cells draw a curve of one name, or a cell draws it anew.
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "app/shell/window/past_dialog.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

// Both draw "loss": 1, 1/2, 1/3, … 1/5, and 10, 5, … 2; one op a step.
const QStringList two_cells = {
    "import tapedeck as tf\nw = tf.Variable(1.)\n"
    "for step in range(5):\n"
    "    w.assign_add(1.)\n"
    "    tf.summary.scalar('loss', 1 / (step + 1), step=step)",
    "for step in range(5):\n"
    "    w.assign_add(1.)\n"
    "    tf.summary.scalar('loss', 10 / (step + 1), step=step)"};

}  // namespace

class TestPastCurves : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void run(int cell) {
    window_->notebook()->setCurrentCell(cell, false);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(cellStateOf(*window_, cell) == CellState::done && isReady(*window_), patience);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY_WITH_TIMEOUT(window_->series()->position() == window_->session()->status().series_points &&
                                 !window_->series()->loading(),
                             patience);
  }
  PastDialog* dialog() { return window_->findChild<PastDialog*>(); }
  QString answer() { return dialog()->findChild<QLabel*>("pastAnswer")->text(); }
  void ask(const QString& question) {
    if (!dialog() || !dialog()->isVisible())
      QTest::keyClick(window_.get(), Qt::Key_F3, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(dialog() && dialog()->isVisible(), patience);
    auto* field = dialog()->findChild<QLineEdit*>("pastQuestion");
    field->setFocus();
    field->selectAll();
    QTest::keyClicks(field, question);
    QTest::keyClick(field, Qt::Key_Return);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void allCurvesOfTheNameAreSearchedAndTheAnswerNamesItsOwn() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "curves.ipynb", two_cells));
    QTRY_COMPARE(window_->document()->cellCount(), 2);
    run(0);
    run(1);
    ask("loss < 4");
    QTRY_VERIFY2_WITH_TIMEOUT(answer().startsWith("loss, cell [2] was 2 at step 4, after op "),
                              qPrintable(answer()), patience);
    QVERIFY2(answer().contains(" Searched: 2 curves (loss, cell [1]; loss, cell [2])."),
             qPrintable(answer()));
    screenshot(dialog(), "search-the-past-curves");
    auto* further = dialog()->findChild<QPushButton*>("pastFurther");
    for (const char* expected : {"loss, cell [2] was 2.5 at step 3", "loss, cell [2] was 3.33333 at step 2",
                                 "loss, cell [1] was 0.2 at step 4"}) {
      QTest::mouseClick(further, Qt::LeftButton);
      QTRY_VERIFY2(answer().startsWith(expected), qPrintable(answer()));
    }
    const quint64 newest = window_->session()->recordCount();
    QTest::mouseClick(dialog()->findChild<QPushButton*>("pastGo"), Qt::LeftButton);
    QTRY_VERIFY(window_->session()->cursor() <= newest - 5);  // none of the second cell
    // The first time, across both.
    auto* which = dialog()->findChild<QComboBox*>("pastWhen");
    which->setFocus();
    QTest::keyClick(which, Qt::Key_Down);
    ask("loss > 0.9");
    QTRY_VERIFY2(answer().startsWith("loss, cell [1] was 1 at step 0"), qPrintable(answer()));
    QTest::mouseClick(further, Qt::LeftButton);
    QTRY_VERIFY2(answer().startsWith("loss, cell [2] was 10 at step 0"), qPrintable(answer()));
    ask("loss > 11");
    QTRY_VERIFY2(answer().startsWith(
                     "None of the 10 points of 2 curves (loss, cell [1]; loss, cell [2]) satisfies it."),
                 qPrintable(answer()));
    // One of them by the name that the window gives it.
    ask("\"loss, cell [1]\" > 11");
    QTRY_VERIFY2(answer().startsWith("None of the 5 points of loss, cell [1] satisfies it."),
                 qPrintable(answer()));
  }

  void whatARerunReplacedIsSaidToBeNotLookedAt() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "again.ipynb", two_cells));
    QTRY_COMPARE(window_->document()->cellCount(), 2);
    run(0);
    ask("loss < 4");
    QTRY_VERIFY2_WITH_TIMEOUT(answer().startsWith("loss was 0.2 at step 4, after op "), qPrintable(answer()),
                              patience);
    QVERIFY2(!answer().contains("not looked at") && !answer().contains("Searched"), qPrintable(answer()));
    run(0);
    // The points of that search are gone.
    QTest::mouseClick(dialog()->findChild<QPushButton*>("pastFurther"), Qt::LeftButton);
    QTRY_COMPARE(answer(), QString("The cell ran again since, and drew other points: Enter searches anew."));
    ask("loss < 4");
    QTRY_VERIFY2(answer().startsWith("loss was 0.2 at step 4, after op "), qPrintable(answer()));
    QVERIFY2(answer().contains("in cell [2]."), qPrintable(answer()));
    QVERIFY2(answer().contains(
                 " 5 points of earlier runs of loss were not looked at: the cell ran again and drew them "
                 "anew."),
             qPrintable(answer()));
  }
};

TAPEDECK_TEST(TestPastCurves)
#include "tst_past_curves.moc"
