#include "inspector/panels/time/time_view.h"

#include <QButtonGroup>
#include <QLineEdit>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/panels/time/flame_canvas.h"
#include "inspector/panels/time/roofline_canvas.h"
#include "inspector/panels/time/run_choice.h"
#include "inspector/panels/time/totals_page.h"
#include "inspector/panels/time/trace_export.h"
#include "inspector/panels/time/track_canvas.h"
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/text_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

struct TimeView::Private {
  Private(TimeView* view, Session& session, CellNames& cells) : view(view), session(session), cells(cells) {}

  TimeView* view;
  Session& session;
  CellNames& cells;
  ProfileModel* model = nullptr;
  TrackCanvas* track = nullptr;
  FlameCanvas* flame = nullptr;
  RooflineCanvas* roofline = nullptr;
  TotalsPage* totals = nullptr;
  RunSentence* summary = nullptr;
  WrappingLayout* bar = nullptr;
  QStackedWidget* pages = nullptr;
  QButtonGroup* pageButtons = nullptr;
  QAction *save = nullptr, *clear = nullptr, *measure = nullptr;
  QToolButton* measureButton = nullptr;  ///< beside the roofline alone
  TraceExport* writer = nullptr;
  std::optional<protocol::ProfileGap> awaited;  ///< to be shown once its record is here

  // ---- made once
  struct PageText {
    QString name;
    QKeySequence key;
    QString tip;
  };
  /// In ProfilePage's order.
  static QList<PageText> pageTexts() {
    return {{QStringLiteral("Track"), Qt::Key_T, QStringLiteral("The ops over time")},
            {QStringLiteral("Flame"), Qt::Key_L, QStringLiteral("The time by scope or line")},
            {QStringLiteral("Totals"), Qt::Key_O,
             QStringLiteral("A table of the time by op, line, cell or scope")},
            {QStringLiteral("Roofline"), Qt::Key_R, QStringLiteral("The ops below the machine's limits")}};
  }
  void makeBar(QVBoxLayout* layout);
  void makeActions();
  void makePageActions();
  QAction* add(const QString& text, const QList<QKeySequence>& keys, const QString& tip,
               const std::function<void()>& run);
  void connectAll();
  // ---- what is shown
  void setPage(ProfilePage page);
  void stepGroup();
  void goTo(RecordNumber record);
  void goToLargestGap();
  void showAwaited();
  void enter();
  void askTrace();
  CellName cellName() const {
    return [names = &cells](const QString& id, RecordNumber record) { return names->name(id, record); };
  }
};

void TimeView::Private::makeBar(QVBoxLayout* layout) {
  bar = new WrappingLayout(nullptr);
  bar->setContentsMargins(4, 2, 4, 2);
  bar->setSpacing(6);
  pageButtons = new QButtonGroup(view);
  QStringList names, tips;
  for (const PageText& page : pageTexts()) {
    names << page.name;
    tips << QStringLiteral("%1 (%2)").arg(page.tip, page.key.toString(QKeySequence::NativeText));
  }
  bar->addWidget(segmentRow(pageButtons, names, tips, view));
  bar->addWidget(new RunsBox(model, &cells, view));
  layout->addLayout(bar);
  summary = new RunSentence(model, &cells, view);
  layout->addWidget(summary);
}

QAction* TimeView::Private::add(const QString& text, const QList<QKeySequence>& keys, const QString& tip,
                                const std::function<void()>& run) {
  QAction* const action = addKeyedAction(view, text, keys, tip);
  QObject::connect(action, &QAction::triggered, view, [run] { run(); });
  return action;
}

void TimeView::Private::makePageActions() {
  const QList<PageText> texts = pageTexts();
  for (int i = 0; i < texts.size(); ++i)
    add(texts[i].name, {texts[i].key}, texts[i].tip, [this, i] { setPage(static_cast<ProfilePage>(i)); });
  add(QStringLiteral("Next grouping"), {Qt::Key_G},
      QStringLiteral("Totals by the next of op, line, cell, scope, Python; the flame by scope or line"),
      [this] { stepGroup(); });
  add(QStringLiteral("Next run"), {Qt::Key_N}, QStringLiteral("The next run of a cell"),
      [this] { model->stepRun(1); });
  add(QStringLiteral("Previous run"), {Qt::Key_P}, QStringLiteral("The previous run of a cell"),
      [this] { model->stepRun(-1); });
  add(QStringLiteral("All runs"), {Qt::Key_E}, QStringLiteral("Everything that was recorded"),
      [this] { model->setRun(-1); });
}

