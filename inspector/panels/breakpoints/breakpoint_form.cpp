#include "inspector/panels/breakpoints/breakpoint_form.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>

#include "engine/protocol/conditions/condition.h"
#include "inspector/panels/condition_edit.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;

namespace {

QString targetName(BreakpointKind kind) {
  switch (kind) {
    case BreakpointKind::op:
    case BreakpointKind::vjp:
      return QStringLiteral("Op:");
    case BreakpointKind::read:
    case BreakpointKind::write:
      return QStringLiteral("Variable:");
    default:
      return {};
  }
}

/// The text with a mark where the problem is, and the sentence.
QString withPlace(const QString& text, int position, const QString& sentence) {
  const int at = std::clamp(position, 0, static_cast<int>(text.size()));
  return QStringLiteral("%1▸%2\n%3").arg(text.left(at), text.mid(at), sentence);
}

}  // namespace

BreakpointForm::BreakpointForm(BreakpointsModel& breakpoints, Session& session, QWidget* parent)
    : QWidget(parent),
      breakpoints_(breakpoints),
      target_(new QLineEdit),
      condition_(new ConditionEdit(session)),
      fromHit_(new QSpinBox),
      action_(new QComboBox),
      text_(new QLineEdit),
      targetLabel_(plainLabel()),
      textLabel_(plainLabel(QStringLiteral("Text:"))),
      problem_(plainLabel()) {
  auto* layout = new QFormLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setVerticalSpacing(4);
  layout->setRowWrapPolicy(QFormLayout::WrapLongRows);
  target_->setObjectName(QStringLiteral("breakpointTarget"));
  target_->setToolTip(QStringLiteral(
      "A name; * matches anything: *pool*\nA new breakpoint is inactive until you enter a name"));
  targetLabel_->setBuddy(target_);
  layout->addRow(targetLabel_, target_);
  condition_->setObjectName(QStringLiteral("breakpointCondition"));
  condition_->setPlaceholderText(QStringLiteral("always"));
  condition_->setToolTip(
      QStringLiteral("It stops where this holds as well, for example\n"
                     "nan(out) or inf(any)     max(abs(out)) > 1e3     norm(grad) < 1e-8\n"
                     "out.shape != in0.shape     op:matmul and not backward     loss rose\n"
                     "step == 30 and max(abs(grad)) > 10: step is a name of the program"));
  layout->addRow(QStringLiteral("Condition:"), condition_);
  fromHit_->setObjectName(QStringLiteral("breakpointFromHit"));
  fromHit_->setRange(1, 1'000'000'000);
  fromHit_->setToolTip(QStringLiteral("Hits before this one are only counted"));
  layout->addRow(QStringLiteral("From hit:"), fromHit_);
  action_->setObjectName(QStringLiteral("breakpointAction"));
  action_->addItems({QStringLiteral("Stop"), QStringLiteral("Write a line"), QStringLiteral("Draw a point")});
  action_->setToolTip(
      QStringLiteral("What happens where it is hit: it stops; or a line goes to the cell's output; or a "
                     "point to a curve"));
  layout->addRow(QStringLiteral("Then:"), action_);
  text_->setObjectName(QStringLiteral("breakpointText"));
  textLabel_->setBuddy(text_);
  layout->addRow(textLabel_, text_);
  problem_->setObjectName(QStringLiteral("breakpointProblem"));
  problem_->setWordWrap(true);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addRow(problem_);
  for (QLineEdit* line : {target_, static_cast<QLineEdit*>(condition_), text_})
    connect(line, &QLineEdit::editingFinished, this, &BreakpointForm::commit);
  connect(condition_, &QLineEdit::textEdited, this, [this](const QString& text) {
    // Said at once, before the session is asked.
    problem_->clear();
    try {
      protocol::parse_unfinished(text.toStdString());
    } catch (const protocol::ConditionError& error) {
      const std::string typed = text.toStdString().substr(0, error.position);
      problem_->setText(withPlace(text, static_cast<int>(QString::fromStdString(typed).size()),
                                  QString::fromStdString(error.what())));
    }
    problem_->setVisible(!problem_->text().isEmpty());
    if (problem_->isVisible()) emit appeared(problem_);
  });
  connect(fromHit_, &QSpinBox::valueChanged, this, &BreakpointForm::commit);
  connect(action_, &QComboBox::currentIndexChanged, this, [this](int index) {
    if (filling_) return;
    if (text_->text().isEmpty() && index > 0)
      text_->setText(index == 1 ? QStringLiteral("{op}: {max(out)}") : QStringLiteral("norm = norm(out)"));
    commit();
    if (index > 0) emit appeared(text_);
  });
  // The wheel scrolls the form: over a field it would change what the breakpoint does.
  for (QWidget* field : {static_cast<QWidget*>(fromHit_), static_cast<QWidget*>(action_)}) {
    field->setFocusPolicy(Qt::StrongFocus);
    field->installEventFilter(this);
  }
  show(nullptr);
}

bool BreakpointForm::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::Wheel) return QWidget::eventFilter(object, event);
  event->ignore();
  return true;
}

