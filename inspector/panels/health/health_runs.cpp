#include "inspector/panels/health/health_runs.h"

#include "inspector/model/format.h"

namespace tapedeck::inspector {

QString healthRunText(const protocol::HealthRun& run, const CellNames& cells) {
  if (!run.cell) return run.number ? QStringLiteral("run %1").arg(run.number) : QStringLiteral("program");
  const QString name = cells.name(QString::fromStdString(*run.cell), run.first);
  return run.of_cell > 1 ? QStringLiteral("%1, run %2").arg(name).arg(run.of_cell) : name;
}

HealthRunsBox::HealthRunsBox(HealthModel* model, CellNames* cells, QWidget* parent)
    : QComboBox(parent), model_(model), cells_(cells) {
  setObjectName(QStringLiteral("healthRuns"));
  setAccessibleName(QStringLiteral("Which run the findings are about"));
  setToolTip(QStringLiteral(
      "Which run of a cell the findings are about (N next, P previous, E the newest run of each "
      "cell)"));
  setSizeAdjustPolicy(QComboBox::AdjustToContents);
  setFocusPolicy(Qt::TabFocus);
  connect(this, &QComboBox::activated, this, [this](int at) {
    if (!syncing_) model_->setRun(at - 1);
  });
  connect(model, &HealthModel::changed, this, &HealthRunsBox::look);
  connect(cells, &CellNames::changed, this, &HealthRunsBox::look);
  look();
}

void HealthRunsBox::look() {
  syncing_ = true;
  QStringList texts{QStringLiteral("Newest run of each cell")};
  for (const protocol::HealthRun& run : model_->runs())
    texts << (run.steps == 1 ? QStringLiteral("%1 (%2 step)") : QStringLiteral("%1 (%2 steps)"))
                 .arg(healthRunText(run, *cells_), countText(run.steps));
  QStringList there;
  for (int i = 0; i < count(); ++i) there << itemText(i);
  if (there != texts) {
    clear();
    addItems(texts);
  }
  setCurrentIndex(model_->run() + 1);
  setVisible(model_->runs().size() > 1);
  syncing_ = false;
}

}  // namespace tapedeck::inspector
