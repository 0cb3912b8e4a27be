#include "app/shell/window/past_dialog.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

using inspector::countText;

namespace {

QString numberText(double value) {
  return QString::number(value, 'g', 6);
}

const QString sessionIsOver = "The session has ended, so its values can't be searched.";

}  // namespace

PastDialog::PastDialog(inspector::Session* session, inspector::SeriesModel* curves,
                       inspector::CellNames* cells, QWidget* parent)
    : QDialog(parent),
      session_(session),
      curves_(curves),
      cells_(cells),
      search_(session, "past", this),
      curveSearch_(*curves),
      variables_(session, "past/variable", this),
      names_(session, cells, this),
      field_(new QLineEdit),
      when_(new QComboBox),
      answer_(inspector::plainLabel(this)),
      ask_(new QPushButton("&Search")),
      go_(new QPushButton("&Go there")),
      further_(new QPushButton) {
  setObjectName("pastDialog");
  setWindowTitle("Search the past");
  setMinimumWidth(560);
  auto* rows = new QVBoxLayout(this);
  auto* row = new QHBoxLayout;
  field_->setObjectName("pastQuestion");
  field_->setPlaceholderText("loss < 0.1");
  field_->setAccessibleName("What held in the past");
  field_->setToolTip(
      "A curve: loss < 0.1. A variable, or a name that a cell assigns a tensor to: W < 0 (some element),\n"
      "W[0, 3] == 7.3, norm(W) > 10. Any op, in the language of breakpoints and filters: nan(out), op:matmul "
      "max(out) > 3.\n"
      "Enter searches");
  when_->setObjectName("pastWhen");
  when_->addItems({"Last time", "First time"});
  when_->setAccessibleName("Which time");
  when_->setToolTip("The last time it held, or the first (up and down keys)");
  row->addWidget(field_, 1);
  row->addWidget(when_);
  rows->addLayout(row);
  answer_->setObjectName("pastAnswer");
  answer_->setAccessibleName("The answer");
  answer_->setWordWrap(true);
  answer_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  answer_->setMinimumHeight(3 * answer_->fontMetrics().lineSpacing());
  answer_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  rows->addWidget(answer_, 1);
  auto* buttons = new QHBoxLayout;
  auto* close = new QPushButton("Close");
  close->setToolTip("Close (Esc)");
  ask_->setObjectName("pastSearch");
  ask_->setToolTip("Search (Enter)");
  ask_->setDefault(true);
  go_->setObjectName("pastGo");
  go_->setToolTip("Move the cursor to the op (Alt+G)");
  further_->setObjectName("pastFurther");
  buttons->addWidget(go_);
  buttons->addWidget(further_);
  buttons->addStretch(1);
  buttons->addWidget(ask_);
  buttons->addWidget(close);
  for (QPushButton* button : {go_, further_, close}) button->setAutoDefault(false);
  rows->addLayout(buttons);
  connect(ask_, &QPushButton::clicked, this, [this] { search(false); });
  connect(further_, &QPushButton::clicked, this, [this] { search(true); });
  connect(go_, &QPushButton::clicked, this, [this] { session_->setCursor(record_); });
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  const auto anew = [this] {
    search_.cancel();
    names_.cancel();
    variables_.cancel();
    reached_ = 0;
    curveSearch_.begin({});
    say({});
  };
  connect(field_, &QLineEdit::textEdited, this, anew);
  connect(when_, &QComboBox::currentIndexChanged, this, anew);
  connect(session, &inspector::Session::cleared, this, anew);
  connect(&search_, &inspector::PastSearch::progressed, this, &PastDialog::showProgress);
  connect(&search_, &inspector::PastSearch::found, this, &PastDialog::found);
  connect(&search_, &inspector::PastSearch::failed, this,
          [this](const QString& reason) { say("The search could not finish. " + reason); });
  connect(&search_, &inspector::PastSearch::notFound, this, &PastDialog::notFound);
  connect(&names_, &NamedSearch::progressed, this, &PastDialog::showProgress);
  connect(&names_, &NamedSearch::found, this, &PastDialog::foundNamed);
  connect(&names_, &NamedSearch::notFound, this, &PastDialog::notFound);
  connect(&names_, &NamedSearch::failed, this,
          [this](const QString& reason) { say("The search could not finish. " + reason); });
  for (const bool known : {true, false}) {
    const auto go_on = [this, known] {
      variable_ = known;
      conclude();
    };
    if (known)
      connect(&variables_, &inspector::PastSearch::found, this, go_on);
    else
      connect(&variables_, &inspector::PastSearch::notFound, this, go_on);
  }
  connect(&variables_, &inspector::PastSearch::failed, this,
          [this](const QString& reason) { say("The search could not finish. " + reason); });
  say({});
}

