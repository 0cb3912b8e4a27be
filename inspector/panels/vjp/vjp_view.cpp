#include "inspector/panels/vjp/vjp_view.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QToolTip>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/branch_strip.h"
#include "inspector/panels/vjp/sum_lines.h"
#include "inspector/panels/vjp/vjp_sheet.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {

namespace {

const QString header_style = QStringLiteral("QPushButton { text-align: left; padding: 3px 8px; }");

}  // namespace

VjpView::VjpView(Session& session, const CellNames& cells, QWidget* parent)
    : Panel(parent),
      session_(session),
      cells_(cells),
      model_(new VjpModel(&session, this)),
      sheet_(new VjpSheet(model_, &cells)),
      scroll_(new QScrollArea(this)),
      header_(new QPushButton(this)),
      element_(new QLineEdit(this)) {
  scroll_->setWidget(sheet_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  makeHeader();
  makeActions();
  setFocusProxy(sheet_);
  connect(model_, &VjpModel::seenChanged, this, &Panel::emptyChanged);
  connect(model_, &VjpModel::partsChanged, this, &VjpView::refresh);
  connect(model_, &VjpModel::termsChanged, this, &VjpView::showExplained);
  connect(&cells, &CellNames::changed, this, &VjpView::refresh);
  connect(sheet_, &VjpSheet::laidOut, this, &VjpView::showRevealed);
  connect(sheet_, &VjpSheet::rowShown, this, [this](const QRectF& rect) {
    const QPointF middle = rect.center();
    scroll_->ensureVisible(static_cast<int>(middle.x()), static_cast<int>(middle.y()), 0,
                           static_cast<int>(rect.height() / 2) + 4);
  });
  refresh();
}

VjpView::~VjpView() = default;

void VjpView::makeHeader() {
  header_->setFlat(true);
  header_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  header_->setStyleSheet(header_style);
  connect(header_, &QPushButton::clicked, this, &VjpView::goToForward);
  element_->setPlaceholderText(QStringLiteral("element: 2, 3"));
  element_->setAccessibleName(QStringLiteral("Element to explain"));
  followFont(element_, [line = element_] { line->setMaximumWidth(scaled(130)); });
  element_->setClearButtonEnabled(true);
  connect(element_, &QLineEdit::returnPressed, this, &VjpView::explainTyped);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(0, 2, 8, 2);
  line->addWidget(header_, 1);
  line->addWidget(element_);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(new BranchStrip(session_, this));
  all->addLayout(line);
  all->addWidget(scroll_, 1);
}

void VjpView::makeActions() {
  auto* forward =
      addKeyedAction(this, QStringLiteral("Go to the forward op"), {QKeySequence(Qt::ALT | Qt::Key_Up)},
                     QStringLiteral("Move the cursor to the op whose VJP this is"));
  connect(forward, &QAction::triggered, this, &VjpView::goToForward);
  auto* back = addKeyedAction(this, QStringLiteral("Go to the VJP"), {QKeySequence(Qt::ALT | Qt::Key_Down)},
                              QStringLiteral("Move the cursor to the VJP of this op"));
  connect(back, &QAction::triggered, this, &VjpView::goToVjp);
  auto* explain = addKeyedAction(
      this, QStringLiteral("Explain an element"), {QKeySequence(Qt::ALT | Qt::Key_N)},
      QStringLiteral("Type the index of an element, to see the numbers that it is computed from"));
  connect(explain, &QAction::triggered, this, [this] {
    element_->setFocus(Qt::ShortcutFocusReason);
    element_->selectAll();
  });
  auto* show = addKeyedAction(this, QStringLiteral("Show in Tensor"), {QKeySequence(Qt::ALT | Qt::Key_M)},
                              QStringLiteral("Show the chosen value in the panel Tensor"));
  connect(show, &QAction::triggered, sheet_, &VjpSheet::openCurrent);
  auto* copy = addKeyedAction(this, QStringLiteral("Copy formula as TeX"), {QKeySequence::Copy},
                              QStringLiteral("Copy the chosen formula, or the VJP's own one, as TeX"));
  connect(copy, &QAction::triggered, sheet_, &VjpSheet::copyFormula);
  reveal_ = addKeyedAction(
      this, QStringLiteral("Show what will come out"), {QKeySequence(Qt::ALT | Qt::Key_G)},
      QStringLiteral("Show the gradients that this VJP will give, before the step that runs it"));
  reveal_->setShortcutContext(Qt::WindowShortcut);  // stepping leaves the keyboard in the notebook
  connect(reveal_, &QAction::triggered, model_, &VjpModel::showResults);
  element_->setToolTip(explain->toolTip());
}

bool VjpView::isEmpty() const {
  return !model_->seen();
}

QList<HandledKeys> VjpView::handledKeys() const {
  return {{{Qt::Key_Up, Qt::Key_Down}, QStringLiteral("Another value")},
          {{Qt::Key_Left, Qt::Key_Right}, QStringLiteral("Explain another element of a contribution")},
          {{Qt::SHIFT | Qt::Key_Up, Qt::SHIFT | Qt::Key_Down}, QStringLiteral("Choose another formula")},
          {{Qt::Key_Return}, QStringLiteral("Show the value in Tensor, or go to the op")},
          {{Qt::Key_Escape}, QStringLiteral("End the explanation")}};
}

QString VjpView::placeText() const {
  if (!model_->parts().forward) return {};
  const protocol::Record& forward = *model_->parts().forward;
  const QString line = forward.line ? QStringLiteral("line %1").arg(forward.line) : QString();
  if (forward.cell.empty()) return line;
  const QString cell = cells_.name(forward);
  return line.isEmpty() ? cell : QStringLiteral("%1 %2").arg(cell, line);
}

QString VjpView::headerText() const {
  const protocol::VjpParts& parts = model_->parts();
  if (parts.sum) return QStringLiteral("%1 · op %2").arg(sumTitle(*parts.sum), countText(parts.sum->record));
  if (!parts.forward) return QStringLiteral("No VJP here");
  const QString op = QString::fromStdString(parts.forward->op);
  const bool custom = parts.vjp && parts.vjp->custom_gradient;
  const bool call = parts.forward->kind == protocol::RecordKind::call;
  QStringList words{(call     ? QStringLiteral("No VJP of its own: %1")
                     : custom ? QStringLiteral("Custom gradient of %1")
                              : QStringLiteral("VJP of %1"))
                        .arg(op)};
  words << QStringLiteral("op %1").arg(countText(parts.forward->number));
  if (const QString place = placeText(); !place.isEmpty()) words << place;
  return words.join(QStringLiteral(" · "));
}

/// As much of it as there is room for; the tooltip has all.
void VjpView::showHeader() {
  const QString text = headerText();
  header_->setAccessibleName(text);
  header_->setText(header_->fontMetrics().elidedText(text, Qt::ElideRight, header_->width() - 20));
}

void VjpView::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  showHeader();
}

