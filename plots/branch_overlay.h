// The curves of a branch among those of the session: dashed, with two lines above them that say what they
// are.
#pragma once

#include <QSet>

#include "inspector/model/what_if/branch_series.h"
#include "plots/plot_chart.h"

class QBoxLayout;
class QLabel;

namespace tapedeck::plots {

class BranchOverlay : public QObject {
  Q_OBJECT
 public:
  BranchOverlay(inspector::Session& session, const inspector::SeriesModel& model);

  /// The lines; each is shown while it has a text.
  void addLines(QBoxLayout* layout, QWidget* parent);
  QStringList names() const { return series_.names(); }
  const inspector::SeriesData* series(const QString& name) const { return series_.series(name); }
  /// Follow the session's curves, which are in the order of the model's names. One whose original is not
  /// listed is not listed either.
  void addTo(std::vector<ChartSeries>& curves, const QSet<QString>& hidden) const;

 signals:
  void changed();
  void failed(const QString& reason);

 private:
  int originalOf(const QString& name) const;
  void showLines();

  const inspector::SeriesModel& model_;
  inspector::BranchSeries series_;
  QLabel *text_ = nullptr, *notes_ = nullptr;
};

}  // namespace tapedeck::plots
