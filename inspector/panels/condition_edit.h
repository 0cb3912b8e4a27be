// A line in which a condition is typed, with completion.
#pragma once

#include <QLineEdit>

class QCompleter;
class QStringListModel;

namespace tapedeck::inspector {

class Session;

class ConditionEdit : public QLineEdit {
  Q_OBJECT
 public:
  explicit ConditionEdit(Session& session, QWidget* parent = nullptr);
  QCompleter* words() const { return completer_; }
  /// It is the filter of Ops, whose words include those that no breakpoint knows.
  void setFilters() { filters_ = true; }

 private:
  void offer();
  void take(const QString& word);
  QStringList opNames() const;

  Session& session_;
  QCompleter* completer_;
  QStringListModel* list_;
  int begin_ = 0;
  bool filters_ = false;
};

}  // namespace tapedeck::inspector
