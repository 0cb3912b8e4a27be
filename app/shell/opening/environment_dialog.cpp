#include "app/shell/opening/environment_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/control/chosen_environments.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int typing_pause = 400;  // milliseconds
constexpr char own_python[] = "Tapedeck's own Python, without torch";

/// A path as it is typed: "~" is the home folder.
QString pathOf(const QString& typed) {
  const QString text = typed.trimmed();
  if (text == "~" || text.startsWith("~/")) return QDir::homePath() + text.mid(1);
  return text.isEmpty() ? text : QDir::cleanPath(QDir::current().absoluteFilePath(text));
}

}  // namespace

EnvironmentDialog::EnvironmentDialog(const QString& chosen, QWidget* parent) : QDialog(parent) {
  setObjectName("environmentDialog");
  setWindowTitle("Python environment");
  resize(820, 520);
  auto* rows = new QVBoxLayout(this);
  auto* what = inspector::plainLabel(
      "Cells run in this environment's Python: a folder of a virtual environment (venv), of conda or of a "
      "version of pyenv, or an interpreter. The environment is kept with the notebook.");
  what->setWordWrap(true);
  rows->addWidget(what);
  buildChoice(rows);
  verdict_ = inspector::plainLabel();
  verdict_->setObjectName("environmentVerdict");
  verdict_->setAccessibleName("What the environment can run");
  verdict_->setWordWrap(true);
  rows->addWidget(verdict_);
  needs_ = new QWidget;
  new QGridLayout(needs_);
  needs_->layout()->setContentsMargins(0, 0, 0, 0);
  rows->addWidget(needs_);
  buildInstall(rows);
  rows->addStretch(1);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  use_ = buttons->addButton("&Use", QDialogButtonBox::AcceptRole);
  use_->setObjectName("useEnvironment");
  use_->setToolTip("Run the notebook's sessions in this environment (Enter)");
  use_->setDefault(true);
  rows->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

  typing_.setSingleShot(true);
  typing_.setInterval(typing_pause);
  connect(&typing_, &QTimer::timeout, this, &EnvironmentDialog::ask);
  connect(&probe_, &EnvironmentProbe::answered, this, &EnvironmentDialog::show);
  connect(&probe_, &EnvironmentProbe::failed, this, [this](const QString& sentence) {
    showProblem(sentence, "Choose another folder or interpreter.");
  });
  connect(&module_, &ModuleInstall::progressed, this, [this](const QString& sentence, int percent) {
    step_->setText(sentence);
    progress_->setRange(0, percent < 0 ? 0 : 100);
    progress_->setValue(percent);
  });
  connect(&module_, &ModuleInstall::finished, this, &EnvironmentDialog::installed);
  field_->setText(chosen);
  field_->selectAll();
  field_->setFocus();
  ask();
}

void EnvironmentDialog::buildChoice(QVBoxLayout* rows) {
  auto* line = new QHBoxLayout;
  auto* label = inspector::plainLabel("&Environment:");
  field_ = new QLineEdit;
  field_->setObjectName("environmentPath");
  field_->setAccessibleName("Folder of the environment, or its interpreter");
  field_->setToolTip("A folder of a venv, of conda or of a pyenv version, or an interpreter");
  field_->setPlaceholderText(own_python);
  field_->setClearButtonEnabled(true);
  label->setBuddy(field_);
  line->addWidget(label);
  line->addWidget(field_, 1);
  for (const bool folder : {true, false}) {
    auto* button = new QPushButton(folder ? "&Folder…" : "&Interpreter…");
    button->setObjectName(folder ? "browseFolder" : "browseInterpreter");
    button->setToolTip(folder ? "Choose the environment's folder" : "Choose a Python program");
    button->setAutoDefault(false);
    connect(button, &QPushButton::clicked, this, [this, folder] { browse(folder); });
    line->addWidget(button);
  }
  rows->addLayout(line);
  known_ = new QListWidget;
  known_->setObjectName("knownEnvironments");
  known_->setAccessibleName("Environments that were used before");
  known_->setToolTip("Environments that were used before");
  known_->addItem(own_python);
  for (const QString& given : recentEnvironments()) {
    auto* item = new QListWidgetItem(given, known_);
    item->setData(Qt::UserRole, given);
    item->setToolTip(inspector::plainTip(given));
  }
  const int shown = std::min(known_->count(), 6);
  known_->setFixedHeight(known_->sizeHintForRow(0) * shown + 2 * known_->frameWidth() + 2);
  rows->addWidget(known_);
  connect(known_, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
    if (item) field_->setText(item->data(Qt::UserRole).toString());
  });
  connect(field_, &QLineEdit::textChanged, this, [this] {
    probe_.cancel();
    clearNeeds();
    trouble_->clear();
    use_->setEnabled(false);
    verdict_->setText("Asking the interpreter …");
    typing_.start();
  });
}

