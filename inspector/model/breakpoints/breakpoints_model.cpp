#include "inspector/model/breakpoints/breakpoints_model.h"

#include <algorithm>
#include <set>

#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/conditions/log_text.h"
#include "inspector/model/breakpoints/breakpoint_text.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;

namespace {

const QString breakpoints_channel = QStringLiteral("breakpoints");

bool watchesExceptions(const Breakpoint& breakpoint) {
  return breakpoint.kind == BreakpointKind::exception && breakpoint.condition.empty();
}

/// Bytes of UTF-8 as units of UTF-16.
int unitsOf(const std::string& text, std::uint64_t bytes) {
  const auto count = std::min<std::size_t>(text.size(), bytes);
  return static_cast<int>(QString::fromUtf8(text.data(), static_cast<qsizetype>(count)).size());
}

/// What is no condition, or no text of a log or point, is refused when it is entered, session or not.
void checkEntry(BreakpointEntry& one) {
  const Breakpoint& breakpoint = one.breakpoint;
  one.problem.clear();
  const auto attempt = [&one](const char* part, const std::string& text, auto&& parse) {
    try {
      parse(text);
    } catch (const protocol::ConditionError& error) {
      one.problem = QString::fromStdString(error.what());
      one.part = QString::fromLatin1(part);
      one.position = unitsOf(text, error.position);
    }
  };
  attempt("condition", breakpoint.condition, protocol::parse_condition);
  if (!one.problem.isEmpty()) return;
  if (breakpoint.action == BreakpointAction::log) attempt("text", breakpoint.text, protocol::LogText::line);
  if (breakpoint.action == BreakpointAction::point)
    attempt("text", breakpoint.text, protocol::LogText::point);
}

}  // namespace

BreakpointsModel::BreakpointsModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) return send();
    dropPassing();
    emit arrived();  // no session is left to confirm it
  });
  // That another process answers is known only after it is live: what it was asked till then is forgotten.
  connect(session, &Session::cleared, this, [this] {
    if (session_->live()) send();
  });
  connect(session, &Session::statusChanged, this, &BreakpointsModel::takeStatus);
}

