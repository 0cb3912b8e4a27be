#include "inspector/panels/why/why_view.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/row_list.h"
#include "inspector/ui/sentence_area.h"

namespace tapedeck::inspector {

namespace {

enum WhyColumn { why_place_column, why_role_column, why_value_column, why_amount_column, why_column_count };

constexpr int most_answer_lines = 5;

QString placeText(const protocol::Reason& reason) {
  const QString op = QString::fromStdString(reason.op);
  return reason.record ? QStringLiteral("%1 · op %2").arg(op, countText(*reason.record)) : op;
}

QString valueText(const protocol::Reason& reason) {
  QStringList operands;
  for (const std::string& operand : reason.operands) operands << QString::fromStdString(operand);
  QString text = operands.join(QStringLiteral(", "));
  if (reason.value)
    text += (text.isEmpty() ? QString() : QStringLiteral(" → ")) + QString::fromStdString(*reason.value);
  return text;
}

}  // namespace

struct WhyView::Private {
  Private(WhyView* view, WhyModel& model) : view(view), model(model) {}

  WhyView* view;
  WhyModel& model;
  ElidingLabel* question = nullptr;
  SentenceArea* sentence = nullptr;
  QTreeWidget* reasons = nullptr;
  QAction *back = nullptr, *forward = nullptr, *cancel = nullptr, *show = nullptr;
  std::function<QString(const QString&, RecordNumber)> cellName;

  QAction* addAction(const QString& text, const QKeySequence& key, const QString& tip, QBoxLayout* bar) {
    QAction* action = addKeyedAction(view, tip, {key}, tip);
    action->setIconText(text);
    auto* button = new QToolButton(view);
    button->setDefaultAction(action);
    button->setAutoRaise(true);
    button->setAccessibleName(tip);
    bar->addWidget(button);
    return action;
  }

  QLayout* makeBar() {
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(4, 2, 4, 0);
    bar->setSpacing(2);
    back =
        addAction(QStringLiteral("◀"), Qt::ALT | Qt::Key_PageUp, QStringLiteral("The previous answer"), bar);
    forward =
        addAction(QStringLiteral("▶"), Qt::ALT | Qt::Key_PageDown, QStringLiteral("The next answer"), bar);
    question = new ElidingLabel(Qt::ElideRight, view);
    QFont bold = question->font();
    bold.setBold(true);
    question->setFont(bold);
    bar->addWidget(question, 1);
    cancel = addAction(QStringLiteral("Cancel"), Qt::Key_Escape,
                       QStringLiteral("Stop looking for the answer"), bar);
    QObject::connect(back, &QAction::triggered, &model, &WhyModel::back);
    QObject::connect(forward, &QAction::triggered, &model, &WhyModel::forward);
    QObject::connect(cancel, &QAction::triggered, &model, &WhyModel::cancel);
    return bar;
  }

  void makeReasons() {
    reasons = new QTreeWidget(view);
    reasons->setObjectName(QStringLiteral("whyReasons"));
    reasons->setAccessibleName(QStringLiteral("Records of the answer"));
    reasons->setHeaderLabels(titles({}));
    reasons->setColumnHidden(why_amount_column, true);
    reasons->setRootIsDecorated(false);
    reasons->setAllColumnsShowFocus(true);
    reasons->setTextElideMode(Qt::ElideRight);
    stretchColumn(reasons, why_value_column);
    show = new QAction(QStringLiteral("Show"), view);
    setKey(show, {Qt::Key_Return, Qt::Key_Enter},
           QStringLiteral("Move the cursor to this record, and show its tensor and element"));
    show->setShortcutContext(Qt::WidgetShortcut);
    reasons->addAction(show);
    QObject::connect(show, &QAction::triggered, view, [this] { model.show(reasons->currentIndex().row()); });
    QObject::connect(reasons, &QTreeWidget::itemClicked, view,
                     [this](QTreeWidgetItem* item) { model.show(reasons->indexOfTopLevelItem(item)); });
  }

  /// The amount's name begins with a capital, as the others.
  QStringList titles(const QString& amount) const {
    return {QStringLiteral("Op"), QStringLiteral("Where"), QStringLiteral("What"),
            amount.left(1).toUpper() + amount.mid(1)};
  }

