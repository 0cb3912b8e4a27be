// Sentences for the user above the notebook, with what can be done about them; never blocks.
#pragma once

#include <QFrame>
#include <functional>

class QVBoxLayout;

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
  /// Replaces what is shown of the same topic; messages of other topics stay beside it until they are
  /// decided. Every choice closes the message and then acts; a close button is always there.
  void show(Kind kind, const QString& sentence, const QList<Choice>& choices = {}, const QString& topic = {});
  /// Says something else in the message of a topic, whose choices stay.
  void reword(const QString& topic, const QString& sentence);
  /// Of all messages that are shown, one on a line.
  QString text() const;
  bool shows(const QString& topic) const;

 public slots:
  void dismiss(const QString& topic = {});

 private:
  QWidget* row(const QString& topic) const;

  QVBoxLayout* rows_;
};

}  // namespace tapedeck::app
