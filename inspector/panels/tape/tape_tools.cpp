#include "inspector/panels/tape/tape_tools.h"

#include <QAction>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>

#include "inspector/model/format.h"
#include "inspector/ui/clear_by_escape.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::inspector {

TapeTools::TapeTools(QWidget* panel, TapeCanvas* canvas) : QObject(panel), panel_(panel), canvas_(canvas) {
  addSearch();
  addGroupActions();
  addLineageActions();
  QAction* const map =
      add(QStringLiteral("Map"), {Qt::Key_M},
          QStringLiteral("The whole tape, small, in the corner: click or drag in it to go there"));
  map->setCheckable(true);
  map->setChecked(true);
  connect(map, &QAction::toggled, canvas_, &TapeCanvas::setMinimapShown);
  connect(canvas_, &TapeCanvas::foldAsked, this, &TapeTools::choose);
}

QAction* TapeTools::add(const QString& text, const QList<QKeySequence>& keys, const QString& tip) {
  actions_ << addKeyedAction(panel_, text, keys, tip);
  return actions_.last();
}

void TapeTools::addGroupActions() {
  connect(add(QStringLiteral("Open group"), {Qt::Key_O},
              QStringLiteral("Show what is in the folded group; a double click and Enter do the same")),
          &QAction::triggered, this, &TapeTools::openActed);
  connect(add(QStringLiteral("Fold group"), {Qt::Key_U},
              QStringLiteral("Fold the group around the node; so does a double click on a scope's band")),
          &QAction::triggered, this, &TapeTools::foldActed);
  connect(add(QStringLiteral("Open all groups"), {Qt::SHIFT | Qt::Key_O}, QStringLiteral("Show every op")),
          &QAction::triggered, this, [this] {
            folding_.all = true;
            folding_.chosen.clear();
            emit foldingChanged();
          });
  connect(add(QStringLiteral("Reset folding"), {Qt::SHIFT | Qt::Key_U},
              QStringLiteral("Fold so that the tape fits the panel, and forget which groups you opened")),
          &QAction::triggered, this, [this] {
            folding_.all = false;
            folding_.chosen.clear();
            emit foldingChanged();
          });
}

void TapeTools::addLineageActions() {
  ancestors_ = add(QStringLiteral("Ancestors"), {Qt::Key_A},
                   QStringLiteral("Highlight what the node's value was computed from, and dim the rest"));
  descendants_ = add(QStringLiteral("Descendants"), {Qt::Key_D},
                     QStringLiteral("Highlight what was computed from the node's value, and dim the rest"));
  only_ = add(QStringLiteral("Only these"), {Qt::Key_I}, QStringLiteral("Hide all nodes that are neither"));
  for (QAction* action : {ancestors_, descendants_, only_}) action->setCheckable(true);
  for (QAction* action : {ancestors_, descendants_})
    connect(action, &QAction::toggled, this, &TapeTools::toggleLineage);
  connect(only_, &QAction::toggled, this, [this](bool on) {
    if (on && !lineageOn()) {
      const QSignalBlocker quiet(ancestors_), too(descendants_);
      ancestors_->setChecked(true);
      descendants_->setChecked(true);
      toggleLineage(true);
    }
    emit foldingChanged();
  });
}

void TapeTools::addSearch() {
  bar_ = new QWidget(panel_);
  auto* row = new QHBoxLayout(bar_);
  row->setContentsMargins(4, 2, 4, 2);
  field_ = new QLineEdit(bar_);
  field_->setObjectName(QStringLiteral("tapeSearch"));
  field_->setClearButtonEnabled(true);
  field_->setPlaceholderText(QStringLiteral("Find on the tape"));
  field_->setAccessibleName(QStringLiteral("Find on the tape"));
  field_->setToolTip(QStringLiteral(
      "Nodes whose op, name, scope, shape, value or record number contains every word; nan finds values that "
      "hold one.\nEnter and Shift+Enter: the next and the previous match (Ctrl+F; Esc ends the search)"));
  count_ = plainLabel(bar_);
  count_->setObjectName(QStringLiteral("tapeSearchCount"));
  row->addWidget(field_, 1);
  row->addWidget(count_);
  find_ =
      add(QStringLiteral("Find"), {QKeySequence::Find}, QStringLiteral("Find a node, also in folded groups"));
  next_ =
      add(QStringLiteral("Next match"), {Qt::Key_N}, QStringLiteral("Go to the next match of the search"));
  previous_ = add(QStringLiteral("Previous match"), {Qt::SHIFT | Qt::Key_N},
                  QStringLiteral("Go to the previous match of the search"));
  for (const auto& [action, arrow] : {std::pair{previous_, Qt::UpArrow}, std::pair{next_, Qt::DownArrow}}) {
    auto* button = new QToolButton(bar_);
    button->setDefaultAction(action);
    button->setArrowType(arrow);
    button->setAutoRaise(true);
    button->setAccessibleName(action->text());
    button->setFocusPolicy(Qt::TabFocus);
    row->addWidget(button);
  }
  bar_->hide();
  connect(find_, &QAction::triggered, this, [this] {
    bar_->show();
    field_->setFocus(Qt::ShortcutFocusReason);
    field_->selectAll();
  });
  connect(next_, &QAction::triggered, this, [this] { go(1); });
  connect(previous_, &QAction::triggered, this, [this] { go(-1); });
  connect(field_, &QLineEdit::textChanged, this, [this] {
    at_ = -1;
    search();
  });
  connect(field_, &QLineEdit::returnPressed, this, [this] { go(1); });
  field_->installEventFilter(this);
  clearByEscape(field_, this, [this] {
    field_->clear();
    bar_->hide();
    canvas_->setFocus(Qt::OtherFocusReason);
  });
  search();
}

