// A sentence for the user above the notebook, with what can be done about it; never blocks.
#pragma once

#include <QFrame>
#include <functional>

class QLabel;
class QHBoxLayout;

namespace tapedeck::app {

class MessageBar : public QFrame {
  Q_OBJECT
 public:
  enum class Kind { information, warning, error };
  struct Choice {
    QString text;
    std::function<void()> act;
  };
  explicit MessageBar(QWidget* parent = nullptr);
  /// Replaces what is shown. Every choice closes the bar and then acts; a close button is always there.
  void show(Kind kind, const QString& sentence, const QList<Choice>& choices = {});
  QString text() const;

 public slots:
  void dismiss();

 private:
  QLabel* symbol_;
  QLabel* label_;
  QHBoxLayout* choices_;
};

}  // namespace tapedeck::app
