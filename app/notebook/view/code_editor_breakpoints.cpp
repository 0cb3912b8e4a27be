// The editor's breakpoints: marked in the margin, moving with the text.
#include <QHelpEvent>
#include <QToolTip>

#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/editor_margins.h"
#include "inspector/model/plain_tip.h"

namespace tapedeck::app {

namespace {

Marker markerOf(BreakpointLook look) {
  switch (look) {
    case BreakpointLook::plain:
      return plain_breakpoint;
    case BreakpointLook::conditional:
      return conditional_breakpoint;
    case BreakpointLook::disabled:
      return disabled_breakpoint;
    case BreakpointLook::log:
      break;
  }
  return log_breakpoint;
}

}  // namespace

void CodeEditor::setBreakpoints(const QList<LineBreakpoint>& breakpoints) {
  if (breakpoints == breakpoints_) return;
  breakpoints_ = breakpoints;
  markBreakpoints();
}

void CodeEditor::markBreakpoints() {
  for (const int marker : {plain_breakpoint, conditional_breakpoint, disabled_breakpoint, log_breakpoint})
    markerDeleteAll(marker);
  breakpointHandles_.clear();
  for (const LineBreakpoint& one : std::as_const(breakpoints_))
    breakpointHandles_ << (one.line >= 1 && one.line <= lines() ? markerAdd(one.line - 1, markerOf(one.look))
                                                                : -1);
}

void CodeEditor::followBreakpoints() {
  const bool empty = length() == 0;
  const bool anew = std::exchange(wasEmpty_, empty) || empty;
  if (breakpoints_.isEmpty()) return;
  // The whole text is replaced by taking all of it away first: where that pushes the markers says nothing.
  if (anew) return markBreakpoints();
  QHash<quint64, int> moved;
  bool lost = false;
  for (qsizetype i = 0; i < breakpoints_.size(); ++i) {
    const int line = breakpointHandles_[i] < 0 ? 0 : markerLine(breakpointHandles_[i]) + 1;
    lost = lost || line == 0;
    if (line == 0 || line == breakpoints_[i].line) continue;
    breakpoints_[i].line = line;
    moved[breakpoints_[i].id] = line;
  }
  if (lost) markBreakpoints();  // their lines may be there again
  if (!moved.isEmpty()) emit breakpointsMoved(moved);
}

bool CodeEditor::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (help->pos().x() < marginWidth(numbers_margin) + marginWidth(symbol_margin)) {
      const int line =
          lineAt(QPoint(marginWidth(numbers_margin) + marginWidth(symbol_margin) + 1, help->pos().y())) + 1;
      for (const LineBreakpoint& one : std::as_const(breakpoints_))
        if (one.line == line) {
          QToolTip::showText(help->globalPos(), inspector::plainTip(one.tip), this);
          return true;
        }
    }
  }
  return QsciScintilla::viewportEvent(event);
}

}  // namespace tapedeck::app
