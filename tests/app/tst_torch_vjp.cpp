// *VJP* of a PyTorch program that is paused in backward: the formula of the node's op with the call's
// arguments and numbers, the terms of an element, and what the node saved.
#include "inspector/panels/vjp/vjp_view.h"
#include "tests/app/panels/variable_rows.h"
#include "tests/app/torch_window.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::SheetRow;
using inspector::VjpView;
using protocol::Record;
using protocol::RecordKind;

namespace {

const char* const network = R"(import torch
from torch import nn
torch.manual_seed(1)
conv, head = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(32, 2)
images = torch.randn(3, 1, 4, 4))";
const char* const step_of_training = R"(h = conv(images).relu().flatten(1)
loss = torch.logit(head(h).sigmoid(), 0.1).sum()
loss.backward())";

}  // namespace

class TestTorchVjp : public QObject, private TorchWindow {
  Q_OBJECT

  VjpView* panel() const { return window_->findChild<VjpView*>(); }
  /// The node that the program is paused before, as soon as the panel shows it.
  bool isBefore(const QString& op) {
    const Record* record = session().stoppedBefore() ? session().record(session().stoppedBefore()) : nullptr;
    return record && record->kind == RecordKind::vjp && QString::fromStdString(record->op) == op;
  }
  bool stepTo(const QString& op) {
    for (int i = 0; i < 40 && !isBefore(op); ++i)
      if (!step(1, Qt::Key_F10)) return false;
    return isBefore(op) && waitFor(
                               [&] {
                                 const auto& parts = panel()->model()->parts();
                                 return parts.vjp && parts.vjp->number == session().stoppedBefore();
                               },
                               patience);
  }
  QString formula() const {
    QStringList texts;
    for (const auto& one : panel()->sheet()->contents().formulas) texts << one.text;
    return texts.join('\n');
  }
  QString texts() const {
    QStringList all;
    for (const auto& one : panel()->sheet()->contents().texts) all << one.text;
    return all.join('\n');
  }
  const SheetRow* contribution(int number) const {
    for (const SheetRow& row : panel()->sheet()->contents().rows)
      if (row.contribution == number && row.grid) return &row;
    return nullptr;
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QFile::setPermissions(runtime_.path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    qputenv("XDG_RUNTIME_DIR", runtime_.path().toUtf8());
  }
  void init() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() { window_.reset(); }

  void formulasTermsAndWhatWasSavedAreShownWhilePaused() {
    if (const QString why = openInTorch({network, step_of_training}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_), qPrintable(state()), patience);
    raisePanel(*window_, "VJP", Qt::Key_6, panel());

    // There is no op like it: the sentence says so, and the node's tensors and numbers have their names.
    QVERIFY2(stepTo("aten.logit"), qPrintable(state()));
    QTRY_VERIFY2_WITH_TIMEOUT(texts().contains("Tapedeck has no op like it"), qPrintable(texts()), patience);
    QVERIFY2(texts().contains("saved as self") && texts().contains("eps = 0.1"), qPrintable(texts()));
    shots(window_.get(), "torch-vjp-saved");

    QVERIFY2(stepTo("aten.addmm"), qPrintable(state()));
    QTRY_VERIFY2_WITH_TIMEOUT(formula().contains("dA = dC·Bᵀ, dB = Aᵀ·dC"), qPrintable(formula()), patience);
    QVERIFY2(texts().contains("PyTorch has not run this VJP") && texts().contains("saved as mat1"),
             qPrintable(texts()));
    press(Qt::Key_G, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(contribution(1), patience);
    const QPointF cell = contribution(1)->grid->cell(0).center();
    panel()->sheet()->setFocus();
    QTest::mouseClick(panel()->sheet(), Qt::LeftButton, {}, cell.toPoint());
    QTRY_VERIFY2_WITH_TIMEOUT(formula().contains("dA[0,0] = Σₖ dC[0,k]·B[0,k]"), qPrintable(formula()),
                              patience);
    shots(window_.get(), "torch-vjp-addmm");

    QVERIFY2(stepTo("aten.convolution"), qPrintable(state()));
    QTRY_VERIFY2_WITH_TIMEOUT(formula().contains("d(weight) = input ⋆ dz"), qPrintable(formula()), patience);
    QVERIFY2(texts().contains("padding = (1, 1)") && texts().contains("saved as weight"),
             qPrintable(texts()));
    shots(window_.get(), "torch-vjp-convolution");
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
  }
};

TAPEDECK_TORCH_TEST(TestTorchVjp)
#include "tst_torch_vjp.moc"
