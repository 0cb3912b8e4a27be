#include "app/shell/opening/guest.h"

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <memory>
#include <utility>

#include "app/control/pause_watch.h"
#include "app/control/program_sources.h"
#include "app/control/trace_document.h"
#include "app/notebook/document/nbformat.h"
#include "app/shell/window/actions.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/session.h"
#include "inspector/model/variables/frames_model.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {
namespace {

constexpr char about_pause[] = "pause";
constexpr char about_sources[] = "sources";

/// This many bytes of a notebook are read within a frame.
constexpr std::size_t read_at_once = 1 << 20;

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
  parts_.document->lock();
  const protocol::TraceFileInfo& info = trace.info();
  for (const protocol::SourceText& source : info.sources)
    if (!source.cell.empty())
      parts_.cells->noteNewestCode(QString::fromStdString(source.cell), QString::fromStdString(source.text));
  if (!info.notebook || info.notebook->size() <= read_at_once) {
    try {
      showTrace(info, trace.title(), *parts_.document);
    } catch (const NotebookError& error) {
      tellUnread(QString::fromUtf8(error.what()));
    }
  } else {
    // Outputs make it large: it is read in another thread.
    parts_.messages->show(MessageBar::Kind::information, "Reading the trace's notebook …", {}, about_sources);
    QThreadPool::globalInstance()->start([guest = QPointer(this), info, name = trace.title()] {
      std::shared_ptr<NotebookData> notebook;
      QString problem;
      try {
        notebook = std::make_shared<NotebookData>(traceNotebook(info, name));
      } catch (const NotebookError& error) {
        problem = QString::fromUtf8(error.what());
      }
      QMetaObject::invokeMethod(
          QCoreApplication::instance(),
          [guest, notebook, problem] {
            if (!guest) return;
            guest->parts_.messages->dismiss(about_sources);
            notebook ? guest->parts_.document->take(std::move(*notebook), {}, {})
                     : guest->tellUnread(problem);
          },
          Qt::QueuedConnection);
    });
  }
  if (const auto& problem = trace.info().problem)
    parts_.messages->show(MessageBar::Kind::warning, QString::fromStdString(*problem));
}

void Guest::tellUnread(const QString& problem) {
  parts_.messages->show(MessageBar::Kind::error, problem, {}, about_sources);
}

void Guest::disableActions() {
  const QString why = parts_.kernel->whyNoCells();
  const bool program = parts_.kernel->runs() == Runs::program;
  for (const QString& id : parts_.actions->ids()) {
    const bool looks = id.endsWith("_output") || id == "cell.output_limit";
    const bool changes = (id.startsWith("cell.") && !looks) || id.startsWith("edit.") || id == "file.save" ||
                         id == "file.save_as" || id == "session.interrupt" ||
                         id.startsWith("session.restart") || id == "session.break_at_cell";
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
                    program ? "Close this window; the program keeps running" : "Close this window");
  if (program) (*parts_.actions)["session.detach"]->setEnabled(parts_.kernel->state() == KernelState::busy);
}

}  // namespace tapedeck::app
