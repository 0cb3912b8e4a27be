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

 private:
  void offer();
  void take(const QString& word);
  QStringList opNames() const;

  Session& session_;
  QCompleter* completer_;
  QStringListModel* list_;
  int begin_ = 0;
};

}  // namespace tapedeck::inspector
