// Ops shows the call as the program wrote it beside each of PyTorch's ops, forward and backward.
#include <QTableView>

#include "inspector/model/ops/records_model.h"
#include "tests/app/torch_window.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestTorchCalls : public QObject, TorchWindow {
  Q_OBJECT

  /// "OP: CALL" of all rows that are there.
  QStringList written() const {
    RecordsModel& rows = *timeline(*window_)->model();
    QStringList found;
    for (int row = 0; row < rows.rowCount(); ++row)
      if (const auto number = rows.recordAt(row))
        if (const protocol::Record* record = session().record(number))
          found << QString::fromStdString(record->op) + ": " +
                       rows.index(row, RecordsModel::Call).data().toString();
    return found;
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void opsInsideOfPyTorchHaveTheCallOfTheProgram() {
    const QString problem = openInTorch(
        {"import math, torch\nimport torch.nn.functional as F\nclass Attention(torch.nn.Module):\n"
         "    def __init__(self):\n        super().__init__()\n        self.project = torch.nn.Linear(4, 4)\n"
         "    def forward(self, x):\n        d = x.shape[-1]\n        scores = self.project(x) @ x.T\n"
         "        return F.softmax(scores / math.sqrt(d), dim=-1)\nlayer = Attention()\n"
         "y = layer(torch.ones(3, 4))[0, 0]\ny.backward()"});
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    QCOMPARE(runToItsEnd(0), CellState::done);
    showAllRecords();
    // Before Python 3.11 the interpreter knows the line alone.
    QStringList expected{"aten.addmm: self.project(x)", "aten.mm: self.project(x) @ x.T",
                         "aten.div.Tensor: scores / math.sqrt(d)",
                         "aten._softmax: F.softmax(scores / math.sqrt(d), dim=-1)", "gradient: y.backward()"};
    QString softmax = expected[3];
    if (minorVersion() < 11) {
      softmax = "aten._softmax: return F.softmax(scores / math.sqrt(d), dim=-1)";
      expected = {"aten.addmm: scores = self.project(x) @ x.T", "aten.mm: scores = self.project(x) @ x.T",
                  "aten.div.Tensor: return F.softmax(scores / math.sqrt(d), dim=-1)", softmax,
                  "gradient: y.backward()"};
    }
    const auto all = [&] {
      const QStringList found = written();
      return std::all_of(expected.begin(), expected.end(),
                         [&](const QString& each) { return found.contains(each); });
    };
    QTRY_VERIFY2_WITH_TIMEOUT(all(), qPrintable(written().join("\n")), patience);
    QVERIFY(written().count(softmax) >= 2);  // and its VJP
    shots(window_.get(), "torch-calls");
  }
};

TAPEDECK_TORCH_TEST(TestTorchCalls)
#include "tst_torch_calls.moc"
