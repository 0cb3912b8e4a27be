#include "app/shell/window/start_page.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

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
  inspector::followFont(content, [content] { content->setMaximumWidth(inspector::scaled(980)); });
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
  names->addWidget(inspector::plainLabel("Run, step and look into eager models."));
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
  attach->setToolTip("Look into a program that runs by itself (Ctrl+Shift+A)");
  connect(attach, &QPushButton::clicked, this, &StartPage::attachRequested);
  buttons->addWidget(attach);
  for (QPushButton* button : {create, browse, attach}) button->setAutoDefault(true);
  buttons->addStretch(1);
  rows->addLayout(buttons);

  auto* columns = new QGridLayout;
  columns->setHorizontalSpacing(24);
  auto* sampleColumn = new QVBoxLayout;
  sampleColumn->addWidget(heading("Samples", 1.3, this));
  for (const Sample& sample : samples()) addCard(sampleColumn, sample.title, sample.summary, sample.path);
  sampleColumn->addStretch(1);
  auto* recentColumn = new QVBoxLayout;
  recentColumn->addWidget(heading("Recent notebooks", 1.3, this));
  const QStringList recent = recentNotebooks();
  for (const QString& path : recent)
    addCard(recentColumn, titleOf(path), shortPath(QFileInfo(path).path()), path);
  if (recent.isEmpty()) {
    auto* none = inspector::plainLabel("Notebooks that you open will be listed here.");
    none->setWordWrap(true);
    none->setForegroundRole(QPalette::PlaceholderText);
    recentColumn->addWidget(none);
  }
  recentColumn->addStretch(1);
  columns->addLayout(sampleColumn, 0, 0);
  columns->addLayout(recentColumn, 0, 1);
  columns->setColumnStretch(0, 1);
  columns->setColumnStretch(1, 1);
  rows->addLayout(columns);
  rows->addStretch(1);
  setWidget(page);
}

void StartPage::addCard(QVBoxLayout* column, const QString& title, const QString& text, const QString& path) {
  auto* card = new StartCard(title, text);
  card->setObjectName("open:" + QFileInfo(path).fileName());
  card->setToolTip(inspector::plainTip("Open " + path));
  card->setIcon(inspector::icon("continue"));
  card->setAutoDefault(true);  // Enter presses it, too
  connect(card, &StartCard::clicked, this, [this, path] { emit openRequested(path); });
  column->addWidget(card);
}

}  // namespace tapedeck::app