void PastDialog::open() {
  show();
  raise();
  activateWindow();
  field_->setFocus();
  field_->selectAll();
}

void PastDialog::done(int result) {
  search_.cancel();
  names_.cancel();
  variables_.cancel();
  QDialog::done(result);
}

bool PastDialog::forward() const {
  return when_->currentIndex() == 1;
}

void PastDialog::enableButtons() {
  go_->setEnabled(record_ != 0);
  further_->setText(forward() ? "&Later" : "&Earlier");
  further_->setToolTip(forward() ? "The next time it held (Alt+L)" : "The time before that (Alt+E)");
  further_->setEnabled(!running() && (reached_ != 0 || curveSearch_.found()));
}

void PastDialog::say(const QString& sentence, inspector::RecordNumber record) {
  record_ = record;
  answer_->setText(sentence);
  enableButtons();
}

void PastDialog::search(bool further) {
  if (!further) {
    reached_ = 0;
    named_ = false;
    names_.cancel();
    variables_.cancel();
    variable_.reset();
    attributeOf_.clear();
    question_ = inspector::readPastQuestion(field_->text(), *curves_);
    curveSearch_.begin(question_);
  }
  if (!question_.problem.isEmpty()) return say(question_.problem);
  question_.curves.isEmpty() ? searchRecords(further) : searchCurves(further);
}

void PastDialog::searchCurves(bool further) {
  if (curveSearch_.outdated()) {
    curveSearch_.begin({});
    return say("The cell ran again since, and drew other points: Enter searches anew.");
  }
  const auto point = curveSearch_.next(forward());
  QString rest = curveSearch_.leftOut();
  if (const quint64 gone = session_->status().series_thinned)
    rest += QString(" Curves were thinned out: %1 points were dropped.").arg(countText(gone));
  if (!point)
    return say(QString(further ? "No other point of %1 satisfies it.%3"
                               : "None of the %2 points of %1 satisfies it.%3")
                   .arg(curveSearch_.subject(), countText(curveSearch_.points()), rest));
  if (question_.curves.size() > 1) rest = QString(" Searched: %1.").arg(curveSearch_.subject()) + rest;
  say(pointText(*point) + rest, point->curve->records[point->at]);
}

/// "loss, cell [3] was 0.25 at step 2, after op 17."
QString PastDialog::pointText(const inspector::CurvePoint& point) const {
  const inspector::SeriesData& curve = *point.curve;
  const inspector::RecordNumber record = curve.records[point.at];
  QString when = record ? QString(", after op %1").arg(countText(record)) : QString(", before any op");
  // A curve that a later run goes on with is called by that, and not by the run that made this point.
  if (const QString run = cells_->name(curve.cell, record);
      (question_.curves.size() > 1 || curve.anew > 0) && !run.isEmpty() && !curve.title().endsWith(run))
    when += QString(", in %1").arg(run);
  return QString("%1 was %2 at %3 %4%5.")
      .arg(curve.title(), numberText(curve.values[point.at]), curve.x, numberText(curve.steps[point.at]),
           when);
}

void PastDialog::searchRecords(bool further) {
  protocol::FindHit search = question_.search;
  const inspector::RecordNumber newest = session_->recordCount();
  search.forward = forward();
  search.from = further ? (forward() ? reached_ + 1 : reached_ - 1) : forward() ? 1 : newest;
  const auto& names = cells_->all();
  for (auto name = names.begin(); name != names.end(); ++name)
    search.labels.push_back({name.key().toStdString(), name.value().toStdString()});
  if (newest == 0) return say("No op has run yet.");
  if (search.from == 0 || search.from > newest)
    return say(forward() ? "That was the newest op." : "That was the first op.");
  request_ = search;
  if (named_) {
    if (!searchName()) conclude();
    return;
  }
  if (!search_.start(search)) return say(sessionIsOver);
  say("Searching…");
}

/// False: there is nothing to search.
bool PastDialog::searchName() {
  const protocol::Breakpoint& asked = question_.search.breakpoints.front();
  const auto started = names_.start(QString::fromStdString(asked.target), request_, asked.condition);
  if (started == NamedSearch::Started::nothing_to_search) return false;
  named_ = started == NamedSearch::Started::searches;
  say(named_ ? "Searching…" : sessionIsOver);
  return true;
}

