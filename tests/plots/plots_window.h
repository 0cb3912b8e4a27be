// A plots panel in a window with a session behind it, for the tests of the panel.
#pragma once

#include <QTest>
#include <QtWidgets>

#include "plots/plot_canvas.h"
#include "plots/plots_view.h"
#include "tests/model/fake_source.h"

namespace tapedeck::test {

inline std::vector<protocol::Record> someRecords(std::size_t count) {
  std::vector<protocol::Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].number = i + 1;
    records[i].op = "add";
  }
  return records;
}

struct PlotsWindow {
  test::FakeSource source{someRecords(1000)};
  inspector::Session session;
  inspector::SeriesModel model{&session};
  inspector::PictureModel pictureModel{&session};
  plots::PlotsView view{model, pictureModel, session};

  void show(QSize size = {900, 520}) {
    view.resize(size);
    view.show();
    view.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&view, tapedeck::patience));
    session.setSource(&source);
    QTRY_COMPARE(session.cursor(), 1000u);
  }
  void add(const char* name, int count, double (*value)(int)) {
    for (int i = 0; i < count; ++i)
      source.points.push_back(
          {name, static_cast<double>(i), value(i), static_cast<std::uint64_t>(10 * (i + 1))});
    source.status.series_points = source.points.size();
    source.sendStatus();
    QTRY_VERIFY(model.series(name));
    settle();
  }
  /// Until the panel looks the same for some turns of the event loop.
  void rest() const {
    (void)settled([this] { return const_cast<plots::PlotsView&>(view).grab().toImage(); }, 5);
  }
  void settle() {
    rest();
    view.chart()->refresh();
  }
  QPoint at(double step, double y) const {
    const QPointF chart = view.chart()->toScene({step, y});
    return view.canvas()->mapFromScene(view.chart()->mapToScene(chart));
  }
  QWidget* viewport() const { return view.canvas()->viewport(); }
};

inline double falling(int i) {
  return 2.0 / (1 + i);
}
inline double rising(int i) {
  return 0.01 * i;
}

/// Pictures for the eye, where TAPEDECK_PICTURES names a folder.
inline void keep(QWidget* widget, const char* name) {
  const QString folder = qEnvironmentVariable("TAPEDECK_PICTURES");
  if (!folder.isEmpty())
    widget->grab().save(folder + QLatin1Char('/') + QLatin1String(name) + QStringLiteral(".png"));
}

}  // namespace tapedeck::test
