#include "app/shell/window/reverse_control.h"

#include <QApplication>
#include <QKeyEvent>
#include <algorithm>

#include "app/shell/window/actions.h"
#include "inspector/model/breakpoints/breakpoint_text.h"
#include "inspector/model/format.h"

namespace tapedeck::app {

using inspector::countText;

namespace {

constexpr char about_reverse[] = "step.reverse";
constexpr int reverse_patience = 300;  // milliseconds

const QString noBreakpoint =
    "There is no breakpoint to go back to: F9 sets one in a line, and the panel Breakpoints takes ops and "
    "conditions.";
const QString sessionOver =
    "The session has ended, so its values can't be searched. Step back (Shift+F10) still goes through the "
    "ops that "
    "the window has.";

QString ops(quint64 count) {
  return count == 1 ? QString("1 op") : QString("%1 ops").arg(countText(count));
}

}  // namespace

ReverseControl::ReverseControl(const Parts& parts, QWidget* window)
    : QObject(window), parts_(parts), window_(window), search_(parts.session, "reverse", this) {
  patience_.setSingleShot(true);
  patience_.setInterval(reverse_patience);
  connect(&patience_, &QTimer::timeout, this, &ReverseControl::showProgress);
  connect((*parts.actions)["step.reverse"], &QAction::triggered, this, &ReverseControl::start);
  connect(&search_, &inspector::PastSearch::found, this, &ReverseControl::found);
  connect(&search_, &inspector::PastSearch::notFound, this, &ReverseControl::notFound);
  connect(&search_, &inspector::PastSearch::failed, this, &ReverseControl::failed);
  connect(&search_, &inspector::PastSearch::progressed, this, [this] {
    if (parts_.messages->shows(about_reverse)) showProgress();
  });
  connect(parts.session, &inspector::Session::cleared, this, [this] {
    arrived_ = 0;
    ended();
  });
  // A user who moved the cursor meanwhile keeps it there.
  connect(parts.session, &inspector::Session::cursorChosen, this, [this] {
    if (searching()) cancel();
  });
}

/// The first record to be examined. Where the program is paused, or the cursor is in the past, the search
/// starts before the cursor's record; at the end of a run that record may itself be the hit.
inspector::RecordNumber ReverseControl::from() const {
  const inspector::Session& session = *parts_.session;
  const protocol::Status& status = session.status();
  const bool at_record = status.gate == protocol::GateState::stopped && !status.stopped_at_line;
  // A cursor that follows may be behind the session's newest status.
  inspector::RecordNumber cursor = session.cursor();
  if (session.following())
    cursor = std::max<inspector::RecordNumber>(cursor, at_record ? session.stoppedBefore() : status.finished);
  const bool known = !session.following() || at_record || cursor == arrived_;
  return cursor - (known && cursor > 0 ? 1 : 0);
}

void ReverseControl::start() {
  const inspector::Session& session = *parts_.session;
  if (searching()) return emit told("Already going back. Esc stops it.");
  if (session.recordCount() == 0) return emit told("There is nothing to go back over: no op has run yet.");
  if (!session.live()) return emit told(sessionOver);
  protocol::FindHit search;
  for (const inspector::BreakpointEntry& entry : parts_.breakpoints->all())
    if (!entry.passing && entry.breakpoint.enabled &&
        entry.breakpoint.action == protocol::BreakpointAction::stop)
      search.breakpoints.push_back(entry.breakpoint);
  if (search.breakpoints.empty()) return emit told(noBreakpoint);
  const auto& names = parts_.cells->all();
  for (auto name = names.begin(); name != names.end(); ++name)
    search.labels.push_back({name.key().toStdString(), name.value().toStdString()});
  search.from = from();
  if (search.from == 0) return emit told("This is the session's first record.");
  if (!search_.start(search)) return emit told(sessionOver);
  qApp->installEventFilter(this);
  patience_.start();
}

void ReverseControl::cancel() {
  if (!searching()) return;
  search_.cancel();
  ended();
  const auto& sums = search_.sums();
  const bool open = sums.lost > 0 || sums.undecided > 0;
  emit told(QString("Stopped going back: no breakpoint %1 in the %2 that were looked at.%3")
                .arg(open ? "can be shown to have held" : "held", ops(sums.lookedAt),
                     inspector::undecidedText(sums, false)));
}

bool ReverseControl::eventFilter(QObject*, QEvent* event) {
  if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() != Qt::Key_Escape || key->modifiers() != Qt::NoModifier || !searching() ||
      QApplication::activeWindow() != window_ || QApplication::activePopupWidget())
    return false;
  event->accept();  // before anything else takes Esc
  if (event->type() == QEvent::KeyPress) cancel();
  return true;
}

