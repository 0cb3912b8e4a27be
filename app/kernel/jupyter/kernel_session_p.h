// The inside of KernelSession; see kernel_session.h.
#pragma once

#include <QHash>
#include <QList>
#include <QPair>
#include <QProcessEnvironment>
#include <QTimer>
#include <functional>
#include <optional>

#include "app/kernel/debug/debug_client.h"
#include "app/kernel/jupyter/jupyter_worker.h"
#include "app/kernel/jupyter/kernel_session.h"
#include "app/kernel/mailbox.h"
#include "app/kernel/process/interpreter_finder.h"
#include "app/kernel/process/python_environment.h"
#include "app/kernel/process/runtime_folder.h"
#include "app/kernel/process/session_process.h"

namespace tapedeck::app {

/// One turn of a session: search for the interpreter, process, connection, end. The end has three steps: the
/// process is gone (processEnded), what it sent has been read (Closed), and then what was asked for follows
/// (closed).
struct KernelSession::Private {
  enum class Afterwards { dead, stopped, startAgain, startPlain };

  explicit Private(KernelSession* session);
  ~Private();

  // kernel_session.cpp: the process
  void begin();
  void launchWith(const QString& interpreter);
  /// `module`: the folder of the package there; empty: it has none, and plain ipykernel runs the cells.
  void launchModule(const QString& interpreter, const QString& module);
  void startProcess(const QString& program, QStringList arguments);
  bool engineFailed(const ProcessEnd& end) const;
  void endProcess(Afterwards what);
  void processEnded(const ProcessEnd& end, const QString& sentence);
  void closed();
  void failed(const QString& sentence);
  void killBecause(const QString& sentence);
  void interruptProcess();
  /// As soon as the cell that was sent last runs.
  void interruptCell();
  bool endsOnRequest() const {
    return afterwards == Afterwards::stopped || afterwards == Afterwards::startAgain;
  }
  void setState(KernelState to, const QString& sentence = {});
  /// Idle or busy: follows the cells that were sent and are not finished, not the process's own state, which
  /// arrives a moment later.
  KernelState working() const;
  void showWorking();
  void post(std::function<void(JupyterWorker&)> work);
  QProcessEnvironment environment() const;

  // kernel_environment.cpp: an environment that was chosen
  void launchIn(const EnvironmentFacts& found);
  void enterEnvironment(QProcessEnvironment& result) const;

  // kernel_events.cpp: what the socket thread tells
  void take(std::vector<events::Event> batch);
  void take(events::Ready& event);
  void lookForEngine(const nlohmann::json& info);
  void tellReady();
  void take(events::Started& event);
  void take(events::Timed& event);
  void take(events::Output& event);
  void take(events::LeftOut& event);
  void take(events::Cleared& event);
  void take(events::DisplayUpdated& event);
  void take(events::Finished& event);
  void take(events::ExitAsked& event);
  void take(events::InputRequested& event);
  void take(events::Completed& event);
  void take(events::Inspected& event);
  void take(events::BusyForOthers& event);
  void take(events::Answering& event);
  void take(events::Broken& event);
  void take(events::Closed& event);

  KernelSession* q;
  std::shared_ptr<Mailbox> mailbox;
  KernelLaunch launch;
  QString program;  ///< the cells are those of this Python file; empty: a notebook's
  QString folder;
  KernelState state = KernelState::stopped;
  InterpreterFinder finder;
  EnvironmentProbe probe;
  QString chosen, startedIn;              ///< environments; empty: the app's own
  std::optional<EnvironmentFacts> facts;  ///< of startedIn
  std::unique_ptr<RuntimeFolder> runtime;
  std::unique_ptr<SessionProcess> process;
  Connection connection;
  std::uint64_t connectionNumber = 0;
  Afterwards afterwards = Afterwards::dead;
  QString endSentence;         ///< the message on the end, where it is known before the process is gone
  bool ready = false;          ///< the process has answered
  int unfinished = 0;          ///< cells given to the worker whose end it has not reported
  bool busyForOthers = false;  ///< with a cell of another program
  bool begun = false;          ///< the first of the unfinished cells has reported that it runs
  bool interruptOnBegin = false;
  nlohmann::json info;  ///< kernel_info_reply's content
  bool calledExit = false;
  bool own = false;       ///< the process is the app's own session module
  QString withoutEngine;  ///< why this process has no engine, where that is known before it is ready
  Engine engine = Engine::unknown;
  QString plainInterpreter;  ///< run plain ipykernel with it this time: the engine can't be loaded
  QTimer startLimit, exitLimit;
  QList<QPair<QString, QString>> held;  ///< cells for the process that starts after this one's end
  quint64 completion = 0;
  DebugClient debug;
  std::shared_ptr<JupyterWorker> worker;
  std::unique_ptr<SocketThread> thread;
};

}  // namespace tapedeck::app