  QString where(const protocol::Reason& reason) const {
    QString text;
    if (!reason.cell.empty()) {
      const QString id = QString::fromStdString(reason.cell);
      text = cellName ? cellName(id, reason.record.value_or(0)) : id;
    } else if (!reason.file.empty()) {
      text = QFileInfo(QString::fromStdString(reason.file)).fileName();
    }
    if (!reason.line) return text;
    if (!text.isEmpty()) text += QLatin1Char(' ');
    return text + (reason.last_line > reason.line
                       ? QStringLiteral("lines %1–%2").arg(reason.line).arg(reason.last_line)
                       : QStringLiteral("line %1").arg(reason.line));
  }

  void fillReasons(const WhyAnswer& answer) {
    reasons->setHeaderLabels(titles(QString::fromStdString(answer.because.amount.value_or(""))));
    reasons->setColumnHidden(why_amount_column, !answer.because.amount);
    for (const protocol::Reason& reason : answer.because.reasons) {
      const QString what =
          QString::fromStdString(reason.role) + QStringLiteral(": ") +
          (valueText(reason).isEmpty() ? QString::fromStdString(reason.sentence) : valueText(reason));
      auto* item = new QTreeWidgetItem(reasons, {placeText(reason), where(reason), what,
                                                 QString::fromStdString(reason.amount_text.value_or(""))});
      const QString tip =
          QString::fromStdString(reason.sentence) + QStringLiteral("\nEnter or a click shows it.");
      for (int column = 0; column < why_column_count; ++column) item->setToolTip(column, plainTip(tip));
      item->setData(why_value_column, Qt::AccessibleTextRole, QString::fromStdString(reason.sentence));
    }
    if (reasons->topLevelItemCount()) reasons->setCurrentItem(reasons->topLevelItem(0));
  }
};

WhyView::WhyView(WhyModel& model, QWidget* parent)
    : Panel(parent), d_(std::make_unique<Private>(this, model)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addLayout(d_->makeBar());
  d_->sentence = new SentenceArea(QStringLiteral("whySentence"), most_answer_lines, this);
  d_->makeReasons();
  layout->addWidget(d_->sentence);
  layout->addWidget(d_->reasons, 1);
  layout->addStretch();  // an answer without reasons is at the top
  setFocusProxy(d_->reasons);
  connect(&model, &WhyModel::changed, this, &WhyView::showAnswer);
  connect(&model, &WhyModel::changed, this, &Panel::emptyChanged);
  showAnswer();
}

WhyView::~WhyView() = default;

bool WhyView::isEmpty() const {
  return d_->model.count() == 0 && !d_->model.asking();
}

QList<QAction*> WhyView::menuActions() const {
  return {d_->back, d_->forward, d_->show, d_->cancel};
}

void WhyView::setCellName(std::function<QString(const QString&, RecordNumber)> name) {
  d_->cellName = std::move(name);
  showAnswer();
}

QTreeWidget* WhyView::reasons() const {
  return d_->reasons;
}
QLabel* WhyView::sentence() const {
  return d_->sentence->label();
}
QLabel* WhyView::question() const {
  return d_->question;
}

void WhyView::showAnswer() {
  const WhyAnswer* answer = d_->model.answer();
  const bool asking = d_->model.asking();
  d_->back->setEnabled(d_->model.canGoBack());
  d_->forward->setEnabled(d_->model.canGoForward());
  d_->cancel->setEnabled(asking);
  d_->show->setEnabled(answer && !answer->because.reasons.empty());
  d_->reasons->clear();
  if (asking) {
    d_->question->setText(QStringLiteral("Looking for the answer"));
    d_->sentence->setText(
        QStringLiteral("Working: %1. Cancel, or Esc in this panel, stops it.").arg(d_->model.progress()));
  } else if (answer) {
    d_->question->setText(answer->asked + QStringLiteral("   ") + answer->about);
    d_->sentence->setText(QString::fromStdString(answer->because.sentence));
    d_->fillReasons(*answer);
  } else {
    d_->question->setText(QString());
    d_->sentence->setText(QStringLiteral(
        "Select an op or an element, and choose a question in the menu Why: its answer appears here."));
  }
  // It has the panel's focus, without which Esc would not come here.
  d_->reasons->setVisible(asking || d_->reasons->topLevelItemCount() > 0);
}

}  // namespace tapedeck::inspector
