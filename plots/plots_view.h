// The plots panel: the session's curves, histograms and images, live, with the one cursor.
#pragma once

#include <memory>

#include "inspector/model/runs/picture_model.h"
#include "inspector/model/runs/series_model.h"
#include "inspector/model/session/session.h"
#include "inspector/panels/panel.h"
#include "plots/page_choice.h"

namespace tapedeck::plots {

class PicturePages;
class PlotCanvas;
class PlotChart;

class PlotsView : public inspector::Panel {
  Q_OBJECT
 public:
  PlotsView(inspector::SeriesModel& series, inspector::PictureModel& pictures, inspector::Session& session,
            QWidget* parent = nullptr);
  ~PlotsView() override;

  bool isEmpty() const override;
  QList<QAction*> exportActions() const override;
  QList<inspector::HandledKeys> handledKeys() const override;
  PlotChart* chart() const;
  PlotCanvas* canvas() const;
  bool seriesVisible(const QString& name) const;
  /// What the curves that are shown are over: "step", "index", "hit", or what the program calls it.
  QString axis() const;
  PlotsPage page() const;
  PicturePages* pictures() const;

 public slots:
  void setPage(PlotsPage page);  ///< as the user chooses it; not one that has nothing
  void setLogarithmic(bool on);
  void setAxis(const QString& axis);  ///< as the user chooses it; not one that no curve is over
  void setSeriesVisible(const QString& name, bool visible);
  void resetZoom();
  void askSvg();  ///< asks for a file name first
  void askPng();
  void askCsv();
  /// Writes what is shown now, black on white, as PNG or CSV where the path says so, else as SVG; done() or
  /// failed() reports the result.
  void exportTo(const QString& path);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::plots
