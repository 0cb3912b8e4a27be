#include "inspector/panels/tape/tape_view.h"

#include <QAction>
#include <QCoreApplication>
#include <QLabel>
#include <QMenu>
#include <QPointer>
#include <QThreadPool>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "engine/protocol/foreign_tapes.h"
#include "inspector/model/format.h"
#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/tape/odd_values.h"
#include "inspector/panels/branch_strip.h"
#include "inspector/panels/tape/node_details.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tape/tape_svg.h"
#include "inspector/panels/tape/tape_tools.h"
#include "inspector/panels/why_actions.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

/// "tape 3", or of another library "autograd graph 1".
static QString tapeName(quint64 tape) {
  return tape < protocol::first_foreign_tape
             ? QStringLiteral("tape %1").arg(tape)
             : QStringLiteral("autograd graph %1").arg(tape - protocol::first_foreign_tape + 1);
}

namespace {

/// While ops run by themselves, hundreds of tapes may come in a second; that many pictures of them are
/// enough.
constexpr int running_interval_ms = 120;
constexpr int wondering_ms = 250;
/// In letters: with less beside the tools the summary has a line of its own.
constexpr int least_summary = 60;

}  // namespace

struct TapeView::Private {
  Private(TapeView* view, Session& session) : view(view), session(session) {}

  TapeView* view;
  Session& session;
  TapeGraphModel* model = nullptr;
  TapeCanvas* canvas = nullptr;
  TapeTools* tools = nullptr;
  OddValues* odd = nullptr;
  QAction* check = nullptr;
  LayoutWorker* worker = nullptr;
  QToolBar* bar = nullptr;
  QAction* save = nullptr;
  QLabel* summary = nullptr;
  QTimer* pause = nullptr;
  QTimer* slow = nullptr;  ///< ends when laying out takes so long that one wonders
  QBoxLayout* top = nullptr;
  bool waiting = false;  ///< a change came that was not laid out yet
  std::function<QString(const protocol::Record&)> cell_name;

  QAction* addAction(const QString& text, const QList<QKeySequence>& keys, const QString& tip) {
    QAction* const action = addKeyedAction(view, text, keys, tip);
    bar->addAction(action);
    return action;
  }

  void addCheck() {
    odd = new OddValues(&session, view);
    check =
        addKeyedAction(view, QStringLiteral("Check for NaN"), {Qt::Key_X},
                       QStringLiteral("Look for NaN and infinity in all values of the tape, and mark them. "
                                      "Values that are not held are recomputed; pressing it again stops"));
    check->setCheckable(true);
    QObject::connect(check, &QAction::triggered, view, [this](bool on) {
      if (on)
        odd->check(model->graph());
      else
        odd->stop();
    });
    QObject::connect(odd, &OddValues::ended, check, [this] { check->setChecked(false); });
    QObject::connect(odd, &OddValues::oddChanged, view, [this] { layOut(); });
    QObject::connect(odd, &OddValues::progressed, view, [this] { updateSummary(); });
  }

  /// As it is shown, before anything is folded.
  TapeGraph marked() const {
    TapeGraph graph = model->graph();
    odd->mark(graph);
    return graph;
  }

