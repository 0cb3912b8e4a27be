#include "inspector/panels/health/health_view.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/model/what_if/why.h"
#include "inspector/panels/health/health_curves.h"
#include "inspector/panels/health/health_pairs.h"
#include "inspector/panels/health/health_runs.h"
#include "inspector/panels/health/health_table.h"
#include "inspector/panels/health/health_text.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/sentence_area.h"

namespace tapedeck::inspector {

namespace {

enum FindingColumn { severity_column, finding_column, run_column, where_column, finding_columns };

constexpr int most_listed_rows = 4, most_sentence_lines = 4;

}  // namespace

struct HealthView::Private {
  Private(HealthView* view, CellNames& cells, WhyModel& why) : view(view), cells(cells), why(why) {}

  HealthView* view;
  CellNames& cells;
  WhyModel& why;
  HealthModel* model = nullptr;
  HealthRunsBox* runs = nullptr;
  ElidingLabel* sampling = nullptr;
  SentenceArea* sentence = nullptr;
  QTreeWidget* findings = nullptr;
  QStackedWidget* pages = nullptr;
  HealthTable* table = nullptr;
  QTableView* pairs = nullptr;
  HealthPairsModel* pairRows = nullptr;
  HealthCurves* curves = nullptr;
  QSplitter* splitter = nullptr;
  QWidget* pageButtons = nullptr;
  bool touched = false;  ///< the user did something on the page since the panel's key led there
  QToolButton* checkButton = nullptr;
  QAction *show = nullptr, *check = nullptr, *layers = nullptr, *optimiser = nullptr, *more = nullptr,
          *cancel = nullptr, *next = nullptr, *previous = nullptr, *everyRun = nullptr;

  // ---- made once
  void makeActions();
  QLayout* makeBar();
  void makeFindings();
  void makePages();
  void connectAll();
  // ---- what is shown
  QString where(const protocol::HealthFinding& finding) const;
  QString runText(quint64 number) const;
  QString nothingFound() const;
  void showState();
  void showFindings();
  void showSentence();
  void showPage(bool published);
  void lead();
  void fit();
  const protocol::HealthFinding* chosen() const;  ///< nullptr: none is
  void checkNow();
};

// ---- made once

void HealthView::Private::makeActions() {
  show = new QAction(QStringLiteral("Go to the op"), view);
  setKey(show, {Qt::Key_Return, Qt::Key_Enter},
         QStringLiteral("Move the cursor to the op that the finding is about"));
  show->setShortcutContext(Qt::WidgetShortcut);
  check = addKeyedAction(view, QStringLiteral("Check now"), {Qt::Key_C},
                         QStringLiteral("Compare this custom gradient with finite differences: Is this "
                                        "gradient right?"));
  layers = addKeyedAction(view, QStringLiteral("Layers"), {Qt::Key_V},
                          QStringLiteral("Variables and activations over the steps"));
  optimiser = addKeyedAction(view, QStringLiteral("Optimiser"), {Qt::Key_B},
                             QStringLiteral("An optimiser's own figures: the pairs of L-BFGS"));
  more = addKeyedAction(view, QStringLiteral("More steps"), {Qt::Key_M},
                        QStringLiteral("Recompute twice as many of the steps that ran"));
  cancel = addKeyedAction(view, QStringLiteral("Stop recomputing"), {Qt::Key_Escape},
                          QStringLiteral("Recompute no further steps"));
  next =
      addKeyedAction(view, QStringLiteral("Next run"), {Qt::Key_N}, QStringLiteral("The next run of a cell"));
  previous = addKeyedAction(view, QStringLiteral("Previous run"), {Qt::Key_P},
                            QStringLiteral("The previous run of a cell"));
  everyRun = addKeyedAction(view, QStringLiteral("Newest runs"), {Qt::Key_E},
                            QStringLiteral("The findings of the newest run of each cell"));
  layers->setCheckable(true);
  optimiser->setCheckable(true);
  layers->setChecked(true);
}

QLayout* HealthView::Private::makeBar() {
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 2, 4, 0);
  bar->setSpacing(4);
  runs = new HealthRunsBox(model, &cells, view);
  bar->addWidget(runs);
  sampling = new ElidingLabel(Qt::ElideRight, view);
  sampling->setObjectName(QStringLiteral("healthSampling"));
  sampling->setAccessibleName(QStringLiteral("How Health samples"));
  bar->addWidget(sampling, 1);
  pageButtons = segmentRow({layers, optimiser}, view);
  bar->addWidget(pageButtons);
  for (QAction* action : {more, cancel}) {
    auto* button = new QToolButton(view);
    button->setDefaultAction(action);
    button->setAutoRaise(true);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    bar->addWidget(button);
    button->setVisible(action->isVisible());
    QObject::connect(action, &QAction::changed, button,
                     [button, action] { button->setVisible(action->isEnabled()); });
  }
  return bar;
}

