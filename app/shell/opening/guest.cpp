#include "app/shell/opening/guest.h"

#include <utility>

#include "app/control/pause_watch.h"
#include "app/control/program_sources.h"
#include "app/control/trace_document.h"
#include "app/shell/window/actions.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/session.h"
#include "inspector/model/variables/frames_model.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {
namespace {

constexpr char about_pause[] = "pause";
constexpr char about_sources[] = "sources";

}  // namespace

void awaitGuest(GuestKernel* kernel, QObject* asking, MessageBar* messages, const char* topic,
                const std::function<void()>& opened) {
  QObject::connect(kernel, &Kernel::stateChanged, asking, [=](KernelState state, const QString& sentence) {
    if (state == KernelState::starting) return;
    kernel->disconnect(asking);
    messages->dismiss(topic);
    if (kernel->engine() == Engine::present) {
      kernel->setParent(nullptr);
      return opened();
    }
    if (!sentence.isEmpty()) messages->show(MessageBar::Kind::error, sentence, {}, topic);
    kernel->deleteLater();
  });
}

Guest::Guest(const WindowParts& parts, QObject* parent) : QObject(parent), parts_(parts) {
  if (auto* program = qobject_cast<AttachedProgram*>(parts_.kernel)) lookAt(*program);
  if (auto* trace = qobject_cast<TraceSession*>(parts_.kernel)) lookAt(*trace);
}

void Guest::lookAt(AttachedProgram& program) {
  auto* sources =
      new ProgramSources(parts_.document, program.program().file, program.program().started, this);
  const auto show = [this, sources] {
    const auto& status = parts_.session->status();
    sources->show(QString::fromStdString(status.cell));
    // While ops fly past, no line is marked.
    const bool atRest = !parts_.session->live() || parts_.session->stop() || !parts_.session->following();
    if (const auto* record = parts_.session->cachedRecord(parts_.session->cursor()); record && atRest)
      sources->show(QString::fromStdString(record->cell));
    if (const auto* frame = parts_.frames->currentFrame()) sources->show(QString::fromStdString(frame->cell));
    const QString doubt = sources->doubt();
    if (doubt != std::exchange(doubt_, doubt))
      parts_.messages->show(MessageBar::Kind::warning, doubt, {}, about_sources);
  };
  connect(parts_.session, &inspector::Session::statusChanged, this, show);
  connect(parts_.session, &inspector::Session::cursorChanged, this, show);
  connect(parts_.session, &inspector::Session::recordsChanged, this, show);
  connect(parts_.frames, &inspector::FramesModel::currentChanged, this, show);
  show();
  auto* pause = new PauseWatch(parts_.session, program.title(), this);
  connect(pause, &PauseWatch::waits, this, [this](const QString& sentence) {
    parts_.messages->show(MessageBar::Kind::information, sentence, {}, about_pause);
  });
  connect(pause, &PauseWatch::over, this, [this] { parts_.messages->dismiss(about_pause); });
  connect(&program, &Kernel::stateChanged, this, [this](KernelState state) {
    if (state == KernelState::busy) return;
    (*parts_.actions)["session.detach"]->setEnabled(false);
    parts_.messages->dismiss(about_pause);
  });
}

void Guest::lookAt(const TraceSession& trace) {
  try {
    showTrace(trace.info(), trace.title(), *parts_.document);
    for (const protocol::SourceText& source : trace.info().sources)
      if (!source.cell.empty())
        parts_.cells->noteNewestCode(QString::fromStdString(source.cell),
                                     QString::fromStdString(source.text));
  } catch (const NotebookError& error) {
    parts_.messages->show(MessageBar::Kind::error, QString::fromUtf8(error.what()), {}, about_sources);
    parts_.document->lock();
  }
  if (const auto& problem = trace.info().problem)
    parts_.messages->show(MessageBar::Kind::warning, QString::fromStdString(*problem));
}

void Guest::disableActions() {
  const QString why = parts_.kernel->whyNoCells();
  const bool program = parts_.kernel->runs() == Runs::program;
  for (const QString& id : parts_.actions->ids()) {
    const bool changes = id.startsWith("cell.") || id.startsWith("edit.") || id == "file.save" ||
                         id == "file.save_as" || id == "session.interrupt" || id == "session.restart" ||
                         id == "session.break_at_cell";
    const bool runs = id == "session.recording" || id == "session.detach" || id == "file.save_trace" ||
                      id == "session.budget" || id == "step.pause" || id == "step.continue" ||
                      id == "step.out";
    if (!changes && (program || !runs)) continue;
    QAction* action = (*parts_.actions)[id];
    action->setEnabled(false);
    action->setToolTip(inspector::plainTip(why));
    action->setStatusTip(why);
  }
  QAction* close = (*parts_.actions)["file.close"];
  inspector::setKey(close, close->shortcuts(),
                    program ? "Close this window; the program runs on" : "Close this window");
  if (program) (*parts_.actions)["session.detach"]->setEnabled(parts_.kernel->state() == KernelState::busy);
}

}  // namespace tapedeck::app