  void addActions() {
    addCheck();
    QObject::connect(
        addAction(QStringLiteral("Fit"), {Qt::Key_F, Qt::Key_0}, QStringLiteral("Show the whole tape")),
        &QAction::triggered, view, &TapeView::fit);
    QObject::connect(addAction(QStringLiteral("−"), {Qt::Key_Minus}, QStringLiteral("Zoom out")),
                     &QAction::triggered, view, &TapeView::zoomOut);
    QObject::connect(addAction(QStringLiteral("+"), {Qt::Key_Plus, Qt::Key_Equal}, QStringLiteral("Zoom in")),
                     &QAction::triggered, view, &TapeView::zoomIn);
    QObject::connect(addAction(QStringLiteral("Cursor"), {Qt::Key_Home},
                               QStringLiteral("Bring the cursor's op into view, out of folded groups")),
                     &QAction::triggered, tools, &TapeTools::showCursor);
    QAction* const follow =
        addAction(QStringLiteral("Follow"), {Qt::Key_C}, QStringLiteral("Keep the cursor's op in view"));
    follow->setCheckable(true);
    follow->setChecked(true);
    QObject::connect(follow, &QAction::toggled, canvas, &TapeCanvas::setFollowsCursor);
    QAction* const legend =
        addAction(QStringLiteral("Legend"), {Qt::Key_G}, QStringLiteral("What colours and lines mean"));
    legend->setCheckable(true);
    QObject::connect(legend, &QAction::toggled, canvas, &TapeCanvas::setLegendShown);
    bar->addAction(tools->findAction());
    auto* groups = new QToolButton(bar);
    groups->setText(QStringLiteral("Groups"));
    groups->setAccessibleName(QStringLiteral("Groups, ancestors and descendants"));
    groups->setToolTip(
        QStringLiteral("Open and fold groups; ancestors and descendants of the node; the map"));
    groups->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(groups);
    tools->addTo(menu);
    menu->addAction(check);
    groups->setMenu(menu);
    bar->addWidget(groups);
  }

  void graphChanged() {
    waiting = true;
    if (!view->isVisible()) return;
    const bool stopped = session.status().gate == protocol::GateState::stopped;
    if (stopped || !pause->isActive()) layOut();
  }

  void layOut() {
    waiting = false;
    pause->start();
    updateSummary();
    if (model->graph().empty()) {
      worker->cancel();
      canvas->showGraph(nullptr);
      tools->laidOut();
      return;
    }
    worker->request(marked(), tools->folding(model->graph()));
    slow->start();
  }

