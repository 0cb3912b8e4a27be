#include "app/shell/opening/environment_control.h"

#include <algorithm>

#include "app/shell/opening/environment_dialog.h"

namespace tapedeck::app {

EnvironmentControl::EnvironmentControl(KernelSession* kernel, Document* document, MessageBar* messages,
                                       QWidget* window)
    : QObject(window), kernel_(kernel), document_(document), messages_(messages), window_(window) {
  connect(&probe_, &EnvironmentProbe::answered, this, [this](const EnvironmentFacts& own) {
    if (!own.packages.contains("torch")) offerTorch();
  });
}

void EnvironmentControl::choose() {
  auto* dialog = new EnvironmentDialog(kernel_->pythonEnvironment(), window_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog] { use(dialog->given()); });
  dialog->open();
}

void EnvironmentControl::use(const QString& given) {
  messages_->dismiss(about_environment);
  addRecentEnvironment(given);
  kernel_->setPythonEnvironment(given);
  if (entered_)
    keepEnvironment(*document_, given);
  else
    keepOnEntry_ = true;
  forStart_ = false;
  const bool runs = kernel_->state() != KernelState::stopped && kernel_->state() != KernelState::dead;
  if (runs) return offerRestart();
  emit told(given.isEmpty() ? QString("Sessions run in Tapedeck's own Python")
                            : QString("Sessions run in %1").arg(given));
}

void EnvironmentControl::offerRestart() {
  const QString given = kernel_->pythonEnvironment();
  messages_->show(MessageBar::Kind::information,
                  QString("The session that runs goes on as it is; the next one runs in %1.")
                      .arg(given.isEmpty() ? QString("Tapedeck's own Python") : given),
                  {{"Start a new session", [this] { emit restartWanted(); }}}, about_environment);
}

void EnvironmentControl::useForThisStart(const QString& given) {
  addRecentEnvironment(given);
  kernel_->setPythonEnvironment(given);
  forStart_ = true;
}

void EnvironmentControl::handOn(EnvironmentControl& other) const {
  if (forStart_) other.useForThisStart(kernel_->pythonEnvironment());
}

void EnvironmentControl::documentEntered() {
  entered_ = true;
  if (!forStart_) takeDocumentsEnvironment();
  askForTorch();
}

/// What PyTorch's programs need is said before they fail.
void EnvironmentControl::askForTorch() {
  probe_.cancel();
  if (kernel_->pythonEnvironment().isEmpty() && !messages_->shows(about_environment) &&
      importsTorch(*document_))
    probe_.ask(ownPython());
}

void EnvironmentControl::offerTorch() {
  if (!kernel_->pythonEnvironment().isEmpty()) return;
  QList<MessageBar::Choice> choices;
  const QStringList recent = recentEnvironments();
  // The one that the user chose last is most often meant.
  const auto last = std::ranges::find_if(recent, [](const QString& given) {
    QString problem;
    return !given.isEmpty() && !interpreterOf(given, &problem).isEmpty();
  });
  if (last != recent.end())
    choices << MessageBar::Choice{QString("Run it in %1").arg(environmentName(*last)),
                                  [this, given = *last] { use(given); }};
  choices << MessageBar::Choice{"Choose an environment…", [this] { choose(); }};
  messages_->show(
      MessageBar::Kind::information,
      QString("%1 imports torch, which Tapedeck's own Python doesn't have. It can run in a Python "
              "environment that has PyTorch %2.%3 or newer.")
          .arg(document_->name())
          .arg(least_torch[0])
          .arg(least_torch[1]),
      choices, about_environment);
}

/// What is not there can't be used: another one is offered.
void EnvironmentControl::tellThatItIsGone(const WantedEnvironment& wanted, const QString& problem) {
  const QString named =
      wanted.kernelspec.isEmpty()
          ? QString("%1 was last used with a Python environment that is not there.").arg(document_->name())
          : QString("%1 names the Jupyter kernel \"%2\", whose Python is not there.")
                .arg(document_->name(), wanted.kernelspec);
  messages_->show(MessageBar::Kind::information,
                  QString("%1 %2 Its sessions run in Tapedeck's own Python.").arg(named, problem),
                  {{"Choose an environment…", [this] { choose(); }}}, about_environment);
}

void EnvironmentControl::takeDocumentsEnvironment() {
  if (std::exchange(keepOnEntry_, false) && !kernel_->pythonEnvironment().isEmpty())
    return keepEnvironment(*document_, kernel_->pythonEnvironment());
  const WantedEnvironment wanted = wantedEnvironment(*document_);
  messages_->dismiss(about_environment);
  if (wanted.given == kernel_->pythonEnvironment()) return;
  if (wanted.given.isEmpty() || recentEnvironments().contains(wanted.given))
    return kernel_->setPythonEnvironment(wanted.given);
  kernel_->setPythonEnvironment({});
  if (QString problem; interpreterOf(wanted.given, &problem).isEmpty())
    return tellThatItIsGone(wanted, problem);
  const QString sentence =
      wanted.kernelspec.isEmpty()
          ? QString(
                "%1 was last used with the Python environment %2, which you have not chosen on this machine "
                "yet. Its programs would run as you.")
                .arg(document_->name(), wanted.given)
          : QString("%1 names the Jupyter kernel \"%2\", which runs %3.")
                .arg(document_->name(), wanted.kernelspec, wanted.given);
  messages_->show(MessageBar::Kind::information, sentence,
                  {{"Use it", [this, wanted] { use(wanted.given); }}}, about_environment);
}

}  // namespace tapedeck::app