void TimeView::Private::makeActions() {
  makePageActions();
  const auto on_track = [this](void (TrackCanvas::*slot)()) {
    return [this, slot] {
      setPage(ProfilePage::track);
      (track->*slot)();
    };
  };
  add(QStringLiteral("Zoom in"), {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal},
      QStringLiteral("Show a shorter time in the track"), on_track(&TrackCanvas::zoomIn));
  add(QStringLiteral("Zoom out"), {Qt::Key_S, Qt::Key_Minus},
      QStringLiteral("Show a longer time in the track"), on_track(&TrackCanvas::zoomOut));
  add(QStringLiteral("Earlier"), {Qt::Key_A}, QStringLiteral("Move the track back in time"),
      on_track(&TrackCanvas::moveLeft));
  add(QStringLiteral("Later"), {Qt::Key_D}, QStringLiteral("Move the track forward in time"),
      on_track(&TrackCanvas::moveRight));
  add(QStringLiteral("Fit"), {Qt::Key_F, Qt::Key_0}, QStringLiteral("Show the whole run"),
      on_track(&TrackCanvas::fit));
  add(QStringLiteral("Cursor"), {Qt::Key_Home},
      QStringLiteral("Bring the cursor's op into the middle of the track"),
      on_track(&TrackCanvas::centreCursor));
  add(QStringLiteral("Select what is shown"), {Qt::Key_V},
      QStringLiteral("Restrict all figures to the time that the track shows"),
      on_track(&TrackCanvas::selectView));
  clear = add(QStringLiteral("Clear the selection"), {Qt::Key_X},
              QStringLiteral("Show figures for the whole run again"),
              [this] { model->setSelection(std::nullopt); });
  clear->setEnabled(false);
  add(QStringLiteral("Next op"), {Qt::Key_J}, QStringLiteral("Move the cursor to the next op"),
      [this] { session.stepCursor(1); });
  add(QStringLiteral("Previous op"), {Qt::Key_K}, QStringLiteral("Move the cursor to the previous op"),
      [this] { session.stepCursor(-1); });
  add(QStringLiteral("Longest gap"), {Qt::Key_H},
      QStringLiteral("Go to where Python took the longest between two ops"), [this] { goToLargestGap(); });
  add(QStringLiteral("Go to the slowest"), {Qt::Key_Return, Qt::Key_Enter},
      QStringLiteral("Move the cursor to the slowest op of the selection"), [this] { enter(); });
  add(QStringLiteral("Zoom the flame out"), {Qt::Key_Backspace},
      QStringLiteral("Zoom out to what the zoomed part is a part of"), [this] { flame->zoomOut(); });
  measure = add(QStringLiteral("Measure the machine"), {Qt::Key_M},
                QStringLiteral("Measure the machine's peak again, for half a second"),
                [this] { model->measureAgain(); });
  measureButton = addTextButton(bar, measure, QStringLiteral("Measure again"), view);
  measureButton->setObjectName(QStringLiteral("measureAgain"));
  measureButton->hide();
  add(QStringLiteral("Filter"), {QKeySequence::Find}, QStringLiteral("Filter the totals"), [this] {
    setPage(ProfilePage::totals);
    totals->filter()->setFocus(Qt::ShortcutFocusReason);
    totals->filter()->selectAll();
  });
  save = new QAction(QStringLiteral("Export time as Chrome t&race…"), view);
  save->setObjectName(QStringLiteral("file.export_time"));
  setKey(save, {Qt::CTRL | Qt::ALT | Qt::Key_J},
         QStringLiteral("Write the run's ops as a JSON file for Perfetto or Chrome's tracing page"));
  QObject::connect(save, &QAction::triggered, view, [this] { askTrace(); });
}

void TimeView::Private::connectAll() {
  QObject::connect(pageButtons, &QButtonGroup::idClicked, view,
                   [this](int id) { setPage(static_cast<ProfilePage>(id)); });
  // A click marks the slowest of the row in the track; Enter and a double click go there.
  QObject::connect(totals, &TotalsPage::clicked, view, [this](RecordNumber slowest) { goTo(slowest); });
  QObject::connect(totals, &TotalsPage::doubleClicked, view, [this] { enter(); });
  QObject::connect(model, &ProfileModel::pageChanged, view, [this] {
    pages->setCurrentIndex(static_cast<int>(model->page()));
    pageButtons->button(static_cast<int>(model->page()))->setChecked(true);
    measureButton->setVisible(model->page() == ProfilePage::roofline);
  });
  for (const auto signal : {&ProfileModel::overviewChanged, &ProfileModel::spanChanged})
    QObject::connect(model, signal, view, [this] { clear->setEnabled(model->selection().has_value()); });
  QObject::connect(&session, &Session::recordsChanged, view, [this] { showAwaited(); });
  QObject::connect(&session, &Session::cleared, view, [this] { awaited.reset(); });
  QObject::connect(writer, &TraceExport::progressed, view, [this](double share) {
    emit view->done(QStringLiteral("Writing the trace, %1").arg(shareText(share)));
  });
  QObject::connect(writer, &TraceExport::finished, view, [this](const QString& path, const QString& error) {
    if (error.isEmpty())
      emit view->done(QStringLiteral("Wrote %1").arg(path));
    else
      emit view->failed(error);
    emit view->exported(path, error);
  });
}

