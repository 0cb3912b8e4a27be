// Compare, in a real window with a real session process: a cell trains twice with one difference, and keys
// find where it began.
#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QScrollBar>
#include <QSplitter>
#include <QTabBar>
#include <QTimer>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_strip.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/compare/curves_view.h"
#include "inspector/panels/compare/layers_view.h"
#include "inspector/panels/compare/operands_view.h"
#include "inspector/ui/row_table.h"
#include "tests/app/sample_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::CompareRows;

namespace {

const char* const setup =
    "import tapedeck as tf\n"
    "runs = 0\n"
    "x = tf.constant([[0.5, 1.0], [1.5, -1.0], [2.5, 0.25]])\n"
    "noise = tf.reshape(tf.range(4096, dtype=tf.float32), [64, 64])";

// The second run takes another rate from its sixth step on.
const char* const training =
    "runs += 1\n"
    "w = tf.Variable([[1.0], [2.0]], name='w')\n"
    "losses = []\n"
    "for step in range(12):\n"
    "    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))\n"
    "    rate = 0.1 if runs == 1 or step < 5 else 0.2\n"
    "    w.assign_sub(rate * tape.gradient(loss, w))\n"
    "    losses.append(float(loss))\n"
    "losses";

}  // namespace

class TestComparePanel : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  inspector::CompareView* compare() const { return window_->findChild<inspector::CompareView*>(); }
  inspector::CompareModel* model() const { return compare()->model(); }
  QString sentence() const { return compare()->sentence()->text(); }
  bool told(const QString& part) const {
    return waitFor([&] { return sentence().contains(part); }, patience);
  }
  QString cellText(int row, int column) const {
    const auto text = [&] { return compare()->table()->model()->index(row, column).data().toString(); };
    if (!waitFor([&] { return !text().isEmpty() && !text().startsWith(QChar(0x2026)); }, patience))
      return "nothing is shown";
    return text();
  }
  /// To whatever has the focus in the panel.
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTRY_VERIFY(compare()->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  /// Opens a file with these cells and runs each of `order` by key.
  void run(const QStringList& cells, const QList<int>& order) {
    openCells(folder_, cells);
    for (const int cell : order) {
      click(cell);
      runByKey(cell);
    }
  }
  bool inSight() const {
    return compare() && compare()->isVisible() && !compare()->visibleRegion().isEmpty();
  }
  /// In the workspace Analyze, with the keyboard in it.
  void openPanel() {
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("analyze"));
    QTest::keyClick(window_.get(), Qt::Key_8, Qt::AltModifier);
    QTRY_VERIFY(inSight());
    QTRY_VERIFY(compare()->isAncestorOf(QApplication::focusWidget()));
  }
  QTreeWidgetItem* operand(const QString& name) const {
    QTreeWidget* list = compare()->operands()->table();
    const auto find = [&]() -> QTreeWidgetItem* {
      for (int i = 0; i < list->topLevelItemCount(); ++i)
        if (list->topLevelItem(i)->text(0) == name) return list->topLevelItem(i);
      return nullptr;
    };
    return waitFor([&] { return find() != nullptr; }, patience) ? find() : nullptr;
  }
  void clickOperand(const QString& name, int column) {
    QTreeWidgetItem* item = operand(name);
    QVERIFY2(item, qPrintable(name));
    QTreeWidget* list = item->treeWidget();
    const QRect row = list->visualItemRect(item);
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      {list->columnViewportPosition(column) + 8, row.center().y()});
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    inspector::applyAppearance(inspector::Appearance::light);
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  /// At 1280 pixels, with a row's operands below: enough rows to see what is around it, and nothing of what
  /// says whether they differ is cut.
  void rowsAndOperandsHaveRoomAt1280() {
    run({setup, training}, {0, 1, 1});
    openPanel();
    QTRY_VERIFY_WITH_TIMEOUT(model()->compared() && model()->rowCount() > 20, patience);
    const auto* table = compare()->table();
    const auto seen = [&] {
      return table->viewport()->height() / table->verticalHeader()->defaultSectionSize();
    };
    QVERIFY(!compare()->operands()->isVisible());  // no row is chosen
    QVERIFY2(seen() >= 8, qPrintable(QString::number(seen())));
    key(Qt::Key_F);
    QVERIFY(told("differ"));
    QTRY_VERIFY(compare()->operands()->isVisible());
    QTRY_VERIFY2(seen() >= 5, qPrintable(QString::number(seen())));
    QTRY_VERIFY(table->viewport()->rect().contains(table->visualRect(table->currentIndex())));
    const QTreeWidget* operands = compare()->operands()->table();
    QTRY_VERIFY(operands->topLevelItemCount() > 0);
    QVERIFY(operands->viewport()->height() >=
            2 * operands->visualItemRect(operands->topLevelItem(0)).height());
    QCOMPARE(table->horizontalScrollBar()->maximum(), 0);
    for (const int column : {CompareRows::Sign, CompareRows::LeftOp, CompareRows::RightOp})
      for (int row = table->rowAt(0); row <= table->currentIndex().row(); ++row) {
        QFont font = table->font();
        const QString text = cellText(row, column);
        font.setBold(text.startsWith(QStringLiteral("≠")));
        QVERIFY2(QFontMetrics(font).horizontalAdvance(text) <= table->columnWidth(column), qPrintable(text));
      }
    shots(window_.get(), "compare-room");
  }

  /// One run overflows, as an RNN does: each number beside curves and pictures is the side's own, and whole.
  void ofARunThatOverflowsTheNumbersAreItsOwn() {
    run({"import tapedeck as tf\nruns = 0",
         "runs += 1\n"
         "size = 1e22 if runs == 1 else 2.0\n"
         "w = tf.Variable(tf.fill([16, 16], size), name='w')\n"
         "losses = []\n"
         "h = tf.ones([1, 16])\n"
         "for step in range(4):\n"
         "    losses.append(float(h[0, 0]))\n"
         "    h = tf.matmul(h, w)\n"
         "losses"},
        {0, 1, 1});
    openPanel();
    QVERIFY2(told("All 10 ops are the same on both sides"), qPrintable(sentence()));
    key(Qt::Key_F);
    QVERIFY2(told("The first difference is"), qPrintable(sentence()));
    QTRY_VERIFY(operand(QString::fromUtf8("→ result")));
    clickOperand(QString::fromUtf8("→ result"), 0);
    auto* pictures = compare()->operands()->pictures();
    QTRY_VERIFY2_WITH_TIMEOUT(pictures->accessibleName().contains(": 1e+22 … 1e+22; 2 … 2;"),
                              qPrintable(pictures->accessibleName()), patience);
    compare()->table()->setFocus();
    key(Qt::Key_C);
    QTRY_VERIFY(compare()->curves()->isVisible());
    auto* chart = compare()->findChild<QWidget*>("compareChart");
    QTRY_VERIFY2(chart->accessibleName().contains("left 4 points, the last inf (2 NaN or infinite); "),
                 qPrintable(chart->accessibleName()));
    QVERIFY2(!chart->accessibleName().section("right", 1).contains("NaN"),
             qPrintable(chart->accessibleName()));
    shots(window_.get(), "compare-overflow");
  }

  void twoRunsOfACellAreComparedAndTheirFirstDifferenceIsFoundByKey() {
    run({setup, training}, {0, 1, 1});
    openPanel();
    // The last two runs of the cell stand there by themselves.
    QVERIFY2(told("are the same on both sides"), qPrintable(sentence()));
    const auto rows = static_cast<int>(model()->compared()->rows);
    QVERIFY(rows > 12 * 8);
    QCOMPARE(compare()->table()->model()->rowCount(), rows);
    QVERIFY(compare()->bar()->left()->currentText().startsWith("cell [2], run 1 of 2"));
    QVERIFY(compare()->bar()->right()->currentText().startsWith("cell [3], run 2 of 2"));
    QVERIFY2(cellText(0, CompareRows::LeftPlace).startsWith("cell [2] line"),
             qPrintable(cellText(0, CompareRows::LeftPlace)));
    QVERIFY(cellText(0, CompareRows::Sign).endsWith("values not compared"));
    key(Qt::Key_F);
    QVERIFY2(told("The first difference is a value from Python: it is 0.1 on the left and 0.2 on the right."),
             qPrintable(sentence()));
    QVERIFY2(sentence().contains("cell [2] line 8"), qPrintable(sentence()));
    QVERIFY2(sentence().contains("looked at"), qPrintable(sentence()));
    // Its row, and the cursor at its op.
    const int found = model()->currentRow();
    QVERIFY(found > rows / 3 && found < rows / 2);
    QCOMPARE(compare()->table()->currentIndex().row(), found);
    QTRY_VERIFY(cellText(found, CompareRows::Sign).contains("values differ"));
    QVERIFY(cellText(found, CompareRows::LeftOp).contains("multiply"));
    QTRY_COMPARE(session().cursor(), model()->cachedRow(found)->left.value().number);
    // Its operands side by side.
    QTreeWidgetItem* rate = operand("x");
    QVERIFY(rate);
    QCOMPARE(rate->text(1), QString("0.1"));
    QCOMPARE(rate->text(2), QString("0.2"));
    QVERIFY(rate->text(3).contains("differs"));
    const auto verdict = [&](const QString& name) {
      const QTreeWidgetItem* item = operand(name);
      return item ? item->text(3) : "no operand " + name;
    };
    QVERIFY2(verdict("y").contains("agrees"), qPrintable(verdict("y")));
    const QString result = verdict(QString::fromUtf8("→ result"));
    QVERIFY2(result.contains("2 of 2"), qPrintable(result));
    shots(window_.get(), "compare-first-difference");
    // A click on the right value shows the right side's tensor.
    QVERIFY2(session().live() && model()->cachedRow(found), qPrintable("no longer compared: " + sentence()));
    clickOperand(QString::fromUtf8("→ result"), 2);
    const auto right = model()->cachedRow(found)->right.value();
    QTRY_COMPARE(session().cursor(), right.number);
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->model()->chip() &&
                                 tensor(*window_)->model()->chip()->info.id == right.outputs[0].id,
                             patience);
    // Enter goes to the op on the left, with Alt to the one on the right.
    compare()->table()->setFocus();
    QTest::keyClick(compare()->table(), Qt::Key_Return);
    QTRY_COMPARE(session().cursor(), model()->cachedRow(found)->left.value().number);
    QTest::keyClick(compare()->table(), Qt::Key_Return, Qt::AltModifier);
    QTRY_COMPARE(session().cursor(), right.number);
    // The curves of both: the first run's, too, though the second drew anew.
    key(Qt::Key_C);
    QTRY_VERIFY(compare()->curves()->isVisible());
    QCOMPARE(model()->curves().size(), std::size_t{1});
    QCOMPARE(model()->curves()[0].name, std::string("losses"));
    QCOMPARE(model()->curves()[0].left.values.size(), std::size_t{12});
    QCOMPARE(model()->curves()[0].right.values.size(), std::size_t{12});
    QCOMPARE(model()->curves()[0].left.values[5], model()->curves()[0].right.values[5]);
    QVERIFY(model()->curves()[0].left.values[6] != model()->curves()[0].right.values[6]);
    // The steps are walked over by key, told in numbers, and Enter goes to a side's op.
    auto* chart = compare()->findChild<QWidget*>("compareChart");
    QTRY_COMPARE(QApplication::focusWidget(), chart);
    const protocol::ComparedCurve& curve = model()->curves()[0];
    QVERIFY(curve.left.records[6] != 0 && curve.left.records[6] != curve.right.records[6]);
    for (int i = 0; i < 7; ++i) key(Qt::Key_Right);
    QVERIFY2(chart->accessibleDescription().startsWith("index 6: left ") &&
                 chart->accessibleDescription().contains(", right − left "),
             qPrintable(chart->accessibleDescription()));
    key(Qt::Key_Return);
    QTRY_COMPARE(static_cast<double>(session().cursor()), curve.left.records[6]);
    key(Qt::Key_Return, Qt::AltModifier);
    QTRY_COMPARE(static_cast<double>(session().cursor()), curve.right.records[6]);
    key(Qt::Key_End);
    QVERIFY(chart->accessibleDescription().startsWith("index 11: "));
    shots(window_.get(), "compare-curves");
    key(Qt::Key_O);
    QTRY_VERIFY(compare()->operands()->isVisible());
    QVERIFY(compare()->isAncestorOf(QApplication::focusWidget()));
    // Low, below the panels of Debug: the curves take the rows' place, and can be seen.
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(!compare()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_8, Qt::AltModifier);
    QTRY_VERIFY(inSight());
    QTRY_VERIFY(compare()->isAncestorOf(QApplication::focusWidget()));
    key(Qt::Key_C);
    QTRY_VERIFY(chart->isVisible() && !compare()->table()->isVisible());
    QTRY_VERIFY(compare()->rect().contains(QRect(chart->mapTo(compare(), QPoint()), chart->size())));
    screenshot(window_.get(), "compare-curves-low");
    // Ops has become low, too: its row is still visible.
    QTableView* ops = timeline(*window_)->table();
    QTRY_VERIFY(ops->viewport()->rect().contains(ops->visualRect(ops->currentIndex()).center()));
    key(Qt::Key_O);
    QTRY_VERIFY(compare()->table()->isVisible());
  }

  void withinATypedToleranceNothingDiffers() {
    run({setup,
         "runs += 1\n"
         "v = tf.tanh(x + (0.5 if runs == 1 else 0.500001))\n"
         "v = tf.tanh(v)"},
        {0, 1, 1});
    openPanel();
    QVERIFY2(told("All 3 ops are the same"), qPrintable(sentence()));
    QLineEdit* relative = compare()->bar()->relative();
    QTest::mouseClick(relative, Qt::LeftButton);
    relative->selectAll();
    for (const char letter : std::string("1e-3")) QTest::keyClick(relative, letter);
    QTest::keyClick(relative, Qt::Key_Return);
    QTest::mouseClick(compare()->findChild<QToolButton*>("compareFirst"), Qt::LeftButton);
    QVERIFY2(told("No compared value differs by more than the tolerance (relative 0.001"),
             qPrintable(sentence()));
    relative->setFocus();
    relative->selectAll();
    for (const char letter : std::string("0")) QTest::keyClick(relative, letter);
    QTest::keyClick(relative, Qt::Key_Return);
    compare()->table()->setFocus();
    key(Qt::Key_F);
    QVERIFY2(told("it is 0.5 on the left and 0.500001 on the right"), qPrintable(sentence()));
  }

  void rowsThatAreNotTheSameAreGoneToByKeyAndClick() {
    run({setup,
         "runs += 1\n"
         "y = tf.negative(noise)\n"
         "if runs == 2: y = tf.square(y)\n"
         "for i in range(6): y = tf.abs(y)\n"
         "z = tf.cumsum(y, axis=runs - 1)\n"
         "if runs == 1: z = tf.exp(-z)"},
        {0, 1, 1});
    openPanel();
    QVERIFY2(told("7 ops alike, 1 op with other attributes, 2 ops on the left only, 1 op on the right only"),
             qPrintable(sentence()));
    key(Qt::Key_N);
    QTRY_COMPARE(model()->currentRow(), 1);
    QVERIFY(cellText(1, CompareRows::Sign).contains("right only"));
    QVERIFY(cellText(1, CompareRows::RightOp).contains("square"));
    QCOMPARE(compare()->table()->model()->index(1, CompareRows::LeftOp).data().toString(), QString());
    QTRY_COMPARE(session().cursor(), model()->cachedRow(1)->right.value().number);
    key(Qt::Key_N);
    QTRY_COMPARE(model()->currentRow(), 8);
    QVERIFY(cellText(8, CompareRows::Sign).contains("other attributes"));
    auto* attributes = compare()->findChild<QLabel*>("compareAttributes");
    QTRY_VERIFY_WITH_TIMEOUT(attributes->isVisible() && attributes->text().contains("axis: 0 | 1"), patience);
    key(Qt::Key_P);
    QTRY_COMPARE(model()->currentRow(), 1);
    // A large operand is drawn: three pictures. A click on the right one shows it in Tensor.
    QTest::mouseClick(compare()->table()->viewport(), Qt::LeftButton, {},
                      compare()->table()->visualRect(compare()->table()->model()->index(8, 1)).center());
    QTRY_COMPARE(model()->currentRow(), 8);
    clickOperand(QString::fromUtf8("→ result"), 0);
    auto* pictures = compare()->operands()->pictures();
    QTRY_VERIFY_WITH_TIMEOUT(pictures->isVisible() && model()->pictures().left && model()->pictures().right &&
                                 model()->pictures().difference,
                             patience);
    QCOMPARE(model()->pictures().left->rows, std::int64_t{64});
    shots(window_.get(), "compare-pictures");
    QTest::mouseClick(pictures, Qt::LeftButton, {}, {pictures->width() / 2, pictures->height() / 2});
    QTRY_COMPARE(session().cursor(), model()->cachedRow(8)->right.value().number);
    // The overview: a click at its end goes to the last row.
    auto* strip = compare()->strip();
    QVERIFY(strip->isVisible());
    QTest::mouseClick(strip, Qt::LeftButton, {}, {strip->width() - 8, strip->height() / 2});
    QTRY_COMPARE(model()->currentRow(), 10);
    // Swapped, what was on the left alone is on the right.
    compare()->table()->setFocus();
    key(Qt::Key_S);
    QVERIFY2(told("1 op on the left only, 2 ops on the right only"), qPrintable(sentence()));
    // Another run is chosen by key: the same run on both sides.
    auto* left = compare()->bar()->left();
    left->setFocus();
    QTest::keyClick(left, Qt::Key_Down);
    QVERIFY2(told("are the same on both sides"), qPrintable(sentence()));
    compare()->table()->setFocus();
    key(Qt::Key_L);
    QVERIFY2(told("7 ops alike"), qPrintable(sentence()));
  }

  void aMomentAndABranchStandBesideEachOther() {
    run({setup + QString("\ny = tf.tanh(x)\nz = tf.square(y)\ny = tf.tanh(x + 1.0)\nz = tf.square(y)")}, {0});
    openPanel();
    QVERIFY2(told("Run a cell twice"), qPrintable(sentence()));
    QTRY_COMPARE(session().recordCount(), inspector::RecordNumber{7});
    QTest::keyClick(window_.get(), Qt::Key_Home, Qt::AltModifier);
    QTRY_COMPARE(session().cursor(), inspector::RecordNumber{1});
    key(Qt::Key_A);
    QTRY_VERIFY(model()->left());
    QVERIFY(compare()->bar()->left()->currentText().startsWith("From op 1 to op "));
    const auto last = session().recordCount();
    session().setCursor(last - 1);
    key(Qt::Key_B);
    QVERIFY2(told("on the left only"), qPrintable(sentence()));
    QCOMPARE(model()->compared()->right.first, last - 1);
    // A branch: the first tanh is scaled.
    protocol::MakeBranch make;
    make.changes.emplace_back();
    make.changes[0].kind = protocol::ChangeKind::scale;
    make.changes[0].record = last - 4;
    make.changes[0].numbers = {2};
    quint64 branch = 0;
    session().request<protocol::Branched>(
        make, window_.get(), [&](const protocol::Branched& made) { branch = made.branch; },
        [](const protocol::Failure& failure) { qWarning("%s", failure.reason.c_str()); });
    QTRY_VERIFY_WITH_TIMEOUT(branch != 0, patience);
    session().setLook({branch, inspector::Beside::original, "tanh × 2"});
    compare()->table()->setFocus();
    key(Qt::Key_W);
    QVERIFY2(told("are the same on both sides"), qPrintable(sentence()));
    key(Qt::Key_F);
    QVERIFY2(told(QString("The first difference is op %1, tanh").arg(last - 4)), qPrintable(sentence()));
  }

  /// Chosen as a user does: by key, in the file dialog.
  void chooseFile(const QString& path) {
    QTimer answers;
    connect(&answers, &QTimer::timeout, this, [&] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      answers.stop();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTimer::singleShot(0, name, [name] { QTest::keyClick(name, Qt::Key_Return); });
    });
    answers.start(50);
    compare()->table()->setFocus();
    key(Qt::Key_T);
  }

  // Weights and results of another framework, in a file of tensors, beside the layers of this run.
  void aFileOfTensorsIsComparedLayerByLayer() {
    const QString path = folder_.filePath("port.npz");
    run({QString("import numpy as np\nimport tapedeck as tf\n"
                 "x = tf.reshape(tf.range(12, dtype=tf.float32), [3, 4]) / 10\n"
                 "first = tf.Variable(tf.reshape(tf.range(20, dtype=tf.float32), [4, 5]) / 20, "
                 "name='encoder/kernel')\n"
                 "second = tf.Variable(tf.reshape(tf.range(10, dtype=tf.float32), [5, 2]) / 10, "
                 "name='decoder/kernel')\n"
                 "with tf.name_scope('encoder'):\n"
                 "    h = tf.tanh(tf.matmul(x, first))\n"
                 "with tf.name_scope('decoder'):\n"
                 "    y = tf.nn.softmax(tf.matmul(h, second), axis=1)\n"
                 "np.savez('%1', **{'encoder.weight': first.numpy().T, 'encoder.output': h.numpy(),\n"
                 "                  'decoder.weight': second.numpy().T, 'decoder.output': y.numpy()[::-1]})")
             .arg(path)},
        {0});
    openPanel();
    chooseFile(path);
    const auto* layers = compare()->findChild<inspector::LayersView*>();
    QVERIFY(layers);
    QTRY_VERIFY2_WITH_TIMEOUT(layers->isVisible(), qPrintable(sentence()), patience);
    const auto verdict = [&](const QString& layer, const QString& value) {
      QString found;
      for (QTreeWidgetItemIterator at(layers->table()); *at; ++at)
        if ((*at)->text(0).contains(layer) && (*at)->text(1).contains(value)) found = (*at)->text(2);
      return found;
    };
    QTRY_VERIFY_WITH_TIMEOUT(!verdict("decoder", "output").isEmpty(), patience);
    QCOMPARE(verdict("encoder", "output"), QStringLiteral("= agrees"));
    QVERIFY2(verdict("encoder", "kernel").startsWith("= agrees after transposing"),
             qPrintable(verdict("encoder", "kernel")));
    QVERIFY2(verdict("decoder", "output").startsWith(QStringLiteral("≠ ")),
             qPrintable(verdict("decoder", "output")));
    QVERIFY2(told("decoder"), qPrintable(sentence()));
    shots(window_.get(), "compare-layers");
  }

  // Trace files of others are read by a process that has none of the user's variables.
  void aTraceFileIsComparedApartFromTheSession() {
    run({setup + QString("\n") + training}, {0});
    QVERIFY(knowsAllRecords(*window_));
    const QString path = folder_.filePath("earlier.tapetrace");
    bool saved = false;
    protocol::SaveTrace save;
    save.path = path.toStdString();
    session().request<protocol::TraceSaved>(
        save, window_.get(), [&](const protocol::TraceSaved&) { saved = true; },
        [](const protocol::Failure& failure) { qWarning("%s", failure.reason.c_str()); });
    QTRY_VERIFY_WITH_TIMEOUT(saved, patience);
    click(0);
    runByKey(0);
    QVERIFY(knowsAllRecords(*window_));
    openPanel();
    session().setCursor(1);
    QTRY_COMPARE_WITH_TIMEOUT(model()->runs().size(), std::size_t(2), patience);
    key(Qt::Key_A);
    chooseFile(path);
    QTRY_VERIFY2_WITH_TIMEOUT(model()->compared() && model()->right()->side.path, qPrintable(sentence()),
                              patience);
    QVERIFY2(model()->compared()->same > 20, qPrintable(sentence()));
    QVERIFY2(model()->compared()->only_left == 0 && model()->compared()->only_right == 0,
             qPrintable(sentence()));
    window_->activateWindow();  // no window manager does it once the dialog has closed
    QTRY_VERIFY(window_->isActiveWindow());
    compare()->table()->setFocus();
    key(Qt::Key_F);
    QVERIFY2(told("No compared value differs"), qPrintable(sentence()));

    // A damaged file ends or refuses there; the session goes on, and the panel says what was wrong.
    const QString bad = folder_.filePath("bad.tapetrace");
    QByteArray bytes = test::contents(path);
    bytes.replace(100, bytes.size() - 100, QByteArray(bytes.size() - 100, '\xff'));
    test::write(bad, bytes);
    chooseFile(bad);
    window_->activateWindow();
    QVERIFY2(told("bad.tapetrace"), qPrintable(sentence()));
    QTRY_VERIFY_WITH_TIMEOUT(!model()->comparing() && !model()->problem().isEmpty(), patience);
    click(0);
    runByKey(0);
    QCOMPARE(stateOf(0), CellState::done);
  }

  void theSessionsEndLeavesNothingToBeAsked() {
    run({setup, "y = tf.tanh(x)"}, {0, 1, 1});
    openPanel();
    QVERIFY2(told("The one op is the same on both sides."), qPrintable(sentence()));
    window_->kernel()->shutdown();
    QVERIFY2(told("There is no session."), qPrintable(sentence()));
    QCOMPARE(compare()->table()->model()->rowCount(), 0);
    QVERIFY(!compare()->findChild<QToolButton*>("compareFirst")->isEnabled());
  }
};

TAPEDECK_TEST(TestComparePanel)
#include "tst_compare_panel.moc"
