#include "app/kernel/jupyter/kernel_session.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include "app/kernel/jupyter/kernel_session_p.h"
#include "app/kernel/process/reaper.h"
#include "app/kernel/process/safe_environment.h"

namespace tapedeck::app {
namespace {

constexpr int graceMs = 1000;
constexpr int exitLimitMs = 3000;
// A session without the engine. As in SessionApp.init_path the notebook's folder is looked into last.
constexpr auto plainSession =
    "import sys\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n"
    "from ipykernel import kernelapp\n"
    "class Session(kernelapp.IPKernelApp):\n"
    "    def init_path(self):\n"
    "        sys.path.append('')\n"
    "Session.launch_instance()\n";

/// The module of this build, and what a process that imports it needs.
void findOwnModule(QProcessEnvironment& environment) {
  QStringList modules =
      environment.value(QStringLiteral("PYTHONPATH")).split(QLatin1Char(':'), Qt::SkipEmptyParts);
  modules.prepend(QStringLiteral(TAPEDECK_MODULE_DIR));
  environment.insert(QStringLiteral("PYTHONPATH"), modules.join(QLatin1Char(':')));
  for (const QString& setting :
       QStringLiteral(TAPEDECK_SESSION_ENVIRONMENT).split(QLatin1Char('|'), Qt::SkipEmptyParts))
    environment.insert(setting.section(QLatin1Char('='), 0, 0), setting.section(QLatin1Char('='), 1));
}

}  // namespace

// ---- the process ---------------------------------------------------------------------------------

KernelSession::Private::Private(KernelSession* session)
    : q(session), mailbox(std::make_shared<Mailbox>(session)) {
  worker = std::make_shared<JupyterWorker>([this, box = mailbox](std::vector<events::Event> batch) {
    box->post([this, batch = std::move(batch)]() mutable { take(std::move(batch)); });
  });
  thread = std::make_unique<SocketThread>(worker);
  connect(&finder, &InterpreterFinder::found, q,
          [this](const QString& interpreter) { launchWith(interpreter); });
  connect(&finder, &InterpreterFinder::notFound, q, [this](const QString& sentence) { failed(sentence); });
  connect(&probe, &EnvironmentProbe::answered, q, [this](const EnvironmentFacts& found) { launchIn(found); });
  connect(&probe, &EnvironmentProbe::failed, q, [this](const QString& sentence) { failed(sentence); });
  // After all other listeners of the connection: it is in use when the session becomes ready.
  connect(
      &debug, &DebugClient::connectedChanged, q,
      [this](bool connected) {
        if (connected) tellReady();
      },
      Qt::QueuedConnection);
  connect(&debug, &DebugClient::refused, q, [this](const QString& sentence) {
    engine = Engine::missing;
    withoutEngine = sentence;
    if (state == KernelState::starting) return tellReady();
    emit q->noticed(KernelNotice::withoutEngine, std::exchange(withoutEngine, {}));
  });
  startLimit.setSingleShot(true);
  connect(&startLimit, &QTimer::timeout, q, [this] {
    killBecause(QStringLiteral(
                    "The session process was started but did not answer within %1 seconds, so it was ended.")
                    .arg(launch.startLimitMs / 1000.0));
  });
  exitLimit.setSingleShot(true);
  exitLimit.setInterval(exitLimitMs);
  connect(&exitLimit, &QTimer::timeout, q, [this] {  // a thread of the user's keeps it alive
    ProcessEnd end;
    end.wasReady = end.calledExit = true;
    killBecause(deathSentence(end));
  });
}

KernelSession::Private::~Private() {
  finder.cancel();
  probe.cancel();
  mailbox->close();
  const bool runs = begun || busyForOthers;
  if (process) {
    process->disconnect(q);
    if (ready) post([](JupyterWorker& jupyter) { jupyter.requestShutdown(false); });
  }
  auto debugThread = debug.releaseToEnd();
  if (runs && !endsOnRequest()) interruptProcess();
  // A session that can't hear the request: its grace would be lost time.
  const bool hears = ready && (runs || working() == KernelState::idle);
  Reaper::instance().reap(std::move(process), std::move(thread), std::move(runtime), std::move(debugThread),
                          hears ? graceMs : 0);
}

void KernelSession::Private::post(std::function<void(JupyterWorker&)> work) {
  thread->post([jupyter = worker, work = std::move(work)] { work(*jupyter); });
}

void KernelSession::Private::setState(KernelState to, const QString& sentence) {
  if (state == to && sentence.isEmpty()) return;
  state = to;
  if (process) process->setWorking(to != KernelState::idle);
  emit q->stateChanged(to, sentence);
}

KernelState KernelSession::Private::working() const {
  return unfinished > 0 || busyForOthers ? KernelState::busy : KernelState::idle;
}

void KernelSession::Private::showWorking() {
  if (state == KernelState::idle || state == KernelState::busy) setState(working());
}

QProcessEnvironment KernelSession::Private::environment() const {
  // The session runs in the notebook's folder, which may be anybody's: the linker and Python would look there
  // for their own files, too, before any line of the session's program.
  QProcessEnvironment result = safeEnvironment();
  result.insert(QStringLiteral("JPY_PARENT_PID"), QString::number(QCoreApplication::applicationPid()));
  if (facts)
    enterEnvironment(result);
  else
    findOwnModule(result);
  result.remove(QStringLiteral("TAPEDECK_PROGRAM"));
  if (!program.isEmpty()) result.insert(QStringLiteral("TAPEDECK_PROGRAM"), program);
  for (auto item = launch.environment.cbegin(); item != launch.environment.cend(); ++item)
    result.insert(item.key(), item.value());
  return result;
}

void KernelSession::Private::begin() {
  ready = busyForOthers = calledExit = begun = interruptOnBegin = false;
  engine = Engine::unknown;
  afterwards = Afterwards::dead;
  endSentence.clear();
  setState(KernelState::starting);
  for (const auto& [cell, code] : std::exchange(held, {})) q->execute(cell, code);
  try {
    if (!QFileInfo(folder).isDir())
      throw std::runtime_error(QStringLiteral("The folder %1 does not exist, so no session can run in it.")
                                   .arg(folder)
                                   .toStdString());
    RuntimeFolder::removeStale();
    runtime = std::make_unique<RuntimeFolder>();
    connection = makeConnection(runtime->path(), launch.transport);
    writeConnectionFile(connection);
  } catch (const std::exception& error) {
    return failed(QString::fromUtf8(error.what()));
  }
  own = false;
  if (!plainInterpreter.isEmpty()) return launchWith(QString(plainInterpreter));
  facts.reset();
  startedIn = launch.arguments.isEmpty() ? chosen : QString();
  if (!startedIn.isEmpty()) return probe.ask(startedIn);
  if (launch.arguments.isEmpty()) return finder.find(launch.interpreter, environment());
  QStringList arguments = launch.arguments;
  arguments.replaceInStrings(QStringLiteral("{connection_file}"), connection.file);
  const QString program = arguments.takeFirst();
  startProcess(program, arguments);
}

void KernelSession::Private::launchWith(const QString& interpreter) {
  launchModule(interpreter, QStringLiteral(TAPEDECK_MODULE_DIR "/tapedeck"));
}

void KernelSession::Private::launchModule(const QString& interpreter, const QString& module) {
  // Without the package there is still a notebook: plain ipykernel runs the cells, and nothing can be
  // inspected.
  const QString session = module + QStringLiteral("/session.py");
  own = plainInterpreter.isEmpty() && !module.isEmpty() && QFileInfo::exists(session);
  if (plainInterpreter.isEmpty() && !own)
    withoutEngine = facts
                        ? QStringLiteral(
                              "Tapedeck's module is not installed in %1, so this session runs without it: "
                              "nothing can be stepped. Python environment in the menu Session installs it.")
                              .arg(facts->given)
                        : QStringLiteral(
                              "Tapedeck's Python module is not built (there is no %1), so this session runs "
                              "without it: nothing can be stepped.")
                              .arg(session);
  plainInterpreter.clear();
  // By its path, and not with -m, which imports from the notebook's folder first.
  const QStringList start =
      own ? QStringList{session} : QStringList{QStringLiteral("-c"), QLatin1String(plainSession)};
  startProcess(interpreter, start + QStringList{QStringLiteral("-f"), connection.file});
}

void KernelSession::Private::startProcess(const QString& program, QStringList arguments) {
  process = std::make_unique<SessionProcess>();
  connect(process.get(), &SessionProcess::ended, q,
          [this](const ProcessEnd& end, const QString& sentence) { processEnded(end, sentence); });
  post([to = connection, number = ++connectionNumber,
        limits =
            JupyterWorker::Limits{std::chrono::milliseconds(launch.silenceLimitMs), launch.largestMessage}](
           JupyterWorker& jupyter) { jupyter.open(to, number, limits); });
  startLimit.start(launch.startLimitMs);
  process->start(program, arguments, environment(), folder);
}

void KernelSession::Private::killBecause(const QString& sentence) {
  if (!process) return;
  endSentence = sentence;
  process->kill();
}

void KernelSession::Private::interruptProcess() {
  // Before it is ready an interrupt would end the process: it is still importing its own modules.
  if (!ready || !process) return;
  if (launch.interruptByMessage)
    post([](JupyterWorker& jupyter) { jupyter.interruptByMessage(); });
  else
    process->interrupt();
}

void KernelSession::Private::interruptCell() {
  // Between two cells the process does not hear it; and two at once could end ipykernel's own work on the
  // first.
  const bool onItsWay = unfinished > 0 && !begun && !busyForOthers;
  if (!onItsWay || interruptOnBegin) return interruptProcess();
  interruptOnBegin = true;
}

// The debug connection stays until the process is gone: a program that is stopped must not run on. It is
// interrupted where it is, and its `finally` blocks have the grace.
void KernelSession::Private::endProcess(Afterwards what) {
  const bool again = endsOnRequest();
  afterwards = what;
  startLimit.stop();
  debug.leaveToEnd();
  const bool restart = what == Afterwards::startAgain;
  post([restart](JupyterWorker& jupyter) {
    jupyter.abortQueue();
    jupyter.requestShutdown(restart);
  });
  if (ready && !again && !interruptOnBegin && working() == KernelState::busy) interruptCell();
  process->endWithin(ready ? graceMs : 0);
}

/// The engine is built for one version of Python: another interpreter can't load it.
bool KernelSession::Private::engineFailed(const ProcessEnd& end) const {
  return own && !ready && afterwards == Afterwards::dead && endSentence.isEmpty() && !end.signalled &&
         (end.errors.contains(QLatin1String("ImportError")) ||
          end.errors.contains(QLatin1String("ModuleNotFoundError")));
}

void KernelSession::Private::processEnded(const ProcessEnd& end, const QString& sentence) {
  startLimit.stop();
  exitLimit.stop();
  ProcessEnd known = end;
  known.wasReady = ready;
  known.calledExit = calledExit && !end.signalled;
  if (engineFailed(known)) {
    afterwards = Afterwards::startPlain;
    plainInterpreter = process->program();
    withoutEngine =
        QStringLiteral("Tapedeck's engine can't be loaded by %1, so this session runs without it: %2")
            .arg(plainInterpreter, known.errors.trimmed().section(QLatin1Char('\n'), -1));
  } else if (endSentence.isEmpty()) {
    endSentence = sentence.isEmpty() ? deathSentence(known) : sentence;
  }
  const bool keepQueue = afterwards == Afterwards::startPlain;
  post([keepQueue](JupyterWorker& jupyter) { jupyter.close(keepQueue); });
}

void KernelSession::Private::closed() {
  if (process) process.release()->deleteLater();
  debug.close();
  runtime.reset();
  ready = false;
  engine = Engine::unknown;
  if (afterwards != Afterwards::startPlain) withoutEngine.clear();
  const QString sentence = std::exchange(endSentence, {});
  // Cells that were given after the worker had told of its end must not wait for the next process.
  if (afterwards == Afterwards::dead || afterwards == Afterwards::stopped)
    post([](JupyterWorker& jupyter) { jupyter.abortQueue(); });
  switch (afterwards) {
    case Afterwards::startAgain:
    case Afterwards::startPlain:
      return begin();
    case Afterwards::stopped:
      return setState(KernelState::stopped);
    case Afterwards::dead:
      return setState(KernelState::dead, sentence);
  }
}

void KernelSession::Private::failed(const QString& sentence) {
  runtime.reset();
  post([](JupyterWorker& jupyter) { jupyter.abortQueue(); });
  setState(KernelState::dead, sentence);
}

// ---- what the window asks for --------------------------------------------------------------------

KernelSession::KernelSession(QObject* parent) : Kernel(parent), d_(std::make_unique<Private>(this)) {}

KernelSession::~KernelSession() {
  d_.reset();
}

void KernelSession::setLaunch(const KernelLaunch& launch) {
  d_->launch = launch;
}
void KernelSession::setProgram(const QString& path) {
  d_->program = path;
}

void KernelSession::start(const QString& folder) {
  d_->folder = folder.isEmpty() ? QDir::homePath() : folder;
  restart();
}

void KernelSession::restart() {
  if (d_->folder.isEmpty()) d_->folder = QDir::homePath();
  d_->plainInterpreter.clear();
  d_->withoutEngine.clear();
  d_->finder.cancel();
  d_->probe.cancel();
  if (!d_->process) {
    d_->runtime.reset();
    return d_->begin();
  }
  d_->endProcess(Private::Afterwards::startAgain);
  d_->setState(KernelState::starting);
}

void KernelSession::shutdown() {
  d_->finder.cancel();
  d_->probe.cancel();
  for (const auto& [cell, code] : std::exchange(d_->held, {}))
    emit executionFinished(cell, QStringLiteral("aborted"), 0);
  if (d_->process) return d_->endProcess(Private::Afterwards::stopped);
  d_->runtime.reset();
  d_->post([](JupyterWorker& jupyter) { jupyter.abortQueue(); });
  d_->setState(KernelState::stopped);
}

void KernelSession::interrupt() {
  d_->post([](JupyterWorker& jupyter) { jupyter.abortQueue(); });
  d_->interruptCell();
}

KernelState KernelSession::state() const {
  return d_->state;
}

Engine KernelSession::engine() const {
  return d_->engine;
}

qint64 KernelSession::processId() const {
  return d_->process ? d_->process->processId() : 0;
}

void KernelSession::execute(const QString& cellId, const QString& code) {
  if (d_->state == KernelState::stopped || d_->state == KernelState::dead) {
    QMetaObject::invokeMethod(
        this, [this, cellId] { emit executionFinished(cellId, QStringLiteral("aborted"), 0); },
        Qt::QueuedConnection);
  } else if (d_->process && d_->afterwards == Private::Afterwards::startAgain) {
    d_->held.append({cellId, code});
  } else {
    ++d_->unfinished;
    d_->post([cell = cellId.toStdString(), text = code.toStdString()](JupyterWorker& jupyter) {
      jupyter.execute(cell, text);
    });
    d_->showWorking();
  }
}

void KernelSession::sendInput(const QString& text) {
  d_->post([value = text.toStdString()](JupyterWorker& jupyter) { jupyter.input(value); });
}

void KernelSession::complete(quint64 request, const QString& code, int cursorPosition) {
  d_->completion = request;
  d_->post([request, text = code.toStdString(), cursorPosition](JupyterWorker& jupyter) {
    jupyter.complete(request, text, cursorPosition);
  });
}

void KernelSession::inspect(quint64 request, const QString& code, int cursorPosition) {
  d_->post([request, text = code.toStdString(), cursorPosition](JupyterWorker& jupyter) {
    jupyter.inspect(request, text, cursorPosition);
  });
}

inspector::Source* KernelSession::debugSource() {
  return &d_->debug;
}

}  // namespace tapedeck::app