// ---- what is shown

void TimeView::Private::setPage(ProfilePage page) {
  const bool focused = view->isAncestorOf(view->window()->focusWidget()) || view->hasFocus();
  model->setPage(page);
  pageButtons->button(static_cast<int>(page))->setChecked(true);
  pages->setCurrentIndex(static_cast<int>(page));
  measureButton->setVisible(page == ProfilePage::roofline);
  view->setFocusProxy(pages->currentWidget());
  if (focused) pages->currentWidget()->setFocus(Qt::OtherFocusReason);
}

void TimeView::Private::stepGroup() {
  if (model->page() == ProfilePage::flame) return model->setFlameByLine(!model->flameByLine());
  setPage(ProfilePage::totals);
  totals->nextGroup();
}

void TimeView::Private::goTo(RecordNumber record) {
  if (record != 0) session.setCursor(record);
}

// The track shows the op before the gap, the gap, and the op behind it.
void TimeView::Private::goToLargestGap() {
  const protocol::Profile* overview = model->overview();
  if (!overview || overview->gaps.empty()) return;
  const protocol::ProfileGap& gap = overview->gaps.front();
  goTo(gap.record);
  setPage(ProfilePage::track);
  awaited = gap;
  showAwaited();
}

void TimeView::Private::showAwaited() {
  const protocol::Record* record = awaited ? session.record(awaited->record) : nullptr;
  if (!record) return;  // it is on its way
  const qint64 end = record->start_ns + record->call_ns;
  // A gap up to a cell's end lies behind its record.
  if (!awaited->to_line)
    track->show({record->start_ns, end + awaited->max_ns});
  else
    track->show({record->start_ns - awaited->max_ns, end});
  awaited.reset();
}

void TimeView::Private::enter() {
  if (totals->filter()->hasFocus()) return totals->enterTable();
  switch (model->page()) {
    case ProfilePage::track:
      track->centreCursor();
      break;
    case ProfilePage::flame:
      flame->goToSlowest();
      break;
    case ProfilePage::totals:
      goTo(totals->slowest());
      break;
    case ProfilePage::roofline:
      roofline->goToSlowest();
      break;
  }
}

void TimeView::Private::askTrace() {
  const QString path = askForPath(view, QStringLiteral("Export Chrome trace"), QStringLiteral("trace.json"),
                                  QStringLiteral("JSON (*.json)"));
  if (!path.isEmpty()) view->exportTrace(path);
}

TimeView::TimeView(Session& session, CellNames& cells, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>(this, session, cells)) {
  d_->model = new ProfileModel(&session, this);
  d_->writer = new TraceExport(&session, this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  d_->makeBar(layout);
  d_->pages = new QStackedWidget(this);
  d_->track = new TrackCanvas(d_->model, d_->cellName(), this);
  d_->flame = new FlameCanvas(d_->model, &cells, this);
  d_->pages->addWidget(d_->track);
  d_->pages->addWidget(d_->flame);
  d_->totals = new TotalsPage(d_->model, &cells, this);
  d_->pages->addWidget(d_->totals);
  d_->roofline = new RooflineCanvas(d_->model, this);
  d_->pages->addWidget(d_->roofline);
  layout->addWidget(d_->pages, 1);
  setFocusProxy(d_->track);
  d_->makeActions();
  d_->connectAll();
}

TimeView::~TimeView() = default;

ProfileModel* TimeView::model() const {
  return d_->model;
}
TrackCanvas* TimeView::track() const {
  return d_->track;
}
FlameCanvas* TimeView::flame() const {
  return d_->flame;
}
RooflineCanvas* TimeView::roofline() const {
  return d_->roofline;
}
QTableView* TimeView::table() const {
  return d_->totals->table();
}
QLineEdit* TimeView::filter() const {
  return d_->totals->filter();
}
QLabel* TimeView::summary() const {
  return d_->summary;
}
QList<QAction*> TimeView::exportActions() const {
  return {d_->save};
}

QList<HandledKeys> TimeView::handledKeys() const {
  return {{{Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down},
           QStringLiteral("Flame and roofline: walk to the next box or op")},
          {{Qt::Key_Space}, QStringLiteral("Flame: zoom to the box walked to")},
          {{Qt::Key_PageUp, Qt::Key_PageDown},
           QStringLiteral("Flame: scroll where it is higher than the panel")}};
}

void TimeView::exportTrace(const QString& path) {
  const TimeSpan span = d_->model->overview() ? d_->model->span() : TimeSpan{};
  d_->writer->start(path, span);
}

void TimeView::showEvent(QShowEvent* event) {
  SessionPanel::showEvent(event);
  d_->model->setActive(true);
}

void TimeView::hideEvent(QHideEvent* event) {
  SessionPanel::hideEvent(event);
  d_->model->setActive(false);
}

}  // namespace tapedeck::inspector