void HealthView::Private::makeFindings() {
  findings = makeRowList(
      view, QStringLiteral("healthFindings"), QStringLiteral("What is wrong"),
      {QStringLiteral("Kind"), QStringLiteral("Finding"), QStringLiteral("Run"), QStringLiteral("Where")});
  findings->setFrameShape(QFrame::NoFrame);
  stretchColumn(findings, finding_column);
  findings->addActions({show, check});
  findings->setContextMenuPolicy(Qt::ActionsContextMenu);
  sentence = new SentenceArea(QStringLiteral("healthSentence"), most_sentence_lines, view);
  checkButton = new QToolButton(view);
  checkButton->setObjectName(QStringLiteral("healthCheckNow"));
  checkButton->setDefaultAction(check);
  checkButton->setToolButtonStyle(Qt::ToolButtonTextOnly);
  checkButton->setAccessibleName(QStringLiteral("Check this custom gradient now"));
}

void HealthView::Private::makePages() {
  table = new HealthTable(model, view);
  pairs = new QTableView(view);
  pairRows = new HealthPairsModel(model, pairs);
  pairs->setModel(pairRows);
  pairs->setObjectName(QStringLiteral("healthPairs"));
  pairs->setAccessibleName(QStringLiteral("The optimiser's figures, step by step"));
  pairs->setSelectionBehavior(QAbstractItemView::SelectRows);
  pairs->setSelectionMode(QAbstractItemView::SingleSelection);
  pairs->setShowGrid(false);
  pairs->setFrameShape(QFrame::NoFrame);
  pairs->setTabKeyNavigation(false);
  pairs->verticalHeader()->hide();
  followFont(pairs, [table = pairs] {
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().lineSpacing() + 6);
  });
  pairs->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  pages = new QStackedWidget(view);
  pages->addWidget(table);
  pages->addWidget(pairs);
  for (QTableView* page : {static_cast<QTableView*>(table), pairs}) {
    page->installEventFilter(view);
    page->viewport()->installEventFilter(view);
  }
  curves = new HealthCurves(model, view);
}

void HealthView::Private::connectAll() {
  const auto go = [this] { model->show(findings->indexOfTopLevelItem(findings->currentItem())); };
  QObject::connect(show, &QAction::triggered, view, go);
  QObject::connect(findings, &QTreeWidget::itemClicked, view, go);
  QObject::connect(findings, &QTreeWidget::currentItemChanged, view, [this] { showSentence(); });
  QObject::connect(check, &QAction::triggered, view, [this] { checkNow(); });
  QObject::connect(&why, &WhyModel::changed, view, [this] {
    const WhyAnswer* answer = why.answer();
    if (!why.asking() && answer && answer->question == Question::check) model->judgeAgain();
  });
  QObject::connect(layers, &QAction::triggered, view, [this] { showPage(false); });
  QObject::connect(optimiser, &QAction::triggered, view, [this] { showPage(true); });
  QObject::connect(more, &QAction::triggered, model, &HealthModel::sampleMore);
  QObject::connect(cancel, &QAction::triggered, model, &HealthModel::cancel);
  QObject::connect(next, &QAction::triggered, view, [this] { model->stepRun(1); });
  QObject::connect(previous, &QAction::triggered, view, [this] { model->stepRun(-1); });
  QObject::connect(everyRun, &QAction::triggered, view, [this] { model->setRun(-1); });
  const auto goToPair = [this](const QModelIndex& index) {
    model->showRecord(pairRows->recordAt(index.row()));
  };
  QObject::connect(pairs, &QTableView::clicked, view, goToPair);
  QObject::connect(pairs, &QTableView::activated, view, goToPair);
  QObject::connect(model, &HealthModel::changed, view, [this] { showState(); });
  QObject::connect(model, &HealthModel::findingsChanged, view, [this] { showFindings(); });
  QObject::connect(&cells, &CellNames::changed, view, [this] { showFindings(); });
}

// ---- what is shown

