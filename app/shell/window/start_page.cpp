#include "app/shell/window/start_page.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/kernel/process/python_environment.h"
#include "app/kernel/process/short_path.h"
#include "app/shell/window/samples.h"
#include "app/shell/window/start_card.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

/// In pixels at the usual size: with less, sentences have too many lines.
constexpr int least_column = 330;

/// As many times as large as the page's text, also after the windows are scaled.
QLabel* heading(const QString& text, double times, QWidget* page) {
  auto* label = inspector::plainLabel(text);
  inspector::followFont(page, [label, page, times] {
    QFont font = page->font();
    font.setPointSizeF(font.pointSizeF() * times);
    font.setBold(true);
    label->setFont(font);
  });
  return label;
}

/// A program or a trace may stand beside a notebook of that name.
QString titleOf(const QString& path) {
  const QFileInfo file(path);
  return file.suffix() == "ipynb" ? file.completeBaseName() : file.fileName();
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  auto* page = new QWidget;
  auto* outer = new QHBoxLayout(page);
  auto* content = new QWidget;
  inspector::followFont(content, [content] { content->setMaximumWidth(inspector::scaled(1300)); });
  auto* rows = new QVBoxLayout(content);
  rows->setContentsMargins(32, 32, 32, 32);
  rows->setSpacing(12);
  outer->addStretch(1);
  outer->addWidget(content, 100);
  outer->addStretch(1);

  auto* title = new QHBoxLayout;
  auto* logo = inspector::plainLabel();
  inspector::followFont(logo, [logo] {
    logo->setPixmap(inspector::icon("tapedeck").pixmap(QSize(1, 1) * inspector::scaled(64)));
  });
  title->addWidget(logo);
  auto* names = new QVBoxLayout;
  names->addWidget(heading("Tapedeck", 2.2, this));
  names->addWidget(inspector::plainLabel("Run, step through and inspect eager models."));
  title->addLayout(names);
  title->addStretch(1);
  rows->addLayout(title);

  auto* buttons = new QHBoxLayout;
  auto* create = new QPushButton(inspector::icon("new"), "New notebook");
  create->setObjectName("newNotebook");
  create->setToolTip("Start with an empty notebook (Ctrl+N)");
  connect(create, &QPushButton::clicked, this, &StartPage::newRequested);
  auto* browse = new QPushButton(inspector::icon("open"), "Open…");
  browse->setToolTip("Open a notebook, a program or a trace (Ctrl+O)");
  connect(browse, &QPushButton::clicked, this, &StartPage::browseRequested);
  buttons->addWidget(create);
  buttons->addWidget(browse);
  auto* attach = new QPushButton("Attach to program…");
  attach->setToolTip("Attach to a Python program that is running (Ctrl+Shift+A)");
  connect(attach, &QPushButton::clicked, this, &StartPage::attachRequested);
  buttons->addWidget(attach);
  environment_ = new QPushButton;
  environment_->setObjectName("environment");
  connect(environment_, &QPushButton::clicked, this, &StartPage::environmentRequested);
  // A long name gets the room that there is; the tooltip has it whole.
  inspector::followFont(environment_, [this] { environment_->setMinimumWidth(inspector::scaled(60)); });
  buttons->addWidget(environment_);
  setEnvironment({});
  for (QPushButton* button : {create, browse, attach, environment_}) button->setAutoDefault(true);
  buttons->addStretch(1);
  rows->addLayout(buttons);

  grid_ = new QGridLayout;
  grid_->setHorizontalSpacing(20);
  grid_->setVerticalSpacing(16);
  QWidget* learn = sampleColumn(SampleKind::learn, "Learn");
  auto* below = static_cast<QVBoxLayout*>(learn->layout());
  below->insertWidget(below->count() - 1, recentNotebookList());
  below->insertWidget(below->count() - 1, torchSamples());
  columns_ = {learn, sampleColumn(SampleKind::puzzle, "Puzzles: one fault each"),
              sampleColumn(SampleKind::train, "Training, in minutes")};
  rows->addLayout(grid_);
  rows->addStretch(1);
  setWidget(page);
  placeColumns();
}

