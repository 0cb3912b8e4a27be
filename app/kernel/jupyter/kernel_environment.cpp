// A session in an environment that the user chose: its interpreter, and the module that is installed there.
#include <QDir>
#include <QFileInfo>

#include "app/kernel/jupyter/kernel_session_p.h"

namespace tapedeck::app {

void KernelSession::setPythonEnvironment(const QString& given) {
  if (d_->chosen == given) return;
  d_->chosen = given;
  emit environmentChanged();
}

QString KernelSession::pythonEnvironment() const {
  return d_->chosen;
}

const EnvironmentFacts* KernelSession::environmentFacts() const {
  return d_->facts ? &*d_->facts : nullptr;
}

QString KernelSession::title() const {
  // Of the process that runs; of the next one, where none does.
  const bool runs = state() != KernelState::stopped && state() != KernelState::dead;
  const QString given = runs && d_->process ? d_->startedIn : d_->chosen;
  return given.isEmpty() ? QStringLiteral("session") : QStringLiteral("session in ") + environmentName(given);
}

void KernelSession::Private::launchIn(const EnvironmentFacts& found) {
  facts = found;
  emit q->environmentChanged();
  if (!found.usable()) {
    QStringList reasons;
    for (const EnvironmentNeed& need : needsOf(found))
      if (need.name == QLatin1String("python") || need.name == QLatin1String("ipykernel"))
        if (need.state != EnvironmentNeed::State::present)
          reasons << need.sentence + QLatin1Char('.') +
                         (need.command.isEmpty() ? QString()
                                                 : QStringLiteral(" Install it: ") + need.command);
    return failed(
        QStringLiteral("No session can run in %1. %2").arg(found.given, reasons.join(QLatin1Char(' '))));
  }
  launchModule(found.interpreter, found.module);
}

/// As its activation does: programs that cells start, pip above all, are the environment's.
void KernelSession::Private::enterEnvironment(QProcessEnvironment& result) const {
  const QFileInfo interpreter(facts->interpreter);
  const QString prefix = QDir::cleanPath(interpreter.dir().filePath(QStringLiteral("..")));
  result.remove(QStringLiteral("PYTHONHOME"));
  result.insert(QStringLiteral("PATH"),
                interpreter.path() + QLatin1Char(':') +
                    result.value(QStringLiteral("PATH"), QStringLiteral("/usr/bin:/bin")));
  for (const auto& [variable, mark] :
       {std::pair("VIRTUAL_ENV", "pyvenv.cfg"), std::pair("CONDA_PREFIX", "conda-meta")})
    if (QFileInfo::exists(prefix + QLatin1Char('/') + QLatin1String(mark)))
      result.insert(QLatin1String(variable), prefix);
    else
      result.remove(QLatin1String(variable));
}

}  // namespace tapedeck::app