QString HealthView::Private::where(const protocol::HealthFinding& finding) const {
  QString text;
  if (!finding.cell.empty())
    text = cells.name(QString::fromStdString(finding.cell), finding.record);
  else if (!finding.file.empty())
    text = QFileInfo(QString::fromStdString(finding.file)).fileName();
  if (finding.line)
    text += (text.isEmpty() ? QStringLiteral("line %1") : QStringLiteral(" line %1")).arg(finding.line);
  return text;
}

QString HealthView::Private::runText(quint64 number) const {
  const protocol::HealthRun* run = model->runOf(number);
  return run ? healthRunText(*run, cells) : QString();
}

QString HealthView::Private::nothingFound() const {
  QString text = QStringLiteral("✔ None of the rules found anything wrong in the steps that were sampled.");
  const protocol::HealthRun* run = model->shownRun();
  if (run && model->run() >= 0)
    text = QStringLiteral("✔ None of the rules found anything wrong in the steps of %1 that were sampled.")
               .arg(healthRunText(*run, cells));
  const QString unseen = run ? model->notSeen(run->number) : QString();
  return unseen.isEmpty() ? text : text + QLatin1Char('\n') + unseen;
}

void HealthView::Private::showState() {
  QString text = model->howSampled();
  const protocol::HealthRun* run = model->shownRun();
  const bool several = model->runs().size() > 1;
  if (several && run) text = healthRunText(*run, cells) + QStringLiteral(": ") + text;
  if (!model->problem().isEmpty()) text += QStringLiteral(" · ") + model->problem();
  sampling->setText(text);
  const bool published = !model->published().empty();
  pageButtons->setVisible(published);
  optimiser->setEnabled(published);
  if (!published && pages->currentIndex() == 1) showPage(false);
  more->setEnabled(!model->recomputing() && run && run->steps > run->sampled + run->gone);
  for (QAction* action : {next, previous, everyRun}) action->setEnabled(several);
  findings->setColumnHidden(run_column, !several);
  if (findings->topLevelItemCount() == 0) showSentence();
  cancel->setEnabled(model->recomputing());
}

void HealthView::Private::showFindings() {
  const int before = findings->indexOfTopLevelItem(findings->currentItem());
  const bool kept =
      before >= 0 && findings->topLevelItemCount() == static_cast<int>(model->findings().size());
  findings->clear();
  for (const protocol::HealthFinding& finding : model->findings()) {
    const QString text = QString::fromStdString(finding.sentence);
    auto* item = new QTreeWidgetItem(
        findings, {severityText(finding.severity), text, runText(finding.run), where(finding)});
    const QString tip = text + QLatin1Char('\n') + QString::fromStdString(finding.cure) +
                        QStringLiteral("\nEnter or a click goes to the op.");
    for (int column = 0; column < finding_columns; ++column) item->setToolTip(column, plainTip(tip));
    item->setData(finding_column, Qt::AccessibleTextRole, text);
  }
  if (findings->topLevelItemCount() > 0) findings->setCurrentItem(findings->topLevelItem(kept ? before : 0));
  show->setEnabled(findings->topLevelItemCount() > 0);
  showSentence();
  fit();
}

void HealthView::Private::showSentence() {
  const protocol::HealthFinding* finding = chosen();
  check->setEnabled(finding && finding->check);
  checkButton->setVisible(check->isEnabled());
  QString text;
  if (finding) {
    text = QString::fromStdString(finding->sentence) + QStringLiteral("\n→ ") +
           QString::fromStdString(finding->cure);
    if (const QString unseen = model->notSeen(finding->run); !unseen.isEmpty())
      text += QLatin1Char('\n') + unseen;
  } else if (const protocol::HealthRun* run = model->shownRun(); model->judged() && run && run->sampled > 0) {
    text = nothingFound();
  }
  sentence->setText(text);
  sentence->setVisible(!text.isEmpty());
}

const protocol::HealthFinding* HealthView::Private::chosen() const {
  const int row = findings->indexOfTopLevelItem(findings->currentItem());
  const auto count = static_cast<int>(model->findings().size());
  return row >= 0 && row < count ? &model->findings()[static_cast<std::size_t>(row)] : nullptr;
}

/// Why gives the answer; the finding changes when it is there.
void HealthView::Private::checkNow() {
  const protocol::HealthFinding* finding = chosen();
  if (!finding || !finding->check) return;
  WhySubject subject;
  subject.record = finding->record;
  if (finding->tensor) subject.tensor = *finding->tensor;
  model->show(findings->indexOfTopLevelItem(findings->currentItem()));
  why.setSubject(subject);
  why.ask(Question::check);
}

