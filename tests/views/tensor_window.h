// A tensor view in a window, on the output of one op.
#pragma once

#include <QTest>
#include <cmath>
#include <memory>

#include "fake_session.h"
#include "fake_tape.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "view_test.h"

namespace tapedeck::test {

using namespace inspector;

/// One op whose output is the tensor 1.
struct TensorWindow {
  FakeSession source;
  Session session;
  std::unique_ptr<TensorView> view;

  explicit TensorWindow(FakeTensor tensor, QSize size = {1200, 900}, std::string preview = {}) {
    FakeTape tape;
    TensorInfo out = tape.tensor(1, tensor.shape, std::move(preview), "W:0");
    out.dtype = tensor.dtype;
    tape.add(RecordKind::op, "matmul", {tape.tensor(2, {3, 3}), tape.tensor(3, {3, 3})}, {out});
    source.records = tape.records;
    source.tensors[1] = std::move(tensor);
    source.tensors[2] =
        source.tensors[3] = {{3, 3}, [](std::int64_t i) { return static_cast<double>(i); }, {}};
    view = std::make_unique<TensorView>(session);
    view->resize(size);
    view->show();
    view->activateWindow();
    if (!QTest::qWaitForWindowActive(view.get(), tapedeck::patience)) qWarning("the window is not active");
    session.setSource(&source);
    source.stopBefore(0);
  }
  TensorCanvas* canvas() { return view->canvas(); }
  TensorModel* model() { return view->model(); }
  /// Waits until the values and statistics came and were painted.
  bool settled() {
    const bool here =
        waitFor([&] { return model()->tensor() && !model()->loading() && model()->statistics(); },
                tapedeck::patience);
    return here && painted() && waitFor([&] { return !model()->loading(); }, tapedeck::patience) && painted();
  }
  bool painted() {
    const quint64 before = canvas()->framesPainted();
    canvas()->requestFrame();
    return waitFor([&] { return canvas()->framesPainted() > before; }, tapedeck::patience);
  }
};

/// The pixel of the screen in the middle of a rectangle.
inline QPoint middle(const QRectF& rect) {
  return {static_cast<int>(rect.center().x()), static_cast<int>(rect.center().y())};
}

inline double wave(std::int64_t i) {
  return std::sin(static_cast<double>(i % 196) * 0.11) * std::cos(static_cast<double>(i / 196) * 0.05) * 0.3;
}

}  // namespace tapedeck::test
