#include "inspector/panels/condition_edit.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QStringListModel>
#include <set>

#include "inspector/model/breakpoints/condition_completion.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

namespace {

/// Of the newest records that are here: enough to know a program's ops.
constexpr RecordNumber records_looked_at = 2000;

}  // namespace

ConditionEdit::ConditionEdit(Session& session, QWidget* parent)
    : QLineEdit(parent),
      session_(session),
      completer_(new QCompleter(this)),
      list_(new QStringListModel(this)) {
  completer_->setModel(list_);
  completer_->setWidget(this);
  completer_->setCompletionMode(QCompleter::PopupCompletion);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  completer_->popup()->setAccessibleName(QStringLiteral("Suggestions for this place"));
  // Else the list's activation, which comes late, takes the focus back from where Return moved it.
  completer_->popup()->setFocusProxy(nullptr);
  connect(this, &QLineEdit::textEdited, this, &ConditionEdit::offer);
  connect(this, &QLineEdit::returnPressed, completer_->popup(), &QWidget::hide);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &ConditionEdit::take);
}

QStringList ConditionEdit::opNames() const {
  std::set<std::string> names;
  const RecordNumber last = session_.recordCount();
  for (RecordNumber number = last; number > 0 && last - number < records_looked_at; --number)
    if (const protocol::Record* record = session_.cachedRecord(number)) names.insert(record->op);
  QStringList list;
  for (const std::string& name : names) list << QString::fromStdString(name);
  return list;
}

void ConditionEdit::offer() {
  const ConditionCompletion completion = completeCondition(text(), cursorPosition(), opNames(), filters_);
  if (completion.words.isEmpty()) {
    completer_->popup()->hide();
    return;
  }
  begin_ = completion.begin;
  list_->setStringList(completion.words);
  completer_->setCompletionPrefix(text().mid(begin_, cursorPosition() - begin_));
  completer_->complete();
}

void ConditionEdit::take(const QString& word) {
  QString whole = text();
  whole.replace(begin_, cursorPosition() - begin_, word);
  setText(whole);
  setCursorPosition(begin_ + static_cast<int>(word.size()));
  emit textEdited(whole);
}

}  // namespace tapedeck::inspector