const BreakpointEntry* BreakpointsModel::find(quint64 id) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [id](const BreakpointEntry& one) { return one.breakpoint.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

BreakpointEntry* BreakpointsModel::entry(quint64 id) {
  return const_cast<BreakpointEntry*>(find(id));
}

const BreakpointEntry* BreakpointsModel::atLine(const QString& cell, int line) const {
  for (const BreakpointEntry* one : ofCell(cell))
    if (one->breakpoint.line == static_cast<std::uint32_t>(line)) return one;
  return nullptr;
}

std::vector<const BreakpointEntry*> BreakpointsModel::ofCell(const QString& cell) const {
  std::vector<const BreakpointEntry*> found;
  const std::string id = cell.toStdString();
  for (const BreakpointEntry& one : entries_)
    if (!one.passing && one.breakpoint.kind == BreakpointKind::line && one.breakpoint.cell == id)
      found.push_back(&one);
  return found;
}

bool BreakpointsModel::stoppedBy(quint64 id) const {
  const auto& status = session_->status();
  return status.gate == protocol::GateState::stopped &&
         std::find(status.stop_breakpoints.begin(), status.stop_breakpoints.end(), id) !=
             status.stop_breakpoints.end();
}

quint64 BreakpointsModel::add(Breakpoint breakpoint) {
  breakpoint.id = ++lastId_;
  BreakpointEntry fresh;
  fresh.breakpoint = std::move(breakpoint);
  checkEntry(fresh);
  entries_.push_back(std::move(fresh));
  wasEdited();
  return lastId_;
}

void BreakpointsModel::addAll(std::vector<Breakpoint> breakpoints) {
  if (breakpoints.empty()) return;
  for (Breakpoint& breakpoint : breakpoints) {
    breakpoint.id = ++lastId_;
    BreakpointEntry fresh;
    fresh.breakpoint = std::move(breakpoint);
    checkEntry(fresh);
    entries_.push_back(std::move(fresh));
  }
  wasEdited();
}

void BreakpointsModel::addPassing(Breakpoint breakpoint) {
  std::erase_if(entries_, [](const BreakpointEntry& one) { return one.passing; });
  breakpoint.id = ++lastId_;
  breakpoint.once = true;
  BreakpointEntry fresh;
  fresh.breakpoint = std::move(breakpoint);
  fresh.passing = true;
  entries_.push_back(std::move(fresh));
  send();
  emit changed();
}

void BreakpointsModel::dropPassing() {
  if (std::erase_if(entries_, [](const BreakpointEntry& one) { return one.passing; }) == 0) return;
  send();
  emit changed();
}

void BreakpointsModel::change(const Breakpoint& breakpoint) {
  BreakpointEntry* const one = entry(breakpoint.id);
  if (!one) return;
  one->breakpoint = breakpoint;
  one->withoutOp = 0;
  sessionNotes_.remove(breakpoint.id);
  checkEntry(*one);
  renew(*one);
  wasEdited();
}

void BreakpointsModel::remove(quint64 id) {
  if (!find(id)) return;
  std::erase_if(entries_, [id](const BreakpointEntry& one) { return one.breakpoint.id == id; });
  placeNotes_.remove(id);
  sessionNotes_.remove(id);
  wasEdited();
}

void BreakpointsModel::removeThese(const std::vector<quint64>& ids) {
  const std::set<quint64> gone(ids.begin(), ids.end());
  const auto count = std::erase_if(
      entries_, [&gone](const BreakpointEntry& one) { return gone.contains(one.breakpoint.id); });
  for (const quint64 id : gone) {
    placeNotes_.remove(id);
    sessionNotes_.remove(id);
  }
  if (count > 0) wasEdited();
}

void BreakpointsModel::removeAll() {
  if (entries_.empty()) return;
  entries_.clear();
  placeNotes_.clear();
  sessionNotes_.clear();
  wasEdited();
}

void BreakpointsModel::setEnabled(quint64 id, bool enabled) {
  BreakpointEntry* const one = entry(id);
  if (!one || one->breakpoint.enabled == enabled) return;
  one->breakpoint.enabled = enabled;
  wasEdited();
}

void BreakpointsModel::setAllEnabled(bool enabled) {
  for (BreakpointEntry& one : entries_) one.breakpoint.enabled = enabled;
  wasEdited();
}

void BreakpointsModel::toggleLine(const QString& cell, int line) {
  if (const BreakpointEntry* there = atLine(cell, line)) return remove(there->breakpoint.id);
  Breakpoint breakpoint;
  breakpoint.kind = BreakpointKind::line;
  breakpoint.cell = cell.toStdString();
  breakpoint.line = static_cast<std::uint32_t>(line);
  add(std::move(breakpoint));
}

void BreakpointsModel::moveLines(const QHash<quint64, int>& lines) {
  bool moved = false;
  for (auto [id, line] : lines.asKeyValueRange()) {
    BreakpointEntry* const one = entry(id);
    if (!one || one->breakpoint.line == static_cast<std::uint32_t>(line)) continue;
    one->breakpoint.line = static_cast<std::uint32_t>(line);
    moved = true;
  }
  if (!moved) return;
  // Only when all have moved: until then, one may stand where another is about to leave.
  std::set<std::pair<std::string, std::uint32_t>> taken;
  std::erase_if(entries_, [&](const BreakpointEntry& one) {
    const Breakpoint& breakpoint = one.breakpoint;
    const bool stays = one.passing || breakpoint.kind != BreakpointKind::line ||
                       taken.insert({breakpoint.cell, breakpoint.line}).second;
    if (!stays) placeNotes_.remove(breakpoint.id);
    return !stays;
  });
  wasEdited();
}

void BreakpointsModel::restore(std::vector<Breakpoint> breakpoints) {
  if (entries_.empty() && breakpoints.empty()) return;
  entries_.clear();
  placeNotes_.clear();
  sessionNotes_.clear();
  lastId_ = 0;
  for (Breakpoint& breakpoint : breakpoints) {
    BreakpointEntry fresh;
    breakpoint.id = ++lastId_;
    fresh.breakpoint = std::move(breakpoint);
    checkEntry(fresh);
    entries_.push_back(std::move(fresh));
  }
  send();
  emit changed();
}

void BreakpointsModel::setPlaceNotes(const QHash<quint64, QString>& notes) {
  bool news = false;
  for (BreakpointEntry& one : entries_) {
    const quint64 id = one.breakpoint.id;
    const auto note = notes.constFind(id);
    if (note == notes.constEnd() || placeNotes_.value(id) == *note) continue;
    if (note->isEmpty())
      placeNotes_.remove(id);
    else
      placeNotes_[id] = *note;
    renew(one);
    news = true;
  }
  if (news) emit changed();
}

void BreakpointsModel::setCellLabels(const QHash<QString, QString>& labels) {
  labels_ = labels;
  const bool asked = std::any_of(entries_.begin(), entries_.end(), [](const BreakpointEntry& one) {
    return one.breakpoint.condition.find("cell") != std::string::npos;
  });
  if (asked) send();
}

bool BreakpointsModel::stopsAtNotFinite() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const BreakpointEntry& one) {
    return one.breakpoint.enabled && watchesNotFinite(one.breakpoint);
  });
}

