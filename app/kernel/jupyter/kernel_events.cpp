// What the Jupyter client's thread tells, as KernelSession's signals.
#include <QPointer>
#include <utility>

#include "app/kernel/jupyter/jupyter_message.h"
#include "app/kernel/jupyter/kernel_session_p.h"

namespace tapedeck::app {
namespace {

QString text(const std::string& value) {
  return QString::fromStdString(value);
}

}  // namespace

void KernelSession::Private::take(std::vector<events::Event> batch) {
  const QPointer<KernelSession> alive(q);
  for (events::Event& event : batch) {
    std::visit([this](auto& kind) { take(kind); }, event);
    if (!alive) return;  // a receiver of one of them deleted the session
  }
  post([](JupyterWorker& jupyter) { jupyter.taken(); });
}

void KernelSession::Private::take(events::Ready& event) {
  if (!process || afterwards != Afterwards::dead) return;  // it is being ended already
  ready = true;
  info = event.info;
  lookForEngine(info);
  debug.open(connection.debugEndpoint(), connection.key);
  if (engine == Engine::missing) tellReady();
}

// With its engine a session is ready when that is connected too: what was chosen for it, and a gate that is
// to be shut, come before the first cell.
void KernelSession::Private::tellReady() {
  if (!ready || state != KernelState::starting || !process || afterwards != Afterwards::dead) return;
  startLimit.stop();
  setState(working());
  emit q->ready(info);
  if (engine == Engine::missing)
    emit q->noticed(KernelNotice::withoutEngine, std::exchange(withoutEngine, {}));
}

// The app's own session process says in its kernel_info_reply whether the debug server runs in it.
void KernelSession::Private::lookForEngine(const nlohmann::json& info) {
  const auto told = info.find("tapedeck");
  const bool known = told != info.end() && told->is_object();
  if (known && boolAt(*told, "debug")) {
    engine = Engine::present;
    return;
  }
  engine = Engine::missing;
  if (known)
    withoutEngine =
        QStringLiteral("This session runs without Tapedeck's debug server, so nothing can be stepped: %1")
            .arg(text(stringAt(*told, "error", "it did not start")));
  else if (withoutEngine.isEmpty())
    withoutEngine =
        QStringLiteral("This Jupyter kernel has no Tapedeck engine: cells run, but can't be stepped.");
}

void KernelSession::Private::take(events::Started& event) {
  begun = true;
  if (std::exchange(interruptOnBegin, false)) interruptProcess();
  emit q->executionStarted(text(event.cell), event.count);
}

void KernelSession::Private::take(events::Timed& event) {
  emit q->executionTimed(text(event.cell), event.times);
}

void KernelSession::Private::take(events::Output& event) {
  // By this interrupt the process was ended: the cell says so.
  if (endsOnRequest() && stringAt(event.output, "ename") == "KeyboardInterrupt") return;
  emit q->outputReceived(text(event.cell), event.output);
}

void KernelSession::Private::take(events::LeftOut& event) {
  emit q->outputsLeftOut(text(event.cell), event.count);
}

void KernelSession::Private::take(events::Cleared& event) {
  emit q->outputCleared(text(event.cell), event.wait);
}

void KernelSession::Private::take(events::DisplayUpdated& event) {
  emit q->displayUpdated(text(event.display), event.data, event.metadata);
}

void KernelSession::Private::take(events::Finished& event) {
  --unfinished;
  // One that was only waiting is aborted after the running one.
  if (event.status != "aborted" || unfinished == 0) begun = interruptOnBegin = false;
  const QPointer<KernelSession> alive(q);
  showWorking();
  if (!alive) return;
  const bool wasEnded = event.status == "error" && endsOnRequest();
  emit alive->executionFinished(text(event.cell), wasEnded ? QStringLiteral("ended") : text(event.status),
                                event.count);
}

void KernelSession::Private::take(events::ExitAsked&) {
  calledExit = true;
  if (process) exitLimit.start();
}

void KernelSession::Private::take(events::InputRequested& event) {
  emit q->inputRequested(text(event.cell), text(event.prompt), event.password);
}

void KernelSession::Private::take(events::Completed& event) {
  if (event.request != completion) return;
  QStringList matches;
  for (const std::string& match : event.matches) matches << text(match);
  emit q->completed(event.request, matches, event.start, event.end);
}

void KernelSession::Private::take(events::Inspected& event) {
  emit q->inspected(event.request, text(event.text));
}

void KernelSession::Private::take(events::BusyForOthers& event) {
  busyForOthers = event.busy;
  showWorking();
}

void KernelSession::Private::take(events::Answering& event) {
  if (!ready) return;
  if (event.answers)
    emit q->noticed(KernelNotice::answersAgain, {});
  else
    emit q->noticed(
        KernelNotice::silent,
        QStringLiteral("The session process does not answer: it is stopped, or the machine is out "
                       "of memory. Wait, or restart it."));
}

void KernelSession::Private::take(events::Broken& event) {
  const QString sentence =
      QStringLiteral("The session's sockets in %1 can't be used: %2").arg(connection.ip, text(event.what));
  if (ready)
    emit q->noticed(KernelNotice::unreachable, sentence);
  else
    killBecause(sentence);
}

void KernelSession::Private::take(events::Closed& event) {
  if (event.connection == connectionNumber) closed();
}

}  // namespace tapedeck::app
