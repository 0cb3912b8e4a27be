// Random keys while a PyTorch program trains: each step ends where it should, and so does the program.
#include "tests/app/torch_window.h"
#include "tests/campaign.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::Record;
using protocol::RecordKind;

namespace {

// A module of the user's, one of PyTorch's, a custom Function, a tensor that is used twice, an optimiser with
// state.
const char* const training = R"(torch.manual_seed(3)
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        half = gradient * 1
        return half * 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 3)
        self.second = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(3, 1))
    def forward(self, x):
        h = self.first(x)
        return self.second(h) + Doubled.apply(h).sum(dim=1, keepdim=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
x = torch.randn(5, 2)
losses = []
for epoch in range(60):
    optimizer.zero_grad()
    loss = (net(x) - x[:, :1]).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print([value.hex() for value in losses[::20]], len(losses))
)";

}  // namespace

class TestTorchSteps : public QObject, private TorchWindow {
  Q_OBJECT

  QList<Record> reference_;  ///< of a run without stops

  const Record* known(quint64 number) {
    return waitFor([&] { return session().record(number) != nullptr; }, patience)
               ? session().cachedRecord(number)
               : nullptr;
  }
  /// F10 passes through what a VJP runs inside, and through the start of a playback. What the program's own
  /// Function runs is code of its, forward and backward: its ops are steps, and not the Function around them.
  bool isStopOfF10(qsizetype place) const {
    const Record& record = reference_[place];
    if (record.kind == RecordKind::playback || record.kind == RecordKind::custom) return false;
    if (record.parent == 0) return true;
    const qsizetype parent = static_cast<qsizetype>(record.parent - reference_[0].number);
    if (reference_[parent].custom_gradient) return true;
    // What PyTorch's engine runs between its nodes (a detach for AccumulateGrad) is passed, too.
    return reference_[parent].kind == RecordKind::playback &&
           (record.kind == RecordKind::vjp || record.op == "autograd.AccumulateGrad" ||
            record.sums_gradients);
  }
  /// Behind what runs the record: backward() of the program's own Function, or the playback.
  qsizetype behindCaller(qsizetype place) const {
    const quint64 caller = reference_[place].parent;
    const bool in_function =
        caller != 0 && reference_[static_cast<qsizetype>(caller - reference_[0].number)].custom_gradient;
    ++place;
    if (in_function)
      while (place < reference_.size() && reference_[place].parent == caller) ++place;
    while (place < reference_.size() && (in_function ? !isStopOfF10(place) : reference_[place].backward))
      ++place;
    return place;
  }
  QString where() {
    return QString("cursor %1 of %2, %3").arg(session().cursor()).arg(session().recordCount()).arg(state());
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { window_.reset(); }

  void randomStepsForwardAndBackwardEndWhereTheyShould() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
    if (const QString why = openInTorch({"import torch", training}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(1), CellState::done);
    QVERIFY(knowsAllRecords(*window_));
    const quint64 base = session().recordCount();
    const QString printed = outputText(*window_, 1);
    QVERIFY2(printed.contains("60)") || printed.contains("] 60"), qPrintable(printed));
    for (quint64 i = 1; i <= base; ++i) {
      const Record* record = known(i);
      QVERIFY(record);
      reference_ << *record;
    }

    const Campaign steps{"torch_steps", "random steps", 150, 500, "further steps"};
    auto random = steps.random();
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    for (std::uint64_t i = 0; i < steps.count(); ++i) {
      const quint64 count = session().recordCount(), cursor = session().cursor(),
                    at = session().stoppedBefore();
      const QString before = where();
      // The place in the reference of the record that is next; where it stops before a line, behind all.
      const auto here = static_cast<qsizetype>((at ? at : count + 1) - base - 1);
      const unsigned draw = random() % 10;
      const bool in_past = !session().following();
      if ((draw < 3 && cursor > base + 1) || (in_past && draw < 6 && cursor < count)) {
        const bool back = draw < 3;
        press(Qt::Key_F10, back ? Qt::ShiftModifier : Qt::NoModifier);
        QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), back ? cursor - 1 : cursor + 1, patience);
        QCOMPARE(session().recordCount(), count);  // the program stays where it is
        continue;
      }
      if (in_past) QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
      QTRY_VERIFY(session().following());
      const bool inside = at != 0 && reference_[here].backward;
      if (inside && draw == 9) {
        QVERIFY2(step(1, Qt::Key_F11, Qt::ShiftModifier), qPrintable(before));
        const qsizetype behind = behindCaller(here);
        QVERIFY2(session().recordCount() >= base + static_cast<quint64>(behind),
                 qPrintable(before + " → " + where()));
        const Record* next = session().stoppedBefore() ? known(session().stoppedBefore()) : nullptr;
        QVERIFY2(!next || next->number == base + 1 + static_cast<quint64>(behind) || !next->backward,
                 qPrintable(before + " → " + where()));
      } else if (draw >= 8) {
        QVERIFY2(step(1, Qt::Key_F11), qPrintable(before));
        QVERIFY2(session().status().line > 0, qPrintable(before + " → " + where()));
      } else {
        qsizetype next = at ? here + 1 : here;
        while (next < reference_.size() && !isStopOfF10(next)) ++next;
        QVERIFY2(step(1, Qt::Key_F10), qPrintable(before));
        QVERIFY2(session().stoppedBefore() == base + 1 + static_cast<quint64>(next),
                 qPrintable(QString("%1 → %2; not before op %3").arg(before, where()).arg(base + 1 + next)));
      }
      QVERIFY(stateOf(1) == CellState::busy);
    }
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    QCOMPARE(outputText(*window_, 1), printed);
    QVERIFY(knowsAllRecords(*window_));
    QCOMPARE(session().recordCount(), 2 * base);
    for (quint64 i = 1; i <= base; ++i) {
      const Record *first = &reference_[static_cast<qsizetype>(i - 1)], *second = known(base + i);
      QVERIFY(second);
      QCOMPARE(second->op, first->op);
      QCOMPARE(second->line, first->line);
      QCOMPARE(second->scope, first->scope);
    }
  }
};

TAPEDECK_TORCH_TEST(TestTorchSteps)
#include "tst_torch_steps.moc"