void BreakpointsModel::setStopAtNotFinite(bool on) {
  if (on == stopsAtNotFinite()) return;
  std::erase_if(entries_, [](const BreakpointEntry& one) { return watchesNotFinite(one.breakpoint); });
  if (!on) return wasEdited();
  Breakpoint breakpoint;
  breakpoint.kind = BreakpointKind::condition;
  breakpoint.condition = notFiniteCondition();
  add(std::move(breakpoint));
}

bool BreakpointsModel::stopsAtExceptions() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const BreakpointEntry& one) {
    return one.breakpoint.enabled && watchesExceptions(one.breakpoint);
  });
}

void BreakpointsModel::setStopAtExceptions(bool on) {
  if (on == stopsAtExceptions()) return;
  std::erase_if(entries_, [](const BreakpointEntry& one) { return watchesExceptions(one.breakpoint); });
  if (!on) return wasEdited();
  Breakpoint breakpoint;
  breakpoint.kind = BreakpointKind::exception;
  add(std::move(breakpoint));
}

void BreakpointsModel::wasEdited() {
  send();
  emit changed();
  emit edited();
}

void BreakpointsModel::send() {
  hadSome_ = hadSome_ || !entries_.empty();
  protocol::SetBreakpoints request;
  for (const BreakpointEntry& one : entries_) request.breakpoints.push_back(one.breakpoint);
  request.labels = cellLabels(labels_);
  session_->request<protocol::Breakpoints>(
      request, this,
      [this](const protocol::Breakpoints& states) {
        take(states);
        emit arrived();
      },
      [this](const protocol::Failure&) { emit arrived(); }, breakpoints_channel);
}

bool BreakpointsModel::onTheirWay() const {
  return hadSome_ && session_->asking(breakpoints_channel);
}

void BreakpointsModel::take(const protocol::Breakpoints& states) {
  for (const protocol::BreakpointState& state : states.states) {
    BreakpointEntry* const one = entry(state.id);
    if (!one) continue;
    const Breakpoint& breakpoint = one->breakpoint;
    one->hits = state.hits;
    one->problem = QString::fromStdString(state.problem.value_or(""));
    one->part = QString::fromStdString(state.part.value_or(""));
    one->position = unitsOf(state.part == "condition" ? breakpoint.condition
                            : state.part == "target"  ? breakpoint.target
                                                      : breakpoint.text,
                            state.position);
    sessionNotes_[state.id] = QString::fromStdString(state.note.value_or(""));
    renew(*one);
  }
  emit changed();
}

/// The note that says most about why nothing comes of it.
void BreakpointsModel::renew(BreakpointEntry& one) const {
  const quint64 id = one.breakpoint.id;
  one.unreachable = !sessionNotes_.value(id).isEmpty() && !session_->status().trace_file;
  for (const QString& note : {placeNotes_.value(id), sessionNotes_.value(id), withoutOpText(one)})
    if (one.note = note; !note.isEmpty()) return;
}

void BreakpointsModel::takeStatus() {
  bool news = false;
  const auto& status = session_->status();
  for (const protocol::BreakpointHits& counted : status.hits)
    if (BreakpointEntry* const one = entry(counted.id);
        one && (one->hits != counted.hits || one->withoutOp != counted.without_op)) {
      one->hits = counted.hits;
      one->withoutOp = counted.without_op;
      renew(*one);
      news = true;
    }
  const quint64 stop =
      status.gate == protocol::GateState::stopped ? 2 * session_->stop() + (status.stopped_after ? 1 : 0) : 0;
  const bool another = stop != std::exchange(stoppedAt_, stop);
  // Wherever it stopped: the passing one has served its purpose.
  if (another && stop != 0) dropPassing();
  askForNotes();
  if (news || another) emit changed();
}

/// Functions may be traced since lines were last asked about: once where a cell stops, and where it has
/// ended.
void BreakpointsModel::askForNotes() {
  const auto& status = session_->status();
  const bool stopped = status.gate == protocol::GateState::stopped;
  const std::pair<quint64, bool> now{status.cells_ended, stopped};
  const bool later = now.first != notedAt_.first || (stopped && !notedAt_.second);
  const bool asks = std::any_of(entries_.begin(), entries_.end(), [](const BreakpointEntry& one) {
    return !one.passing && one.breakpoint.kind == BreakpointKind::line;
  });
  if (!later || !session_->live() || status.trace_file) return;
  notedAt_ = now;
  if (asks) send();
}

}  // namespace tapedeck::inspector
