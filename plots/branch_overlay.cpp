#include "plots/branch_overlay.h"

#include <QBoxLayout>

#include "inspector/ui/eliding_label.h"

namespace tapedeck::plots {

using inspector::SeriesData;

BranchOverlay::BranchOverlay(inspector::Session& session, const inspector::SeriesModel& model)
    : model_(model), series_(&session) {
  connect(&series_, &inspector::BranchSeries::changed, this, [this] {
    showLines();
    emit changed();
  });
  connect(&series_, &inspector::BranchSeries::failed, this, &BranchOverlay::failed);
}

void BranchOverlay::addLines(QBoxLayout* layout, QWidget* parent) {
  const auto line = [&](const char* name) {
    auto* label = new inspector::ElidingLabel(Qt::ElideRight, parent);
    label->setObjectName(QLatin1String(name));
    label->setContentsMargins(8, 1, 8, 1);
    label->setTextFormat(Qt::PlainText);
    layout->addWidget(label);
    return label;
  };
  text_ = line("plotsBranch");
  notes_ = line("plotsBranchNotes");
  showLines();
}

void BranchOverlay::showLines() {
  if (!text_) return;
  text_->setText(series_.sentence());
  notes_->setText(series_.notes());
  for (QLabel* label : {text_, notes_}) label->setVisible(!label->text().isEmpty());
}

void BranchOverlay::addTo(std::vector<ChartSeries>& curves, const QSet<QString>& hidden) const {
  for (const QString& name : series_.names()) {
    const int of = originalOf(name);
    const bool listed = of >= 0 && curves[static_cast<std::size_t>(of)].listed;
    curves.push_back({series_.series(name), !hidden.contains(name), listed, std::max(of, 0)});
  }
}

/// The position of the session's curve that the branch's is beside; -1: it is gone.
int BranchOverlay::originalOf(const QString& name) const {
  const auto wanted = series_.original(name);
  const QStringList all = model_.names();
  for (int i = 0; i < all.size(); ++i)
    if (const SeriesData* one = model_.series(all[i]); one->name == wanted.name && one->cell == wanted.cell)
      return i;
  return -1;
}

}  // namespace tapedeck::plots
