// The samples of PyTorch from the start page: run in an environment that is chosen there, and done with them
// what their text says.
#include <QComboBox>
#include <QTreeWidget>

#include "app/shell/panels/workspaces.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/compare/layers_view.h"
#include "inspector/panels/compare/operands_view.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/torch_window.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestTorchSamples : public QObject, private TorchWindow {
  Q_OBJECT

  /// By a click on its card, in the environment that was chosen before.
  QString openSample(const QString& name) {
    if (const QString problem = chooseTorch(); !problem.isEmpty()) return problem;
    auto* card = window_->findChild<QAbstractButton*>("open:" + name);
    if (!card) return "there is no card of it";
    QTest::mouseClick(card, Qt::LeftButton);
    return waitFor([&] { return window_->notebook()->isVisible() && document().cellCount() > 3; }, patience)
               ? QString()
               : "it was not opened";
  }
  QString whyText() const {
    const auto* why = window_->findChild<inspector::WhyView*>();
    return why && why->isVisible() ? why->sentence()->text() : QString();
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void init() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() { window_.reset(); }

  void theBirthOfTheNanIsFound() {
    if (const QString why = openSample("where_nan.ipynb"); !why.isEmpty()) QFAIL(qPrintable(why));
    const int first = cellThatBegins("try:");
    QCOMPARE(runToItsEnd(first), CellState::done);
    QVERIFY2(outputText(*window_, first).contains("nan"), qPrintable(outputText(*window_, first)));
    showAllRecords();
    goTo("op=autograd.AccumulateGrad");
    press(Qt::Key_F7);
    QTRY_VERIFY2_WITH_TIMEOUT(whyText().contains("aten.sqrt"), qPrintable(whyText()), patience);
    shots(window_.get(), "torch-sample-nan");
    for (const char* begin : {"squares = points", "def lengths"})
      QCOMPARE(runToItsEnd(cellThatBegins(begin)), CellState::done);
    const QString fixed = outputText(*window_, cellThatBegins("def lengths"));
    QVERIFY2(!fixed.contains("nan") && fixed.contains("loss"), qPrintable(fixed));
  }

  void theLineThatOverwritesIsFound() {
    if (const QString why = openSample("overwritten_activation.ipynb"); !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(cellThatBegins("try:")), CellState::done);
    const int backward = cellThatBegins("loss.backward()");
    QCOMPARE(runToItsEnd(backward), CellState::failed);
    QVERIFY2(outputText(*window_, backward).contains("is at version 1; expected version 0"),
             qPrintable(outputText(*window_, backward)));
    showAllRecords();
    QTest::keyClick(window_.get(), Qt::Key_F7, Qt::ShiftModifier);  // the cursor is where it failed
    QTRY_VERIFY2_WITH_TIMEOUT(whyText().contains("fill_"), qPrintable(whyText()), patience);
    shots(window_.get(), "torch-sample-overwritten");
    for (const char* begin : {"opening = torch.sigmoid", "def forward"})
      QCOMPARE(runToItsEnd(cellThatBegins(begin)), CellState::done);
  }

  void theWrongAxisIsFound() {
    if (const QString why = openSample("wrong_axis.ipynb"); !why.isEmpty()) QFAIL(qPrintable(why));
    for (const char* begin : {"try:", "def original", "class Attention"})
      QCOMPARE(runToItsEnd(cellThatBegins(begin)), CellState::done);
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window_.get(), Qt::Key_8, Qt::AltModifier);
    const auto compare = [this] { return window_->findChild<inspector::CompareView*>(); };
    QTRY_VERIFY(compare() && !compare()->visibleRegion().isEmpty());
    // By the keyboard: what the list has begins with the cell's number.
    const auto choose = [](QComboBox* list, const QString& text) {
      list->setFocus();
      for (int i = 0; i < list->count() && !list->currentText().startsWith(text); ++i)
        QTest::keyClick(list, i == 0 ? Qt::Key_Home : Qt::Key_Down);
      return list->currentText().startsWith(text);
    };
    for (const auto& [list, cell] : {std::pair(compare()->bar()->left(), "cell [2]"),
                                     std::pair(compare()->bar()->right(), "cell [3]")}) {
      const auto entries = [&box = *list] {
        QStringList texts;
        for (int i = 0; i < box.count(); ++i) texts << box.itemText(i);
        return texts.join(" | ");
      };
      QTRY_VERIFY2(entries().contains("cell [2]"), qPrintable(entries()));  // the runs are asked for
      QVERIFY2(choose(list, cell), qPrintable(entries()));
    }
    const auto said = [&] { return compare()->sentence()->text(); };
    QTRY_VERIFY2_WITH_TIMEOUT(said().contains("softmax"), qPrintable(said()), patience);
    shots(window_.get(), "torch-sample-axis");
    // What the sample says: a click on the layer shows the operands of the op that the sentence names.
    const auto* layers = compare()->findChild<inspector::LayersView*>();
    QTRY_VERIFY_WITH_TIMEOUT(layers->isVisible() && layers->table()->topLevelItemCount() > 0, patience);
    const auto row_of = [&](const QString& layer, const QString& value) {
      for (int i = 0; i < layers->table()->topLevelItemCount(); ++i)
        if (QTreeWidgetItem* row = layers->table()->topLevelItem(i);
            row->text(0) == layer && row->text(1).startsWith(value))
          return row;
      return static_cast<QTreeWidgetItem*>(nullptr);
    };
    QVERIFY(row_of("attention", QStringLiteral("input 2×8×16")));  // which of the inputs
    QTreeWidgetItem* const blamed = row_of("mlp", QStringLiteral("input from attention 2×8×16"));
    QVERIFY(blamed && blamed->text(2).startsWith(QStringLiteral("≠ ")));
    QTreeWidgetItem* const output = row_of("attention", "output");
    QVERIFY(output);
    layers->table()->scrollToItem(output);
    QTest::mouseClick(layers->table()->viewport(), Qt::LeftButton, {},
                      layers->table()->visualItemRect(output).center());
    const auto* operands = compare()->operands();
    QTRY_VERIFY_WITH_TIMEOUT(operands->isVisible() && operands->table()->topLevelItemCount() > 1, patience);
    const protocol::ComparedRow* row = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT((row = compare()->model()->row(compare()->model()->currentRow())), patience);
    QVERIFY(row->left && row->right);
    QCOMPARE(QString::fromStdString(row->left->op), QString("softmax"));
    QCOMPARE(QString::fromStdString(row->right->op), QString("aten._softmax"));
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), row->left->number, patience);
    shots(window_.get(), "torch-sample-axis-op");
    for (const char* begin : {"scores = torch.tensor"})
      QCOMPARE(runToItsEnd(cellThatBegins(begin)), CellState::done);
  }

  void theConvNetTrains() {
    if (const QString why = openSample("convnet_in_torch.ipynb"); !why.isEmpty()) QFAIL(qPrintable(why));
    if (!QFile::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz") &&
        qEnvironmentVariableIsEmpty("TAPEDECK_MNIST"))
      QSKIP("Fashion-MNIST is not installed (Debian's package: dataset-fashion-mnist)");
    // All pictures take minutes: 600 do for what is looked at here.
    const int first = cellThatBegins("try:");
    click(first);
    const QStringList lines = document().cell(first).source.split('\n');
    const auto line = static_cast<int>(lines.indexOf("pictures_to_use = 60000")) + 1;
    QVERIFY(line > 0);
    CodeEditor* editor = editorOf(first);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {},
                      {editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(line) + editor->lineHeight() / 2});
    for (const Qt::Key key : {Qt::Key_End, Qt::Key_Backspace, Qt::Key_Backspace}) press(key);
    QVERIFY(document().cell(first).source.contains("pictures_to_use = 600\n"));
    for (int cell = 0; cell < document().cellCount(); ++cell)
      if (document().cell(cell).type == CellType::code) {
        QCOMPARE(runToItsEnd(cell), CellState::done);
      }
    const int training = cellThatBegins("epochs = 2");
    QVERIFY2(outputText(*window_, training).contains("epoch 2: "),
             qPrintable(outputText(*window_, training)));
    shots(window_.get(), "torch-sample-convnet");
  }
};

TAPEDECK_TORCH_TEST(TestTorchSamples)
#include "tst_torch_samples.moc"
