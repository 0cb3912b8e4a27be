#include <QLineEdit>
#include <QTabBar>
#include <QTest>

#include "fake_source.h"
#include "fake_tape.h"
#include "inspector/tensor/slice_bar.h"
#include "inspector/tensor/statistics_panel.h"
#include "inspector/tensor/tensor_canvas.h"
#include "inspector/tensor/tensor_view.h"
#include "view_test.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

/// One op whose output is the tensor 1.
struct Window {
  FakeSource source;
  Session session;
  std::unique_ptr<TensorView> view;

  explicit Window(FakeTensor tensor, QSize size = {1200, 900}, std::string preview = {}) {
    FakeTape tape;
    TensorInfo out = tape.tensor(1, tensor.shape, std::move(preview), "W:0");
    out.dtype = tensor.dtype;
    tape.add(RecordKind::op, "matmul", {tape.tensor(2, {3, 3}), tape.tensor(3, {3, 3})}, {out});
    source.records = tape.records;
    source.tensors[1] = std::move(tensor);
    source.tensors[2] =
        source.tensors[3] = {{3, 3}, [](std::int64_t i) { return static_cast<double>(i); }, {}};
    view = std::make_unique<TensorView>(&session);
    view->resize(size);
    view->show();
    view->activateWindow();
    if (!QTest::qWaitForWindowActive(view.get())) qWarning("the window is not active");
    session.setSource(&source);
    source.stopBefore(0);
  }
  TensorCanvas* canvas() { return view->canvas(); }
  TensorModel* model() { return view->model(); }
  /// Waits until the values and statistics came and were painted.
  bool settled() {
    const bool here =
        QTest::qWaitFor([&] { return model()->tensor() && !model()->loading() && model()->statistics(); });
    return here && painted() && QTest::qWaitFor([&] { return !model()->loading(); }) && painted();
  }
  bool painted() {
    const quint64 before = canvas()->framesPainted();
    canvas()->requestFrame();
    return QTest::qWaitFor([&] { return canvas()->framesPainted() > before; });
  }
};

double wave(std::int64_t i) {
  return std::sin(static_cast<double>(i % 196) * 0.11) * std::cos(static_cast<double>(i / 196) * 0.05) * 0.3;
}

}  // namespace

class TensorViewTest : public QObject {
  Q_OBJECT
 private slots:
  void screenshots_data() {
    QTest::addColumn<bool>("dark");
    QTest::addColumn<QSize>("size");
    QTest::newRow("light-large") << false << QSize(1200, 900);
    QTest::newRow("dark-large") << true << QSize(1200, 900);
    QTest::newRow("light-small") << false << QSize(500, 350);
    QTest::newRow("dark-small") << true << QSize(500, 350);
  }
  void screenshots() {
    QFETCH(bool, dark);
    QFETCH(QSize, size);
    qApp->setPalette(dark ? darkPalette() : lightPalette());
    const QString tag = QString::fromLatin1(QTest::currentDataTag());
    {
      Window window({{784, 196}, wave, {}}, size);
      QVERIFY(window.settled());
      QTest::mouseClick(window.canvas(), Qt::LeftButton, Qt::NoModifier, QPoint(150, 100));
      QTest::keyClick(window.canvas(), Qt::Key_Down, Qt::ShiftModifier);
      QVERIFY(window.painted());
      screenshot(*window.view, "tensor-numbers-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-heat-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_3, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-histogram-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QTest::keyClicks(window.view->reshapeBox(), "28,28");
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-images-" + tag);
    }
    {
      const auto value = [](std::int64_t i) {
        if (i == 7) return std::nan("");
        if (i == 13) return std::numeric_limits<double>::infinity();
        return static_cast<double>(i) / 7;
      };
      Window window({{4, 5, 6}, value, {}}, size);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-cube-" + tag);
      QTest::keyClick(window.canvas(), Qt::Key_2, Qt::AltModifier);
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-cube-heat-" + tag);
    }
    {
      Window window({{}, [](std::int64_t) { return 2.53; }, {}}, size, "2.53");
      QVERIFY(window.settled());
      screenshot(*window.view, "tensor-scalar-" + tag);
    }
  }
};

int main(int argc, char** argv) {
  useCanvasFormat();
  QApplication app(argc, argv);
  TensorViewTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_tensor_view.moc"
