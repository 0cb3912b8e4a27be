#include "inspector/panels/time/run_choice.h"

#include "inspector/model/format.h"
#include "inspector/model/runs/profile_text.h"

namespace tapedeck::inspector {

RunsBox::RunsBox(ProfileModel* model, CellNames* cells, QWidget* parent)
    : RunBox(QStringLiteral("timeRuns"), QStringLiteral("Which run the panel is about"),
             QStringLiteral("Which run of a cell the panel is about (N next, P previous, E everything)"),
             parent),
      model_(model),
      cells_(cells) {
  connect(this, &RunBox::runChosen, model, [model](int run) { model->setRun(run); });
  for (const auto signal :
       {&ProfileModel::overviewChanged, &ProfileModel::spanChanged, &ProfileModel::runsChanged})
    connect(model, signal, this, &RunsBox::look);
  connect(cells, &CellNames::changed, this, &RunsBox::look);
  look();
}

void RunsBox::look() {
  QStringList texts{QStringLiteral("Everything")};
  QHash<QString, int> ran;
  for (const protocol::ProfileRun& run : model_->runs()) {
    QString name = run.cell ? cells_->nameOf(QString::fromStdString(*run.cell), run.execution)
                            : QStringLiteral("program");
    // An execution's number names the run; without one its place among the cell's does.
    const int nth = ++ran[QString::fromStdString(run.cell.value_or(""))];
    if (run.number && run.execution == 0 && nth > 1) name += QStringLiteral(", run %1").arg(nth);
    QString told =
        run.running ? QStringLiteral("running") : durationText(run.to_ns - run.from_ns - run.paused_ns);
    if (run.paused_ns > 0) told += QStringLiteral(" without %1 at the gate").arg(durationText(run.paused_ns));
    if (run.records == 0) told += QStringLiteral(", no ops");
    texts << QStringLiteral("%1 (%2)").arg(name, told);
  }
  showRuns(texts, model_->run());
}

RunSentence::RunSentence(ProfileModel* model, CellNames* cells, QWidget* parent)
    : QLabel(parent), model_(model), cells_(cells) {
  setObjectName(QStringLiteral("timeSummary"));
  setAccessibleName(QStringLiteral("Summary of the time"));
  setTextFormat(Qt::PlainText);
  setWordWrap(true);
  setTextInteractionFlags(Qt::TextSelectableByMouse);
  setContentsMargins(8, 2, 8, 4);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  for (const auto signal : {&ProfileModel::overviewChanged, &ProfileModel::spanChanged})
    connect(model, signal, this, &RunSentence::look);
  connect(cells, &CellNames::changed, this, &RunSentence::look);
  look();
}

QString RunSentence::wholeText() const {
  if (model_->selection()) return QStringLiteral("the selection");
  if (model_->run() < 0) return QStringLiteral("everything");
  const std::string cell = model_->cell();
  return cell.empty() ? QStringLiteral("the program")
                      : cells_->nameOf(QString::fromStdString(cell), model_->execution());
}

void RunSentence::look() {
  const protocol::Profile* overview = model_->overview();
  if (!model_->problem().isEmpty()) return setText(QStringLiteral("✗ ") + model_->problem());
  if (!overview || overview->total == 0 || !model_->overviewFits()) return setText(model_->waitingText());
  const CellName name = [this](const QString& id, RecordNumber record) { return cells_->name(id, record); };
  const QString text = profileSentence(*overview, wholeText(), name, model_->cell(), model_->run() < 0);
  setText(model_->indexed() < 1
              ? QStringLiteral("Reading the records, %1. ").arg(shareText(model_->indexed())) + text
              : text);
}

}  // namespace tapedeck::inspector