// A style sheet keeps the colours that it was made with.
void VjpView::changeEvent(QEvent* event) {
  Panel::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  header_->setStyleSheet({});
  header_->setStyleSheet(header_style);
}

void VjpView::refresh() {
  const protocol::VjpParts& parts = model_->parts();
  showHeader();
  header_->setEnabled(parts.forward.has_value());
  header_->setToolTip(
      plainTip(parts.forward ? QStringLiteral("%1\nClick to go to the forward op (Alt+Up)").arg(headerText())
                             : model_->problem()));
  element_->setEnabled(!parts.contributions.empty());
  const bool hides = model_->hidesResults();
  const quint64 vjp = parts.vjp ? parts.vjp->number : 0;
  if (!hides && hiding_ != 0 && hiding_ == vjp && parts.vjp->state == protocol::RecordState::pending) {
    revealed_ = vjp;
    shownResults_ = {};
  }
  hiding_ = hides ? vjp : 0;
  reveal_->setEnabled(hides);
  showRevealed();
}

void VjpView::goToForward() {
  if (const auto& forward = model_->parts().forward) session_.setCursor(forward->number);
}

void VjpView::goToVjp() {
  if (const auto& vjp = model_->parts().vjp) session_.setCursor(vjp->number);
}

void VjpView::explainTyped() {
  // Of the contribution that is shown, else the first.
  int contribution = model_->element() ? model_->element()->contribution : 0;
  const int row = sheet_->currentRow();
  if (row >= 0 && sheet_->contents().rows[static_cast<std::size_t>(row)].contribution >= 0)
    contribution = sheet_->contents().rows[static_cast<std::size_t>(row)].contribution;
  QString wrong;
  if (const auto element = model_->elementAt(contribution, element_->text(), &wrong))
    model_->explain(contribution, *element);
  else if (!wrong.isEmpty())
    QToolTip::showText(element_->mapToGlobal(QPoint(0, element_->height())), plainTip(wrong), element_);
}

/// What was asked for comes into sight, from its heading on; again when values or formulas that came since
/// have moved it.
void VjpView::showRevealed() {
  const auto& vjp = model_->parts().vjp;
  const QRectF results = sheet_->contents().results;
  if (!revealed_ || !vjp || vjp->number != revealed_ || vjp->state != protocol::RecordState::pending) return;
  if (results.isEmpty() || results == shownResults_) return;
  shownResults_ = results;
  scroll_->ensureVisible(0, static_cast<int>(results.bottom()), 0, 4);
  scroll_->ensureVisible(0, static_cast<int>(results.top()), 0, 4);
}

/// The terms stand below their contribution: it comes into sight, with them as far as there is room.
void VjpView::showExplained() {
  if (!model_->element()) return;
  for (const SheetRow& row : sheet_->contents().rows) {
    if (row.contribution != model_->element()->contribution) continue;
    constexpr int room_for_terms = 120;
    scroll_->ensureVisible(0, static_cast<int>(row.rect.bottom()) + room_for_terms, 0, 8);
    scroll_->ensureVisible(0, static_cast<int>(row.rect.top()), 0, 4);
    const QString index = indexText(row.info.shape, model_->element()->element);
    if (!element_->hasFocus()) element_->setText(index);
    return;
  }
}

void VjpView::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  model_->setActive(true);
}

void VjpView::hideEvent(QHideEvent* event) {
  Panel::hideEvent(event);
  model_->setActive(false);
}

}  // namespace tapedeck::inspector