void HealthView::Private::showPage(bool published) {
  layers->setChecked(!published);
  optimiser->setChecked(published);
  pages->setCurrentIndex(published ? 1 : 0);
  lead();
  const auto groups = model->published();
  if (published && !groups.empty()) {
    // Where there are several groups, the key again shows the next one.
    std::size_t next = 0;
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i]->subject == model->selected()) next = (i + 1) % groups.size();
    model->select(groups[next]->subject);
  } else if (const auto index = table->currentIndex(); index.isValid()) {
    if (const protocol::HealthRow* row = model->row(index.row())) model->select(row->subject);
  }
}

/// The keyboard goes to the findings, or to the page below where there are none to be seen.
void HealthView::Private::lead() {
  view->setFocusProxy(findings->topLevelItemCount() > 0 ? findings : pages->currentWidget());
}

/// The list is as high as its rows, up to a few.
void HealthView::Private::fit() {
  const int rows = findings->topLevelItemCount();
  const int most = std::clamp(view->height() / 110, 2, most_listed_rows);
  const bool worked = findings->hasFocus();
  // The panel's key came before the findings.
  const bool waited = pages->currentWidget()->hasFocus() && !touched && findings->isHidden();
  lead();
  findings->setVisible(rows > 0);
  if ((worked && rows == 0) || (waited && rows > 0)) view->setFocus();
  if (rows == 0) return;
  findings->setFixedHeight(findings->header()->sizeHint().height() +
                           std::min(rows, most) * findings->sizeHintForRow(0));
}

HealthView::HealthView(Session& session, CellNames& cells, WhyModel& why, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>(this, cells, why)) {
  d_->model = new HealthModel(&session, this);
  d_->makeActions();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addLayout(d_->makeBar());
  d_->makeFindings();
  layout->addWidget(d_->findings);
  auto* said = new QWidget(this);
  said->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);  // the pages get what is left
  auto* row = new QHBoxLayout(said);
  row->setContentsMargins(0, 0, 4, 0);
  row->addWidget(d_->sentence, 1);
  row->addWidget(d_->checkButton, 0, Qt::AlignTop);
  layout->addWidget(said);
  d_->makePages();
  d_->splitter = new QSplitter(Qt::Vertical, this);
  d_->splitter->addWidget(d_->pages);
  d_->splitter->addWidget(d_->curves);
  d_->splitter->setStretchFactor(0, 3);
  d_->splitter->setStretchFactor(1, 2);
  d_->splitter->setChildrenCollapsible(false);
  layout->addWidget(d_->splitter, 1);
  d_->connectAll();
  d_->showState();
  d_->showFindings();
}

HealthView::~HealthView() = default;

QList<QAction*> HealthView::menuActions() const {
  return {d_->show,   d_->check, d_->layers,   d_->optimiser, d_->more,
          d_->cancel, d_->next,  d_->previous, d_->everyRun};
}

QList<HandledKeys> HealthView::handledKeys() const {
  return {{{QKeySequence(Qt::Key_Left), QKeySequence(Qt::Key_Right)},
           QStringLiteral("In the curves: the sample before, the next one")}};
}

QComboBox* HealthView::runs() const {
  return d_->runs;
}
HealthModel* HealthView::model() const {
  return d_->model;
}
QTreeWidget* HealthView::findings() const {
  return d_->findings;
}
QLabel* HealthView::sentence() const {
  return d_->sentence->label();
}
QLabel* HealthView::sampling() const {
  return d_->sampling;
}
HealthTable* HealthView::table() const {
  return d_->table;
}
QTableView* HealthView::pairs() const {
  return d_->pairs;
}
HealthCurves* HealthView::curves() const {
  return d_->curves;
}

bool HealthView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn)
    d_->touched = static_cast<QFocusEvent*>(event)->reason() != Qt::ShortcutFocusReason;
  if (event->type() == QEvent::KeyPress || event->type() == QEvent::MouseButtonPress) d_->touched = true;
  return SessionPanel::eventFilter(watched, event);
}

void HealthView::showEvent(QShowEvent* event) {
  SessionPanel::showEvent(event);
  d_->model->setShown(true);
}

void HealthView::hideEvent(QHideEvent* event) {
  SessionPanel::hideEvent(event);
  d_->model->setShown(false);
}

void HealthView::resizeEvent(QResizeEvent* event) {
  SessionPanel::resizeEvent(event);
  d_->fit();
}

}  // namespace tapedeck::inspector