void BreakpointForm::focusFirst() {
  QWidget* const first = target_->isVisible() ? static_cast<QWidget*>(target_) : condition_;
  first->setFocus(Qt::OtherFocusReason);
}

bool BreakpointForm::hasTarget(BreakpointKind kind) {
  return !targetName(kind).isEmpty();
}

void BreakpointForm::show(const BreakpointEntry* entry) {
  const quint64 next = entry ? entry->breakpoint.id : 0;
  if (shown_ != 0 && shown_ != next) {
    commit();  // what was typed for the one that is left
    entry = breakpoints_.find(next);
  }
  setVisible(entry != nullptr);
  if (!entry) {
    shown_ = 0;
    return;
  }
  const Breakpoint& breakpoint = entry->breakpoint;
  const bool same = shown_ == breakpoint.id;
  shown_ = breakpoint.id;
  filling_ = true;
  const auto fill = [same](QLineEdit* line, const std::string& text) {
    const QString shown = QString::fromStdString(text);
    if (line->text() != shown && !(same && line->hasFocus())) line->setText(shown);
  };
  fill(target_, breakpoint.target);
  fill(condition_, breakpoint.condition);
  fill(text_, breakpoint.text);
  if (!(same && fromHit_->hasFocus())) fromHit_->setValue(static_cast<int>(breakpoint.from_hit));
  action_->setCurrentIndex(static_cast<int>(breakpoint.action));
  const QString name = targetName(breakpoint.kind);
  targetLabel_->setText(name);
  targetLabel_->setVisible(!name.isEmpty());
  target_->setVisible(!name.isEmpty());
  target_->setPlaceholderText(QStringLiteral("any"));
  const bool writes = breakpoint.action != BreakpointAction::stop;
  text_->setVisible(writes);
  textLabel_->setVisible(writes);
  text_->setToolTip(
      breakpoint.action == BreakpointAction::log
          ? QStringLiteral(
                "The line. {max(out)}, {op}, {line}, {record}, {shape} and {hits} are replaced by "
                "their values at the hit\nWhere the line runs without an op of its own, it says so")
          : QStringLiteral("The curve's name and what it shows: loss norm = norm(grad)\nWhere its line runs "
                           "without an op of its own, no point is drawn"));
  filling_ = false;
  showProblem(*entry);
}

void BreakpointForm::showProblem(const BreakpointEntry& entry) {
  if (condition_->hasFocus() && condition_->text().toStdString() != entry.breakpoint.condition) return;
  QString text = entry.note;
  if (!entry.problem.isEmpty()) {
    const Breakpoint& breakpoint = entry.breakpoint;
    const std::string& whole = entry.part == QLatin1String("condition") ? breakpoint.condition
                               : entry.part == QLatin1String("target")  ? breakpoint.target
                                                                        : breakpoint.text;
    text = withPlace(QString::fromStdString(whole), entry.position, entry.problem);
  }
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
  QPalette colours = palette();
  const Theme theme = Theme::fromPalette(colours);
  colours.setColor(QPalette::WindowText, entry.problem.isEmpty() ? theme.warning.stroke : theme.error.stroke);
  problem_->setPalette(colours);
}

void BreakpointForm::commit() {
  const BreakpointEntry* entry = breakpoints_.find(shown_);
  if (!entry || filling_) return;
  Breakpoint changed = entry->breakpoint;
  changed.target = target_->text().trimmed().toStdString();
  changed.condition = condition_->text().trimmed().toStdString();
  changed.from_hit = static_cast<std::uint64_t>(fromHit_->value());
  changed.action = static_cast<BreakpointAction>(action_->currentIndex());
  changed.text = text_->text().toStdString();
  const Breakpoint& now = entry->breakpoint;
  if (changed.target == now.target && changed.condition == now.condition &&
      changed.from_hit == now.from_hit && changed.action == now.action && changed.text == now.text)
    return;
  // It was added switched off: now it is known where to stop.
  const bool said = !changed.target.empty() || !changed.condition.empty();
  if (hasTarget(now.kind) && now.target.empty() && now.condition.empty() && said) changed.enabled = true;
  breakpoints_.change(changed);
}

}  // namespace tapedeck::inspector
