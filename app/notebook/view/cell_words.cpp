// What a cell says of its run and of what it shows: in the gutter, on hover, and to screen readers.
#include "app/notebook/document/execution_times.h"
#include "app/notebook/view/cell_widget.h"

namespace tapedeck::app {

void CellWidget::setFreshness(CellMark mark, const QString& why) {
  freshness_ = mark;
  whyNotFresh_ = why;
  updateAccessibleName();
  updateInSight();
}

void CellWidget::findTimes() {
  const int index = document_->indexOf(id_);
  const auto times = index < 0 ? std::nullopt : executionTimes(document_->cellMembers(index));
  duration_ = times ? times->duration() : QString();
}

/// How a cell ended is the more important thing to know of one that failed in an earlier session.
bool CellWidget::showsMark() const {
  if (freshness_ == CellMark::none || shownType_ != CellType::code) return false;
  if (state_ == CellState::queued || state_ == CellState::busy) return false;
  const bool badEnd = state_ == CellState::failed || state_ == CellState::killed;
  return !badEnd || freshness_ == CellMark::edited;
}

QString CellWidget::stateWord() const {
  if (showsMark()) {
    switch (freshness_) {
      case CellMark::none:
        break;
      case CellMark::edited:
        return "edited since it ran";
      case CellMark::earlier:
        return "ran in an earlier session";
      case CellMark::outdated:
        return "may be out of date";
    }
  }
  switch (state_) {
    case CellState::idle:
      return {};
    case CellState::queued:
      return "queued";
    case CellState::busy:
      return input_ != nullptr ? "waiting for input" : "running";
    case CellState::done:
      return duration_.isEmpty() ? QString("done") : "done in " + duration_;
    case CellState::failed:
      return duration_.isEmpty() ? QString("failed") : "failed after " + duration_;
    case CellState::killed:
      return "killed";
  }
  return {};
}

QString CellWidget::gutterWord() const {
  if (showsMark())
    return freshness_ == CellMark::edited ? "edited" : freshness_ == CellMark::earlier ? "earlier" : "old?";
  switch (state_) {
    case CellState::busy:
      return input_ != nullptr ? "input" : "running";
    case CellState::done:
      return duration_.isEmpty() ? QString("done") : duration_;
    case CellState::failed:
      return "failed";
    case CellState::idle:
    case CellState::queued:
    case CellState::killed:
      return stateWord();
  }
  return {};
}

const char* CellWidget::stateIcon() const {
  if (showsMark()) return freshness_ == CellMark::outdated ? "warning" : "queued";
  return state_ == CellState::done     ? "tick"
         : state_ == CellState::failed ? "cross"
         : state_ == CellState::killed ? "warning"
                                       : "queued";
}

QString CellWidget::stateTip() const {
  const int index = document_->indexOf(id_);
  const auto times = index < 0 ? std::nullopt : executionTimes(document_->cellMembers(index));
  QString text;
  switch (state_) {
    case CellState::idle:
      text = cell().executionCount > 0 ? QString("Run number %1 of its session").arg(cell().executionCount)
                                       : "Not run yet";
      break;
    case CellState::queued:
      return "Waiting for the cells before it";
    case CellState::busy:
      return input_ != nullptr ? "The program is waiting for a line of input" : "Running";
    case CellState::done:
      text = "Finished";
      break;
    case CellState::failed:
      text = "Ended with an error, or was interrupted";
      break;
    case CellState::killed:
      text = "The session ended while it ran";
      break;
  }
  if (times) {
    if (!duration_.isEmpty()) text += (state_ == CellState::failed ? " after " : " in ") + duration_;
    text += ": " + times->text();
  }
  if (!whyNotFresh_.isEmpty()) text += "\n" + whyNotFresh_;
  return text;
}

}  // namespace tapedeck::app