/// Shift+Enter goes back, as in other searches. The window's shortcut of that key stays out of the field.
bool TapeTools::eventFilter(QObject* object, QEvent* event) {
  if (object == field_ && (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress)) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (enter && (key->modifiers() & ~Qt::KeypadModifier) == Qt::ShiftModifier) {
      if (event->type() == QEvent::KeyPress) go(-1);
      event->accept();
      return true;
    }
  }
  return QObject::eventFilter(object, event);
}

void TapeTools::addTo(QMenu* menu) const {
  for (QAction* action : actions_) menu->addAction(action);
}

void TapeTools::choose(const QString& group, bool open) {
  folding_.chosen[group] = open;
  emit foldingChanged();
}

void TapeTools::openActed() {
  const int node = canvas_->actedNode();
  if (node < 0) return;
  const QString fold = canvas_->laidOut()->graph.nodes[static_cast<std::size_t>(node)].fold;
  if (!fold.isEmpty()) choose(fold, true);
}

void TapeTools::foldActed() {
  const int node = canvas_->actedNode();
  if (node < 0) return;
  const QString around = canvas_->laidOut()->around[static_cast<std::size_t>(node)];
  if (around.isEmpty()) return;
  // The keys stay where they were: at the fold.
  for (std::size_t i = 0; i < canvas_->laidOut()->shown.size(); ++i)
    if (canvas_->laidOut()->shown[i] == node) {
      canvas_->walkToKey(nodeKey(canvas_->laidOut()->whole.nodes[i]), true);
      break;
    }
  choose(around, false);
}

Folding TapeTools::folding(const TapeGraph& graph) const {
  Folding result = folding_;
  if (!only_->isChecked() || !lineageOn()) return result;
  const std::vector<int> nodes = subjects(graph);
  if (nodes.empty()) return result;  // another tape
  QSet<quint64> kept;
  const auto keep = [&](const std::vector<int>& found) {
    for (const int node : found) kept.insert(nodeKey(graph.nodes[static_cast<std::size_t>(node)]));
  };
  if (ancestors_->isChecked()) keep(ancestors(graph, nodes));
  if (descendants_->isChecked()) keep(descendants(graph, nodes));
  result.only = kept;
  return result;
}

bool TapeTools::lineageOn() const {
  return ancestors_->isChecked() || descendants_->isChecked();
}

std::vector<int> TapeTools::subjects(const TapeGraph& graph) const {
  std::vector<int> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (subjects_.contains(nodeKey(graph.nodes[i]))) nodes.push_back(static_cast<int>(i));
  return nodes;
}

/// The question is about the node at hand when it is asked; it stays about that one.
void TapeTools::toggleLineage(bool on) {
  const LaidOutGraph* laid = canvas_->laidOut();
  const bool first = on && !(ancestors_->isChecked() && descendants_->isChecked());
  if (laid && (first || subjects_.isEmpty())) {
    subjects_.clear();
    for (std::size_t i = 0; i < laid->whole.nodes.size(); ++i)
      if (laid->shown[i] >= 0 && laid->shown[i] == canvas_->actedNode())
        subjects_.insert(nodeKey(laid->whole.nodes[i]));
  }
  if (!lineageOn()) subjects_.clear();
  if (only_->isChecked()) {
    const QSignalBlocker quiet(only_);
    if (!lineageOn()) only_->setChecked(false);
    emit foldingChanged();
  }
  look();
}