/// Whether there is a variable of the name at all: of one that has it every value was looked at.
void PastDialog::askForVariable() {
  protocol::FindHit any;
  any.breakpoints = {question_.search.breakpoints.front()};
  any.breakpoints.front().condition.clear();
  any.from = session_->recordCount();
  if (!variables_.start(any)) return say(sessionIsOver);
  say("Searching…");
}

/// Of `net.w1` where no variable is recorded so: what is called `w1`, or `model.w1`. False: it is no path.
bool PastDialog::searchAttribute() {
  protocol::Breakpoint& asked = question_.search.breakpoints.front();
  const QString path = QString::fromStdString(asked.target), last = path.section(u'.', -1);
  if (*variable_ || !attributeOf_.isEmpty() || last == path || last.isEmpty()) return false;
  attributeOf_ = path;
  question_.subject.replace(path, last);
  asked.target = last.toStdString();
  request_.breakpoints = question_.search.breakpoints;
  if (!search_.start(request_))
    say(sessionIsOver);
  else
    say("Searching…");
  return true;
}

void PastDialog::notFound() {
  if (question_.subject.isEmpty() || variable_) return conclude();
  askForVariable();
}

/// The name was not found so far: goes on elsewhere, or says how much that means.
void PastDialog::conclude() {
  const auto all = sums();
  QString more = inspector::undecidedText(all);
  QString left;
  if (!question_.subject.isEmpty()) {
    if (!reached_ && searchAttribute()) return;
    // What no variable of that name fulfils, a tensor may that Python knows by it.
    if (!named_ && !reached_ && attributeOf_.isEmpty() && searchName()) return;
    const QString name = QString::fromStdString(question_.search.breakpoints.front().target);
    left = names_.leftOpen(attributeOf_.isEmpty() ? name : attributeOf_, *variable_, named_);
  }
  if (const quint64 unclear = named_ ? names_.unclear() : 0)
    more += QString(" %1 may have made a value of %2 or not: that can't be told from their lines.")
                .arg(unclear == 1 ? QString("1 op that meets it")
                                  : QString("%1 ops that meet it").arg(countText(unclear)),
                     question_.subject);
  const bool open = all.leaveOpen() || (named_ && names_.unclear() > 0) || !left.isEmpty();
  say(QString("%1%2: %3 looked at.%4")
          .arg(open ? "It can't be shown to have held" : "It did not hold",
               reached_ ? (forward() ? " after that" : " before that") : "",
               all.lookedAt == 1 ? QString("1 op") : QString("%1 ops").arg(countText(all.lookedAt)),
               more + left));
}

void PastDialog::foundNamed(const protocol::FoundHit& hit, int line) {
  found(hit);
  const protocol::Record* record = session_->record(*hit.record);
  const QString cell = record ? cells_->name(*record) : QString();
  answer_->setText(
      answer_->text() +
      QString(" Line %1%2 gave it that value.").arg(line).arg(cell.isEmpty() ? QString() : " of " + cell));
}

void PastDialog::found(const protocol::FoundHit& hit) {
  reached_ = *hit.record;
  // What it was, without the way in which it was asked for.
  QString what = question_.subject.isEmpty() ? QString::fromStdString(hit.reason) : question_.subject;
  if (!question_.subject.isEmpty() && hit.value) what += ": it was " + numberText(*hit.value);
  const auto all = sums();
  const QString of = attributeOf_.isEmpty()
                         ? QString()
                         : QString(" No variable is recorded as %1: this is of one that Ops calls %2.")
                               .arg(attributeOf_, attributeOf_.section(u'.', -1));
  say(QString("At op %1%2: %3.%4%5")
          .arg(countText(reached_), stepText(reached_), what, inspector::undecidedText(all, false), of),
      reached_);
}

/// By the curve over steps whose point came last before then.
QString PastDialog::stepText(inspector::RecordNumber record) const {
  const inspector::SeriesData* nearest = nullptr;
  std::size_t at = 0;
  for (const QString& name : curves_->names()) {
    const inspector::SeriesData* curve = curves_->series(name);
    if (!curve || curve->x != "step") continue;
    const int point = inspector::SeriesModel::pointAt(*curve, record);
    if (point < 0) continue;
    const auto found = static_cast<std::size_t>(point);
    if (nearest && curve->records[found] <= nearest->records[at]) continue;
    nearest = curve;
    at = found;
  }
  if (!nearest) return {};
  return QString(", after step %1 of %2").arg(numberText(nearest->steps[at]), nearest->title());
}

void PastDialog::showProgress() {
  const auto all = sums();
  answer_->setText(QString("Searching: %1 of %2 ops looked at. Esc stops it and closes.")
                       .arg(countText(all.lookedAt), countText(all.total)));
}

}  // namespace tapedeck::app
