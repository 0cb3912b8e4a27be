// The samples that are puzzles: each is opened from the start page, run, and solved with the tools that its
// text names, by keys and mouse; the answer is the one that the text gives.
#include <QLabel>
#include <QMenuBar>
#include <QTabBar>
#include <QTableView>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/model/what_if/why.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::RecordKind;

class TestPuzzles : public QObject, SampleWindow {
  Q_OBJECT

  inspector::WhyView* why() const { return window_->findChild<inspector::WhyView*>(); }
  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  QString sentence() const { return why()->sentence()->text(); }
  /// What a row of the answer says, its tooltip included.
  QString reason(int row) const {
    const QTreeWidgetItem* item = why()->reasons()->topLevelItem(row);
    QString text;
    for (int column = 0; column < why()->reasons()->columnCount(); ++column)
      text += item->text(column) + " | ";
    return text + item->toolTip(0);
  }
  QString reasons() const {
    QStringList rows;
    for (int row = 0; row < why()->reasons()->topLevelItemCount(); ++row) rows << reason(row);
    return rows.join("\n");
  }

  void runCells(const QStringList& begins) {
    for (const QString& code : begins) {
      const int cell = cellThatBegins(code);
      click(cell);
      runByKey(cell);
    }
    showAllRecords();
  }