void ReverseControl::ended() {
  patience_.stop();
  qApp->removeEventFilter(this);
  parts_.messages->dismiss(about_reverse);
}

void ReverseControl::found(const protocol::FoundHit& hit) {
  ended();
  arrived_ = *hit.record;
  parts_.session->setCursor(arrived_);
  QStringList numbers;
  for (const std::uint64_t id : hit.breakpoints) numbers << QString::number(id);
  emit told(QString("Back at op %1: %2 %3, %4.%5%6")
                .arg(countText(arrived_), numbers.size() == 1 ? "breakpoint" : "breakpoints",
                     numbers.join(", "), QString::fromStdString(hit.reason),
                     inspector::undecidedText(search_.sums(), false), withoutOpsText()));
}

void ReverseControl::notFound() {
  ended();
  const auto& sums = search_.sums();
  // A line without ops may have been run, and have stopped the program, where no record says so.
  const bool open = sums.leaveOpen() || !sums.withoutOps.empty();
  QString sentence = QString("%1 before here: %2 looked at.%3%4")
                         .arg(open ? "No breakpoint can be shown to have held" : "No breakpoint held",
                              ops(sums.lookedAt), inspector::undecidedText(sums), withoutOpsText());
  if (!sums.problems.empty())
    sentence += QString(" Breakpoint %1 does not work: %2")
                    .arg(sums.problems.front().id)
                    .arg(QString::fromStdString(sums.problems.front().problem.value_or(std::string())));
  emit told(sentence);
}

/// Lines that the search passes over wherever they ran; empty: none is known.
QString ReverseControl::withoutOpsText() const {
  constexpr qsizetype most_named = 3;
  QStringList places;
  for (const quint64 id : search_.sums().withoutOps) {
    const inspector::BreakpointEntry* const entry = parts_.breakpoints->find(id);
    if (!entry) continue;
    const QString cell = parts_.cells->name(QString::fromStdString(entry->breakpoint.cell));
    places << QString("%1%2 (breakpoint %3)")
                  .arg(inspector::breakpointText(entry->breakpoint),
                       cell.isEmpty() ? QString() : " of " + cell)
                  .arg(id);
  }
  if (places.isEmpty()) return {};
  const qsizetype more = places.size() - most_named;
  QString named = places.mid(0, most_named).join(", ");
  if (more > 0) named += QString(" and %1 more").arg(countText(static_cast<quint64>(more)));
  return QString(" No op is recorded of %1: going back can't stop there.").arg(named);
}

void ReverseControl::failed(const QString& reason) {
  ended();
  emit told("Reverse continue could not finish. " + reason);
}

void ReverseControl::showProgress() {
  if (!searching()) return;
  const auto& sums = search_.sums();
  const QString sentence = QString("Going back to a breakpoint: %1 of %2 looked at. Esc stops it.")
                               .arg(countText(sums.lookedAt), ops(sums.total));
  if (parts_.messages->shows(about_reverse))
    parts_.messages->reword(about_reverse, sentence);
  else
    parts_.messages->show(MessageBar::Kind::information, sentence, {{"Stop", [this] { cancel(); }}},
                          about_reverse);
}

}  // namespace tapedeck::app