  /// Beside the tools, or below them.
  void placeSummary() {
    const int room = view->width() - bar->sizeHint().width();
    const bool beside = room >= least_summary * summary->fontMetrics().averageCharWidth();
    top->setDirection(beside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    summary->setAlignment((beside ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }

  void updateSummary() {
    canvas->setEmptySentence(emptySentence());
    const TapeGraph& graph = model->graph();
    if (graph.empty()) return summary->setText(model->problem());
    const auto counted = [](quint64 number, const QString& one, const QString& many) {
      return number == 1 ? QStringLiteral("1 ") + one : countText(number) + QLatin1Char(' ') + many;
    };
    QStringList parts;
    const bool torch = isOfTorch(graph);
    parts << (graph.tape ? tapeName(graph.tape)
              : torch    ? QStringLiteral("no autograd graph")
                         : QStringLiteral("no tape"));
    parts << counted(graph.ops, QStringLiteral("op"), QStringLiteral("ops"));
    if (graph.vjps) parts << counted(graph.vjps, QStringLiteral("VJP"), QStringLiteral("VJPs"));
    if (graph.offTape)
      parts << QStringLiteral("%1 on no %2")
                   .arg(countText(graph.offTape), torch ? QStringLiteral("graph") : QStringLiteral("tape"));
    if (graph.dropped) parts << QStringLiteral("%1 older ones not shown").arg(countText(graph.dropped));
    if (const QString checked = odd->sentence(); !checked.isEmpty()) parts << checked;
    if (const QString shown = tools->summary(); !shown.isEmpty()) parts << shown;
    if (!model->problem().isEmpty()) parts << model->problem();
    if (worker->busy() && !slow->isActive())
      parts
          << QStringLiteral("laying out %1 nodes …").arg(countText(static_cast<quint64>(graph.nodes.size())));
    summary->setText(parts.join(QStringLiteral(" · ")));
  }

  QString emptySentence() const {
    if (!model->problem().isEmpty()) return model->problem();
    if (session.recordCount() == 0)
      return QStringLiteral("No op has run yet. Run a cell, or step into one with F10.");
    // Also while it is being laid out.
    if (model->loading() || !model->graph().empty()) return QStringLiteral("Fetching the tape …");
    return QStringLiteral("Nothing is on the tape here.");
  }

  QStringList details(const GraphNode& node) const {
    const protocol::Record* record = node.record ? session.cachedRecord(node.record) : nullptr;
    const protocol::TensorInfo* tensor = node.tensor ? session.tensor(node.tensor) : nullptr;
    std::optional<protocol::Record> shown;
    if (record) shown = session.withShownPreviews(*record);
    return nodeDetails(node, shown ? &*shown : nullptr, tensor, cell_name);
  }
};

TapeView::TapeView(Session& session, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>(this, session)) {
  d_->model = new TapeGraphModel(&session, this);
  d_->worker = new LayoutWorker(this);
  d_->canvas = new TapeCanvas(this);
  d_->tools = new TapeTools(this, d_->canvas);
  d_->bar = new QToolBar(this);
  d_->bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
  d_->bar->setAccessibleName(QStringLiteral("Tape graph tools"));
  d_->addActions();
  d_->save = new QAction(QStringLiteral("Export &tape graph as SVG…"), this);
  d_->save->setObjectName(QStringLiteral("file.export_tape"));
  setKey(d_->save, {Qt::CTRL | Qt::ALT | Qt::Key_G},
         QStringLiteral("Write the tape graph that is shown as an SVG file"));
  connect(d_->save, &QAction::triggered, this, &TapeView::askSvg);
  d_->summary = new ElidingLabel(Qt::ElideRight, this);
  d_->summary->setObjectName(QStringLiteral("tapeSummary"));
  d_->summary->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  d_->summary->setContentsMargins(8, 0, 8, 0);
  d_->pause = new QTimer(this);
  d_->pause->setSingleShot(true);
  d_->pause->setInterval(running_interval_ms);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  d_->slow = new QTimer(this);
  d_->slow->setSingleShot(true);
  d_->slow->setInterval(wondering_ms);
  connect(d_->slow, &QTimer::timeout, this, [this] { d_->updateSummary(); });
  d_->top = new QBoxLayout(QBoxLayout::LeftToRight);
  d_->top->setSpacing(0);
  d_->top->addWidget(d_->bar);
  d_->top->addWidget(d_->summary, 1);
  layout->addWidget(new BranchStrip(session, this));
  layout->addLayout(d_->top);
  followFont(d_->bar, [this] {
    QTimer::singleShot(0, this, [this] { d_->placeSummary(); });  // the tools have their new sizes then
  });
  layout->addWidget(d_->tools->searchBar());
  layout->addWidget(d_->canvas, 1);
  setFocusProxy(d_->canvas);
  d_->canvas->setDetails([this](const GraphNode& node) { return d_->details(node); });
  connect(d_->model, &TapeGraphModel::graphChanged, this, [this] { d_->graphChanged(); });
  connect(d_->pause, &QTimer::timeout, this, [this] {
    if (d_->waiting && isVisible()) d_->layOut();
  });
  connect(d_->worker, &LayoutWorker::finished, this, [this](const std::shared_ptr<const LaidOutGraph>& laid) {
    d_->slow->stop();
    d_->canvas->showGraph(laid);
    d_->tools->laidOut();
  });
  connect(d_->tools, &TapeTools::foldingChanged, this, [this] { d_->layOut(); });
  connect(d_->tools, &TapeTools::summaryChanged, this, [this] { d_->updateSummary(); });
  connect(d_->canvas, &TapeCanvas::recordPicked, &session, &Session::setCursor);
  connect(d_->canvas, &TapeCanvas::morePicked, d_->model, &TapeGraphModel::showAround);
  connect(d_->canvas, &TapeCanvas::tensorPicked, &session, &Session::pickTensor);
  connect(&session, &Session::cleared, this, [this] { d_->graphChanged(); });
  connect(&session, &Session::cursorChanged, this, [this] {
    if (isVisible()) d_->canvas->setEmptySentence(d_->emptySentence());
  });
  connect(&session, &Session::statusChanged, this, [this] {
    if (isVisible()) d_->canvas->setEmptySentence(d_->emptySentence());
  });
  d_->updateSummary();
}

TapeView::~TapeView() = default;

TapeCanvas* TapeView::canvas() const {
  return d_->canvas;
}
TapeGraphModel* TapeView::model() const {
  return d_->model;
}
void TapeView::setCellName(std::function<QString(const protocol::Record&)> name) {
  d_->cell_name = std::move(name);
}

void TapeView::setWhy(WhyActions& why) {
  connect(d_->canvas, &TapeCanvas::menuAsked, this, [this, &why](const GraphNode& node, QPoint at) {
    WhySubject subject;
    const protocol::Record* record = node.record ? d_->session.cachedRecord(node.record) : nullptr;
    if (record)
      subject = whySubjectOf(*record);
    else
      subject.tensor = node.leaf;
    QMenu menu(this);
    d_->tools->addTo(&menu);
    menu.addAction(d_->check);
    if (node.fold.isEmpty()) {  // a group has no one value to ask about
      why.model()->setSubject(subject);
      why.addTo(&menu);
    }
    menu.exec(at);
  });
  const auto mark = [this, &why] { d_->canvas->setPath(why.model()->path()); };
  connect(why.model(), &WhyModel::changed, this, mark);
  mark();
}

void TapeView::setBookmarks(const Bookmarks& bookmarks) {
  const auto show = [this, &bookmarks] {
    QHash<RecordNumber, QString> notes;
    for (const RecordNumber record : bookmarks.here()) notes[record] = bookmarks.find(record)->note;
    d_->canvas->setBookmarks(notes);
  };
  connect(&bookmarks, &Bookmarks::changed, this, show);
  show();
}

QList<QAction*> TapeView::exportActions() const {
  return {d_->save};
}

QList<HandledKeys> TapeView::handledKeys() const {
  return {
      {{Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down},
       QStringLiteral("Walk to the next node that way")},
      {{Qt::SHIFT | Qt::Key_Left, Qt::SHIFT | Qt::Key_Right, Qt::SHIFT | Qt::Key_Up,
        Qt::SHIFT | Qt::Key_Down},
       QStringLiteral("Move the graph")},
      {{Qt::Key_J, Qt::Key_K}, QStringLiteral("Walk along an edge, down or up")},
      {{Qt::Key_Return}, QStringLiteral("Go to the node walked to: all panels follow; open a folded group")},
      {{Qt::Key_Space}, QStringLiteral("Held down: drag the graph")}};
}

void TapeView::fit() {
  d_->canvas->fit();
}
void TapeView::zoomIn() {
  d_->canvas->zoomIn();
}
void TapeView::zoomOut() {
  d_->canvas->zoomOut();
}

void TapeView::exportSvg(const QString& path) {
  // As it is on the canvas: with its folds.
  const TapeGraph whole = d_->marked();
  const QString title =
      whole.tape ? QStringLiteral("Gradients: %1, at op %2").arg(tapeName(whole.tape)).arg(whole.cursor)
                 : QString();
  const Folding folding = d_->tools->folding(whole);
  QThreadPool::globalInstance()->start([view = QPointer<TapeView>(this), whole, folding, title, path] {
    const TapeGraph graph = foldTape(whole, TapeGroups(whole), folding).graph;
    QString error;
    replaceFile(path, tapeGraphSvg(graph, layoutTapeGraph(graph), title), &error);
    // The view may be gone by now: what comes back goes by way of the application's own object.
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [view, path, error] {
          if (!view) return;
          if (error.isEmpty())
            emit view->done(QStringLiteral("Wrote %1").arg(path));
          else
            emit view->failed(error);
          emit view->exported(path, error);
        },
        Qt::QueuedConnection);
  });
}

void TapeView::askSvg() {
  const QString path = askForPath(this, QStringLiteral("Export tape graph"), QStringLiteral("tape.svg"),
                                  QStringLiteral("SVG (*.svg)"));
  if (path.isEmpty()) return;
  emit done(QStringLiteral("Writing %1 …").arg(path));
  exportSvg(path);
}

void TapeView::resizeEvent(QResizeEvent* event) {
  SessionPanel::resizeEvent(event);
  d_->placeSummary();
}

void TapeView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (d_->waiting || !d_->canvas->laidOut()) d_->layOut();
}

}  // namespace tapedeck::inspector