  /// A click on the newest row of *Ops* that is so.
  template <class Wanted>
  void clickRow(const Wanted& wanted) {
    auto* table = timeline(*window_)->table();
    const auto* rows = timeline(*window_)->model();
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY_WITH_TIMEOUT(
        rows->rowCount() > 0 && rows->recordAt(rows->rowCount() - 1) == session().recordCount(), patience);
    for (int row = rows->rowCount() - 1; row >= 0; --row) {
      const quint64 number = rows->recordAt(row);
      if (number == 0) continue;  // a heading
      if (!waitFor([&] { return session().record(number) != nullptr; }, patience)) break;
      if (!wanted(*session().record(number))) continue;
      const int now = rows->rowOf(number);  // a heading that came meanwhile moved it
      table->scrollTo(rows->index(now, 0));
      QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                        table->visualRect(rows->index(now, 1)).center());
      QTRY_COMPARE(session().cursor(), number);
      return;
    }
    QFAIL("no such row");
  }

  /// As the notebooks say where nothing is to be chosen.
  bool newestIsSelected() const {
    return window_->findChild<inspector::WhyModel*>()->subject().record == session().recordCount();
  }
  /// The key of a question, and its answer.
  void ask(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    const QAction* question = nullptr;
    for (const QAction* action : window_->findChildren<QAction*>())
      if (action->objectName().startsWith("why.") && action->shortcut() == QKeySequence(modifiers | key))
        question = action;
    QVERIFY(question);
    QTRY_VERIFY2_WITH_TIMEOUT(question->isEnabled(), qPrintable(question->toolTip()), patience);
    press(key, modifiers);
    QTRY_VERIFY_WITH_TIMEOUT(why()->isVisible() && why()->reasons()->topLevelItemCount() > 0, patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void theLossIsNaN() {
    open("softmax_nan.ipynb");
    runCells({"import numpy", "for step"});
    QTRY_VERIFY_WITH_TIMEOUT(newestIsSelected(), patience);
    ask(Qt::Key_F7);
    // What the notebook says that the answer is.
    QVERIFY2(sentence().contains("was born in divide") && sentence().contains("-0.0 / 0.0") &&
                 sentence().contains("forward op is log") && sentence().contains("x[7, 0] = 0.0"),
             qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-softmax");
    // "A click on it goes there."
    auto* tree = why()->reasons();
    QTest::mouseClick(tree->viewport(), Qt::LeftButton, {},
                      tree->visualItemRect(tree->topLevelItem(0)).center());
    QTRY_VERIFY(session().cursor() < session().recordCount());
    const int mended = cellThatBegins("def cross_entropy(z):\n    z = z -");
    click(mended);
    runByKey(mended);
    QVERIFY2(!outputText(*window_, mended).contains("nan"), qPrintable(outputText(*window_, mended)));
  }

  void theSessionStopsWhereTheNaNIsBorn() {
    open("softmax_nan.ipynb");
    press(Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);  // Stop at NaN or infinity
    const int setup = cellThatBegins("import numpy");
    click(setup);
    runByKey(setup);
    const int train = cellThatBegins("for step");
    click(train);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QTRY_VERIFY2(state().contains("paused after log"), qPrintable(state()));
    // "*out* has −inf in row 7, and *in* two zeros there."
    const auto* model = tensor(*window_)->model();
    const auto rowSeven = [&](double value) {
      const protocol::Tile* tile = model->tile();
      if (!tile || tile->columns != 3 || tile->row != 0 || tile->rows < 8) return std::ptrdiff_t{-1};
      return std::count(tile->values.begin() + 21, tile->values.begin() + 24, value);
    };
    QTRY_COMPARE_WITH_TIMEOUT(rowSeven(-std::numeric_limits<double>::infinity()), 2, patience);
    auto* chips = tensor(*window_)->chips();
    for (int i = 0; i < chips->count(); ++i)
      if (chips->tabText(i) == "in") QTest::mouseClick(chips, Qt::LeftButton, {}, chips->tabRect(i).center());
    QTRY_COMPARE_WITH_TIMEOUT(rowSeven(0), 2, patience);
    screenshot(window_.get(), "puzzle-softmax-stop");
    press(Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(train), CellState::done, patience);
  }

  void aDeadNetwork() {
    open("dead_relu.ipynb");
    runCells({"import numpy", "for step"});
    clickRow([](const protocol::Record& record) {
      return record.kind == RecordKind::vjp && record.op == "matmul";
    });
    ask(Qt::Key_F7, Qt::ShiftModifier);
    QVERIFY2(reasons().contains("relu"), qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-relu");
    const int mended = cellThatBegins("rng = np.random.RandomState(2)\nW1.assign");
    click(mended);
    runByKey(mended);
    QVERIFY(outputText(*window_, mended).trimmed().toDouble() < 0.05);
  }

  void aGradientThatIsNone() {
    open("gradient_none.ipynb");
    runCells({"import numpy"});
    clickRow([](const protocol::Record& record) { return record.kind == RecordKind::playback; });
    ask(Qt::Key_F7, Qt::ShiftModifier);
    QVERIFY2((sentence() + reasons()).contains("Python") || (sentence() + reasons()).contains("NumPy"),
             qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-none");
    const int mended = cellThatBegins("def standardize(x):\n    mean");
    click(mended);
    runByKey(mended);
    QVERIFY(outputText(*window_, mended).contains("shape=(2, 2)"));
  }

  void anExplodingNetwork() {
    open("exploding_rnn.ipynb");
    runCells({"import numpy"});
    QTRY_VERIFY_WITH_TIMEOUT(newestIsSelected(), patience);
    ask(Qt::Key_F7, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY2(sentence().contains("oop made most of it: ") || sentence().contains("oops made most of it: "),
             qPrintable(sentence()));
    QVERIFY2(reasons().count("matmul") > 3, qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-rnn");
    const int mended = cellThatBegins("q, r");
    click(mended);
    runByKey(mended);
    QVERIFY(outputText(*window_, mended).trimmed().toDouble() < 10);
  }

  void aWrongGradient() {
    open("wrong_gradient.ipynb");
    runCells({"import tapedeck"});
    const auto vjp = [](const protocol::Record& record) {
      return record.kind == RecordKind::vjp && record.custom_gradient;
    };
    clickRow(vjp);
    ask(Qt::Key_F8, Qt::ShiftModifier);
    QVERIFY2((sentence() + reasons()).contains("1.74"), qPrintable(sentence() + "\n" + reasons()));
    QVERIFY2((sentence() + reasons()).contains("0.24"), qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-gradient");
    const QString wrong = sentence();
    const int mended = cellThatBegins("@tfe.custom_gradient");
    click(mended);
    runByKey(mended);
    clickRow(vjp);
    press(Qt::Key_F8, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(why()->sentence()->text() != wrong && !sentence().startsWith("Working"),
                             patience);
    QVERIFY2(!sentence().contains("wrong"), qPrintable(sentence()));
  }

  void lostDigits() {
    open("lost_digits.ipynb");
    runCells({"import numpy"});
    QTRY_VERIFY_WITH_TIMEOUT(newestIsSelected(), patience);
    ask(Qt::Key_F8, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY2((sentence() + reasons()).contains("subtract"), qPrintable(sentence() + "\n" + reasons()));
    screenshot(window_.get(), "puzzle-digits");
    const int mended = cellThatBegins("def variance(x):\n    return tf.reduce_mean(tf.square");
    click(mended);
    runByKey(mended);
    QVERIFY(std::abs(outputText(*window_, mended).trimmed().toDouble() - 9.7526e-5) < 1e-8);
  }
};

TAPEDECK_TEST(TestPuzzles)
#include "tst_puzzles.moc"
