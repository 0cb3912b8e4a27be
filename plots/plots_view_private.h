// What PlotsView's files share.
#pragma once

#include <QtWidgets>

#include "plots/branch_overlay.h"
#include "plots/export.h"
#include "plots/plot_chart.h"
#include "plots/plots_view.h"

namespace tapedeck::plots {

struct PlotsView::Private {
  Private(PlotsView* q, inspector::SeriesModel& model, inspector::Session& session)
      : q(q), model(model), session(session), branch(session, model) {}

  PlotsView* q;
  inspector::SeriesModel& model;
  inspector::Session& session;
  BranchOverlay branch;
  PlotChart* chart = nullptr;
  PlotCanvas* canvas = nullptr;
  QStackedWidget* stack = nullptr;  ///< the curves, the hint where there is nothing, the other pages
  PageChoice* pages = nullptr;
  PicturePages* pictures = nullptr;
  QAction *log = nullptr, *reset = nullptr, *svg = nullptr, *png = nullptr, *csv = nullptr;
  QAction *chooseCurves = nullptr, *curvesButton = nullptr, *nextAxis = nullptr;
  QString chosenAxis, newestAxis;          ///< the user's; that of the curve which began last
  QHash<QString, std::size_t> drawnSizes;  ///< points of each curve when it was drawn last
  bool empty = true;
  QMenu* curvesMenu = nullptr;
  QHash<QString, QAction*> curveActions;
  QSet<QString> hidden;
  QTimer frame;  ///< runs for one frame after each drawing; what comes meanwhile is drawn at its end
  bool due = false;

  void makeToolBar(QBoxLayout* layout);
  QAction* addAction(QToolBar* bar, const QString& text, const QKeySequence& key, const QString& tip);
  void makeExports(QToolBar* bar);
  void lookAtPages();
  void showPage();
  void connectAll();
  void changed();
  void draw();
  void toggle(int series);
  void fillMenu();
  void goToPoint(const QString& name, int index);
  void stepPoint(int delta);
  std::vector<ChartSeries> series() const;
  /// In the order in which the chart has them: the session's, then the branch's.
  QStringList names() const { return model.names() + branch.names(); }
  const inspector::SeriesData* data(const QString& name) const {
    const inspector::SeriesData* own = model.series(name);
    return own ? own : branch.series(name);
  }
  void lookAtAxes();
  QString axis() const;
  ExportOptions options() const;
  std::function<QByteArray()> csvOfCurves(QString* error) const;
  void ask(const QString& format);  ///< for a file name, and writes
};

}  // namespace tapedeck::plots
