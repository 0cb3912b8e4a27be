#include "inspector/panels/health/health_runs.h"

#include "inspector/model/format.h"

namespace tapedeck::inspector {

QString healthRunText(const protocol::HealthRun& run, const CellNames& cells) {
  if (!run.cell) return run.number ? QStringLiteral("run %1").arg(run.number) : QStringLiteral("program");
  const QString name = cells.name(QString::fromStdString(*run.cell), run.first);
  return run.of_cell > 1 ? QStringLiteral("%1, run %2").arg(name).arg(run.of_cell) : name;
}

HealthRunsBox::HealthRunsBox(HealthModel* model, CellNames* cells, QWidget* parent)
    : RunBox(QStringLiteral("healthRuns"), QStringLiteral("Which run the findings are about"),
             QStringLiteral(
                 "Which run of a cell the findings are about (N next, P previous, E the newest run of "
                 "each cell)"),
             parent),
      model_(model),
      cells_(cells) {
  connect(this, &RunBox::runChosen, model, [model](int run) { model->setRun(run); });
  connect(model, &HealthModel::changed, this, &HealthRunsBox::look);
  connect(cells, &CellNames::changed, this, &HealthRunsBox::look);
  look();
}

void HealthRunsBox::look() {
  QStringList texts{QStringLiteral("Newest run of each cell")};
  for (const protocol::HealthRun& run : model_->runs())
    texts << (run.steps == 1 ? QStringLiteral("%1 (%2 step)") : QStringLiteral("%1 (%2 steps)"))
                 .arg(healthRunText(run, *cells_), countText(run.steps));
  showRuns(texts, model_->run());
  setVisible(model_->runs().size() > 1);
}

}  // namespace tapedeck::inspector