void StartPage::setEnvironment(const QString& given) {
  environment_->setText(given.isEmpty()
                            ? QString("Python…")
                            : QString("Python: %1…").arg(environmentName(given).replace("&", "&&")));
  environment_->setToolTip(inspector::plainTip(
      (given.isEmpty() ? QString("Choose the Python that the next notebook runs in, with torch for example")
                       : given) +
      " (Ctrl+Alt+Shift+Y)"));
}

QWidget* StartPage::sampleColumn(SampleKind kind, const QString& title) {
  auto* column = new QWidget;
  auto* cards = new QVBoxLayout(column);
  cards->setContentsMargins(0, 0, 0, 0);
  cards->setSpacing(4);
  cards->addWidget(heading(title, 1.3, this));
  for (const Sample& sample : samples()) {
    if (sample.kind != kind) continue;
    QString name = sample.title;
    // The heading says that it is a puzzle.
    if (kind == SampleKind::puzzle) {
      name = name.section(": ", 1);
      name[0] = name[0].toUpper();
    }
    auto* card = new StartCard(name, sample.summary, StartCard::Picture::thumbnail);
    card->setIcon(QIcon(sample.thumbnail()));
    addCard(cards, card, sample.path);
  }
  cards->addStretch(1);
  return column;
}

QWidget* StartPage::torchSamples() {
  QWidget* column = sampleColumn(SampleKind::pytorch, "Programs of PyTorch");
  auto* cards = static_cast<QVBoxLayout*>(column->layout());
  cards->setContentsMargins(0, 12, 0, 0);
  auto* need = inspector::plainLabel(
      "They run in an environment with PyTorch 2.1 or newer; the button Python… chooses it.");
  need->setObjectName("torchSamplesNeed");
  need->setWordWrap(true);
  need->setForegroundRole(QPalette::PlaceholderText);
  cards->insertWidget(1, need);
  return column;
}

QWidget* StartPage::recentNotebookList() {
  auto* column = new QWidget;
  auto* cards = new QVBoxLayout(column);
  cards->setContentsMargins(0, 12, 0, 0);
  cards->setSpacing(2);
  cards->addWidget(heading("Recent notebooks", 1.3, this));
  const QStringList recent = recentNotebooks();
  for (const QString& path : recent) {
    auto* card = new StartCard(titleOf(path), shortPath(QFileInfo(path).path()), StartCard::Picture::icon);
    card->setIcon(inspector::icon("continue"));
    addCard(cards, card, path);
  }
  if (recent.isEmpty()) {
    auto* none = inspector::plainLabel("Notebooks that you open will be listed here.");
    none->setWordWrap(true);
    none->setForegroundRole(QPalette::PlaceholderText);
    cards->addWidget(none);
  }
  return column;
}

void StartPage::addCard(QVBoxLayout* column, StartCard* card, const QString& path) {
  card->setObjectName("open:" + QFileInfo(path).fileName());
  card->setToolTip(inspector::plainTip("Open " + path));
  card->setAutoDefault(true);  // Enter presses it, too
  connect(card, &StartCard::clicked, this, [this, path] { emit openRequested(path); });
  column->addWidget(card);
}

void StartPage::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  placeColumns();
}

void StartPage::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) placeColumns();
}

void StartPage::placeColumns() {
  if (!grid_) return;
  const int room = viewport()->width() / inspector::scaled(least_column);
  const int across = std::clamp(room, 1, static_cast<int>(columns_.size()));
  if (across == across_) return;
  across_ = across;
  for (int i = 0; i < columns_.size(); ++i) {
    grid_->addWidget(columns_[i], i / across, i % across);
    grid_->setColumnStretch(i, i < across ? 1 : 0);
  }
}

}  // namespace tapedeck::app
