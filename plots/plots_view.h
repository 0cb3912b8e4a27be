// The plots panel: the session's curves, live, with the one cursor.
#pragma once

#include <QSize>
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
  PlotChart* chart() const;
  PlotCanvas* canvas() const;
  bool seriesVisible(const QString& name) const;
  /// Write what is shown now, black on white. False, with a sentence in `error`, where that fails.
  bool exportSvg(const QString& path, QString* error) const;
  bool exportPng(const QString& path, QSize size, QString* error) const;

 public slots:
  void setLogarithmic(bool on);
  void setSeriesVisible(const QString& name, bool visible);
  void resetZoom();
  void askSvg();  ///< asks for a file name first
  void askPng();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::plots