void EnvironmentDialog::buildInstall(QVBoxLayout* rows) {
  installing_ = new QWidget;
  auto* line = new QHBoxLayout(installing_);
  line->setContentsMargins(0, 0, 0, 0);
  progress_ = new QProgressBar;
  progress_->setAccessibleName("Progress of the installation");
  progress_->setFixedWidth(160);
  line->addWidget(progress_);
  step_ = inspector::plainLabel();
  step_->setObjectName("installStep");
  line->addWidget(step_, 1);
  auto* stop = new QPushButton("&Stop installing");
  stop->setObjectName("stopInstalling");
  stop->setToolTip("End the installation; what was built is kept for the next try");
  stop->setAutoDefault(false);
  connect(stop, &QPushButton::clicked, &module_, &ModuleInstall::cancel);
  line->addWidget(stop);
  installing_->hide();
  rows->addWidget(installing_);
  trouble_ = inspector::plainLabel();
  trouble_->setObjectName("installTrouble");
  trouble_->setWordWrap(true);
  trouble_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  rows->addWidget(trouble_);
}

QString EnvironmentDialog::given() const {
  return pathOf(field_->text());
}

void EnvironmentDialog::browse(bool folder) {
  const QString from = given().isEmpty() ? QDir::homePath() : given();
  const QString path = folder ? QFileDialog::getExistingDirectory(this, "Folder of the environment", from)
                              : QFileDialog::getOpenFileName(this, "Python interpreter", from);
  if (!path.isEmpty()) field_->setText(path);
}

void EnvironmentDialog::ask() {
  typing_.stop();
  clearNeeds();
  if (given().isEmpty()) {
    probe_.cancel();
    verdict_->setText("The Python that this program was built with: its module is there, torch is not used.");
    use_->setEnabled(true);
    return;
  }
  use_->setEnabled(false);
  verdict_->setText(QString("Asking %1 …").arg(given()));
  probe_.ask(given());
}

void EnvironmentDialog::showProblem(const QString& sentence, const QString& state) {
  clearNeeds();
  use_->setEnabled(false);
  verdict_->setText(sentence + " " + state);
}

void EnvironmentDialog::clearNeeds() {
  install_ = nullptr;
  // At once: what is deleted later would still be found.
  for (QWidget* child : needs_->findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) delete child;
}

void EnvironmentDialog::show(const EnvironmentFacts& facts) {
  clearNeeds();
  int open = 0, missing = 0;
  for (const EnvironmentNeed& need : needsOf(facts)) {
    addNeed(need);
    open += need.state != EnvironmentNeed::State::present;
    missing += need.state == EnvironmentNeed::State::missing;
  }
  use_->setEnabled(facts.usable() && !module_.running());
  verdict_->setText(
      open == 0 ? QString("%1: everything is there.").arg(facts.summary())
      : facts.usable()
          ? QString("%1. It can be used as it is; %2.")
                .arg(facts.summary(), missing > 0 ? "what is missing is below" : "what does not fit is below")
      : facts.pythonIsNewEnough() ? QString("%1. It can't be used yet: see below.").arg(facts.summary())
                                  : QString("It can't be used."));
}

void EnvironmentDialog::addNeed(const EnvironmentNeed& need) {
  auto* grid = static_cast<QGridLayout*>(needs_->layout());
  const int row = grid->rowCount();
  const bool present = need.state == EnvironmentNeed::State::present;
  auto* text = inspector::plainLabel((present ? "✓ " : "✗ ") + need.sentence);
  text->setObjectName("need:" + need.name);
  text->setAccessibleName(need.sentence);
  text->setWordWrap(true);
  grid->addWidget(text, row, 0, 1, need.command.isEmpty() ? 4 : 1);
  grid->setColumnStretch(0, 2);
  grid->setColumnStretch(1, 3);
  if (need.command.isEmpty()) return;
  auto* command = new QLineEdit(need.command);
  command->setObjectName("command:" + need.name);
  command->setAccessibleName("Command that installs " + need.name);
  command->setToolTip(inspector::plainTip("In a terminal: " + need.command));
  command->setReadOnly(true);
  command->setCursorPosition(0);
  grid->addWidget(command, row, 1);
  auto* copy = new QPushButton("Copy");
  copy->setObjectName("copy:" + need.name);
  copy->setAccessibleName("Copy the command that installs " + need.name);
  copy->setToolTip("Copy the command");
  copy->setAutoDefault(false);
  connect(copy, &QPushButton::clicked, this,
          [text = need.command] { QApplication::clipboard()->setText(text); });
  grid->addWidget(copy, row, 2);
  if (need.name != "tapedeck" || installScript().isEmpty()) return;
  install_ = new QPushButton(need.state == EnvironmentNeed::State::outdated ? "I&nstall again" : "I&nstall");
  install_->setObjectName("installModule");
  install_->setToolTip(
      "Build the module for this environment's Python and install it there: minutes the first time");
  install_->setAutoDefault(false);
  install_->setEnabled(!module_.running());
  connect(install_, &QPushButton::clicked, this, &EnvironmentDialog::install);
  grid->addWidget(install_, row, 3);
}

void EnvironmentDialog::install() {
  trouble_->clear();
  setInstalling(true);
  module_.start(installScript(), given());
}

void EnvironmentDialog::setInstalling(bool on) {
  installing_->setVisible(on);
  field_->setReadOnly(on);
  known_->setEnabled(!on);
  if (install_) install_->setEnabled(!on);
  if (on) use_->setEnabled(false);
}

void EnvironmentDialog::installed(bool done, const QString& sentence) {
  setInstalling(false);
  if (!done) trouble_->setText(sentence);
  ask();
}

}  // namespace tapedeck::app
