// The plots panel: the session's curves, live, with the one cursor.
#pragma once

#include <memory>

#include "inspector/model/series_model.h"
#include "inspector/model/session.h"
#include "inspector/panels/panel.h"

namespace tapedeck::plots {

class PlotCanvas;
class PlotChart;

class PlotsView : public inspector::Panel {
  Q_OBJECT
 public:
  PlotsView(inspector::SeriesModel* model, inspector::Session* session, QWidget* parent = nullptr);
  ~PlotsView() override;

  bool isEmpty() const override;
  QList<QAction*> exportActions() const override;
  QList<inspector::HandledKeys> handledKeys() const override;
  PlotChart* chart() const;
  PlotCanvas* canvas() const;
  bool seriesVisible(const QString& name) const;

 public slots:
  void setLogarithmic(bool on);
  void setSeriesVisible(const QString& name, bool visible);
  void resetZoom();
  void askSvg();  ///< asks for a file name first
  void askPng();
  /// Writes what is shown now, black on white, as PNG where the path says so, else as SVG; done() or failed()
  /// tells how it went.
  void exportTo(const QString& path);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::plots