/// Marks hits, ancestors and descendants on what the canvas shows.
void TapeTools::look() {
  TapeMarks marks;
  const LaidOutGraph* laid = canvas_->laidOut();
  if (laid) {
    const TapeGraph& graph = laid->whole;
    const auto keys = [&graph](const std::vector<int>& nodes) {
      QSet<quint64> result;
      for (const int node : nodes) result.insert(nodeKey(graph.nodes[static_cast<std::size_t>(node)]));
      return result;
    };
    marks.hits = keys(hits_);
    if (const std::vector<int> nodes = subjects(graph); lineageOn() && !nodes.empty()) {
      marks.lineage = true;
      if (ancestors_->isChecked()) marks.ancestors = keys(ancestors(graph, nodes));
      if (descendants_->isChecked()) marks.descendants = keys(descendants(graph, nodes));
    }
  }
  canvas_->setMarks(marks);
}

void TapeTools::search() {
  const LaidOutGraph* laid = canvas_->laidOut();
  quint64 gone_to = 0;
  if (laid && at_ >= 0) gone_to = hits_at_;
  hits_ = laid ? findNodes(laid->whole, field_->text()) : std::vector<int>();
  at_ = -1;
  for (std::size_t i = 0; i < hits_.size() && gone_to; ++i)
    if (nodeKey(laid->whole.nodes[static_cast<std::size_t>(hits_[i])]) == gone_to) at_ = static_cast<int>(i);
  next_->setEnabled(!hits_.empty());
  previous_->setEnabled(!hits_.empty());
  const QString total = countText(static_cast<quint64>(hits_.size()));
  count_->setText(field_->text().trimmed().isEmpty() ? QString()
                  : hits_.empty()                    ? QStringLiteral("no match")
                  : at_ < 0
                      ? total + (hits_.size() == 1 ? QStringLiteral(" match") : QStringLiteral(" matches"))
                      : QStringLiteral("%1 of %2").arg(countText(static_cast<quint64>(at_) + 1), total));
  look();
}

void TapeTools::go(int step) {
  if (hits_.empty()) return;
  const int count = static_cast<int>(hits_.size());
  at_ = at_ < 0 ? (step > 0 ? 0 : count - 1) : (at_ + step + count) % count;
  const int node = hits_[static_cast<std::size_t>(at_)];
  hits_at_ = nodeKey(canvas_->laidOut()->whole.nodes[static_cast<std::size_t>(node)]);
  search();
  reveal(node);
}

/// Opens what folds a node of the whole graph, and walks to it.
void TapeTools::reveal(int node) {
  const LaidOutGraph& laid = *canvas_->laidOut();
  const auto place = static_cast<std::size_t>(node);
  const quint64 key = nodeKey(laid.whole.nodes[place]);
  const int shown = laid.shown[place];
  if (shown >= 0 && laid.graph.nodes[static_cast<std::size_t>(shown)].fold.isEmpty())
    return canvas_->walkToKey(key, false);
  for (const QString& group : laid.groups.around(node)) folding_.chosen[group] = true;
  canvas_->walkToKey(key, true);
  if (shown < 0) {  // the filter had left it out
    const QSignalBlocker quiet(only_);
    only_->setChecked(false);
  }
  emit foldingChanged();
}

void TapeTools::showCursor() {
  const LaidOutGraph* laid = canvas_->laidOut();
  const int current = laid ? laid->current : -1;
  if (current < 0) return;
  if (!laid->graph.nodes[static_cast<std::size_t>(current)].fold.isEmpty())
    for (std::size_t i = 0; i < laid->whole.nodes.size(); ++i)
      if (laid->whole.nodes[i].current) return reveal(static_cast<int>(i));
  canvas_->centreOnCursor();
}

void TapeTools::laidOut() {
  search();
  emit summaryChanged();
}

QString TapeTools::summary() const {
  const LaidOutGraph* laid = canvas_->laidOut();
  QStringList parts;
  if (laid && laid->folds)
    parts << (laid->folds == 1
                  ? QStringLiteral("1 group folded")
                  : QStringLiteral("%1 groups folded").arg(countText(static_cast<quint64>(laid->folds))));
  if (laid && laid->left_out)
    parts << QStringLiteral("%1 nodes hidden").arg(countText(static_cast<quint64>(laid->left_out)));
  return parts.join(QStringLiteral(" · "));
}

}  // namespace tapedeck::inspector
