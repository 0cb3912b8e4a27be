#include "app/shell/window/named_search.h"

#include <QRegularExpression>
#include <algorithm>
#include <set>
#include <utility>

namespace tapedeck::app {

using inspector::RecordNumber;
using protocol::Record;

namespace {

/// A line of a cell that runs more ops is not examined further.
constexpr RecordNumber most_records_of_line = 2000;
constexpr std::size_t most_assigning_lines = 64;

using FoundLines = std::set<std::pair<int, int>>;

/// Those whose ops may have made a value of the name.
FoundLines searchableLines(const QString& name, const QStringList& codes, const PythonContext& context) {
  FoundLines lines;
  for (const QString& code : codes)
    for (const PythonAssignment& assignment : assignmentsTo(name, code, context))
      if (assignment.value != PythonAssignment::Value::other)
        lines.emplace(assignment.first, assignment.last);
  return lines;
}

/// `net.w1 = …`: not that of a variable, whose class assigns it to `self`.
bool isAssignedAsAttribute(const QString& path, const QStringList& codes) {
  const QRegularExpression form("(?<![\\w.])" + QRegularExpression::escape(path) +
                                R"(\s*(:[^=]*)?[-+*/@%&|^]?=(?!=))");
  return std::ranges::any_of(codes, [&](const QString& code) { return form.match(code).hasMatch(); });
}

bool isIn(const PythonAssignment& assignment, const Record& record) {
  const auto line = static_cast<int>(record.line);
  return line >= assignment.first && line <= assignment.last;
}

}  // namespace

NamedSearch::NamedSearch(inspector::Session* session, inspector::CellNames* cells, QObject* parent)
    : QObject(parent), session_(session), cells_(cells), search_(session, "past/name", this) {
  connect(&search_, &inspector::PastSearch::found, this, &NamedSearch::take);
  connect(&search_, &inspector::PastSearch::progressed, this, &NamedSearch::progressed);
  connect(&search_, &inspector::PastSearch::notFound, this, [this] {
    end();
    emit notFound();
  });
  connect(&search_, &inspector::PastSearch::failed, this, [this](const QString& reason) {
    end();
    emit failed(reason);
  });
  connect(session, &inspector::Session::cleared, this, &NamedSearch::cancel);
  // A candidate and the ops behind it may have to be fetched.
  connect(session, &inspector::Session::recordsChanged, this, [this] {
    if (candidate_) look();
  });
}

NamedSearch::Started NamedSearch::start(const QString& name, const protocol::FindHit& search,
                                        const std::string& condition) {
  cancel();
  const QStringList codes = cells_->codes();
  context_ = contextOf(codes);
  const FoundLines lines = searchableLines(name, codes, context_);
  if (lines.empty() || lines.size() > most_assigning_lines) return Started::nothing_to_search;
  name_ = name;
  request_ = search;
  request_.breakpoints.clear();
  for (const auto& [first, last] : lines) {
    protocol::Breakpoint breakpoint;
    breakpoint.id = request_.breakpoints.size() + 1;
    breakpoint.kind = protocol::BreakpointKind::condition;
    breakpoint.condition = "line:" + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    if (!condition.empty()) breakpoint.condition += " (" + condition + ")";
    request_.breakpoints.push_back(std::move(breakpoint));
  }
  sums_ = {};
  sums_.newest = session_->recordCount();
  sums_.total = search.forward ? sums_.newest + 1 - search.from : search.from;
  unclear_ = 0;
  running_ = true;
  if (ask()) return Started::searches;
  running_ = false;
  return Started::session_over;
}

QString NamedSearch::leftOpen(const QString& name, bool variable, bool named) const {
  const QStringList codes = cells_->codes();
  if (name.contains(u'.')) {
    if (variable && !isAssignedAsAttribute(name, codes)) return {};
    return QString(
               " What the attribute %1 was is recorded only where it is a variable of the engine, by the "
               "name "
               "that Ops has for it.")
        .arg(name);
  }
  const PythonContext context = contextOf(codes);
  const PythonAssignment *other = nullptr, *unsure = nullptr, *nameless = nullptr;
  QList<PythonAssignment> all;
  QList<int> bound;
  for (const QString& code : codes) {
    all << assignmentsTo(name, code, context);
    bound << otherBindings(name, code);
  }
  for (const PythonAssignment& one : all) {
    if (one.variable)
      nameless = &one;
    else if (one.value == PythonAssignment::Value::other)
      other = &one;
    else if (!one.tensor || !named)
      unsure = &one;
  }
  if (other)
    return QString(
               " Where cells assign %1 (line %2), its value is not the result of an op: it is a Python "
               "number, "
               "another name, a variable of another name, or comes from a function of yours. Values of "
               "Python "
               "numbers are not recorded: ask for the tensor that it comes from.")
        .arg(name)
        .arg(other->first);
  if (!bound.isEmpty())
    return QString(
               " Line %2 gives %1 values in another way than by an op (a loop, an import, a function, "
               "several "
               "names at once): values of Python numbers are not recorded, and what its tensor was can't be "
               "told from the lines.")
        .arg(name)
        .arg(bound.last());
  const auto lines = searchableLines(name, codes, context).size();
  if (lines > most_assigning_lines)
    return QString(" %1 is assigned on %2 lines, which are too many to search.").arg(name).arg(lines);
  if (unsure)
    return QString(
               " What line %2 gives %1 need not be an op's result: values of Python numbers are not "
               "recorded, "
               "and what its tensor was can't always be told from the lines.")
        .arg(name)
        .arg(unsure->first);
  if (variable || (!nameless && !all.isEmpty())) return {};
  if (nameless)
    return QString(
               " No op or assignment gave a variable a value under the name %1: ask by the name that Ops has "
               "for it.")
        .arg(name);
  return QString(
             " No curve is called %1, and no cell that ran assigns it; a variable goes by the name that it "
             "was "
             "created with, or by its path in Python (model.w1).")
      .arg(name);
}

bool NamedSearch::ask() {
  return search_.start(request_);
}

void NamedSearch::cancel() {
  running_ = false;
  candidate_.reset();
  search_.cancel();
}

void NamedSearch::end() {
  const auto& part = search_.sums();
  sums_.lookedAt += part.lookedAt;
  sums_.lost += part.lost;
  sums_.undecided += part.undecided;
  sums_.oldest = part.oldest;
  sums_.newest = part.newest;
  running_ = false;
}

inspector::PastSearch::Sums NamedSearch::sums() const {
  inspector::PastSearch::Sums sums = sums_;
  if (running_) sums.lookedAt += search_.sums().lookedAt;
  return sums;
}

void NamedSearch::take(const protocol::FoundHit& hit) {
  candidate_ = hit;
  look();
}

void NamedSearch::look() {
  const Record* record = session_->record(*candidate_->record);
  const Judged judged = record ? judge(*record) : Judged::later;
  if (judged == Judged::later) {
    if (session_->live()) return;
    end();
    candidate_.reset();
    return emit failed("The session ended before the search finished.");
  }
  const protocol::FoundHit hit = *std::exchange(candidate_, std::nullopt);
  end();
  if (judged == Judged::yes) return emit found(hit, line_);
  unclear_ += judged == Judged::unclear ? 1 : 0;
  const std::uint64_t at = *hit.record;
  request_.from = request_.forward ? at + 1 : at - 1;
  if (request_.from == 0 || request_.from > session_->recordCount()) return emit notFound();
  running_ = true;
  if (ask()) return;
  end();
  emit failed("The session ended before the search finished.");
}

NamedSearch::Judged NamedSearch::judge(const Record& record) {
  if ((record.kind != protocol::RecordKind::op && record.kind != protocol::RecordKind::custom) ||
      record.state != protocol::RecordState::done || record.cell.empty() || record.outputs.empty())
    return Judged::no;
  const QString code = cells_->wholeCode(QString::fromStdString(record.cell), record.number);
  for (const PythonAssignment& assignment : assignmentsTo(name_, code, context_)) {
    if (!isIn(assignment, record) || assignment.value == PythonAssignment::Value::other) continue;
    if (!assignment.op.isEmpty() && record.op != assignment.op.toStdString()) return Judged::no;
    line_ = assignment.first;
    const QString op = QString::fromStdString(record.op);
    const bool alone = assignment.single && (op == assignment.op || op == assignment.callee);
    return alone ? Judged::yes : isLast(record, assignment);
  }
  return Judged::no;
}

/// By what ran next: the ops of a line stand together.
NamedSearch::Judged NamedSearch::isLast(const Record& record, const PythonAssignment& assignment) {
  const Record first = record;  // a fetch may move it
  std::string last_op;
  for (RecordNumber number = first.number + 1; number <= session_->recordCount(); ++number) {
    if (number > first.number + most_records_of_line) return Judged::unclear;
    const Record* next = session_->record(number);
    if (!next) return Judged::later;
    if (next->thread != first.thread || next->depth > first.depth) continue;
    const bool same_line = next->depth == first.depth && next->cell == first.cell &&
                           next->execution == first.execution && isIn(assignment, *next);
    if (same_line) {
      last_op = next->op;
      continue;
    }
    // It may be the last of a turn of a loop that runs nothing else.
    if (!last_op.empty()) return last_op == first.op ? Judged::unclear : Judged::no;
    if (next->depth < first.depth || assignment.value == PythonAssignment::Value::op) return Judged::yes;
    const QString code = cells_->wholeCode(QString::fromStdString(next->cell), next->number);
    const int function = next->cell.empty() ? -1 : functionAt(code, static_cast<int>(next->line));
    const bool here = next->cell == first.cell && function == assignment.function;
    return here || function == 0 ? Judged::yes : Judged::unclear;
  }
  if (!last_op.empty()) return last_op == first.op ? Judged::unclear : Judged::no;
  return Judged::yes;
}

}  // namespace tapedeck::app
