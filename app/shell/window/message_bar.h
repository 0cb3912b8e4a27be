// Sentences for the user above the notebook, with what can be done about them; never blocks.
#pragma once

#include <QFrame>
#include <QHash>
#include <functional>

class QVBoxLayout;

namespace tapedeck::app {

class MessageRow;

/// Messages stand below each other, the newest at the top, until each is closed: an offer is never lost
/// because something else happened. Escape, with the focus among its buttons, closes a message.
class MessageBar : public QFrame {
  Q_OBJECT
 public:
  enum class Kind { information, warning, error };
  struct Choice {
    QString text;
    std::function<void()> act;
  };
  explicit MessageBar(QWidget* parent = nullptr);
  /// Adds a message. Every choice closes it and then acts; a close button is always there. A message of the
  /// same `topic` is replaced; so is one that says the same. Where there are too many, the oldest that offers
  /// nothing goes.
  void show(Kind kind, const QString& sentence, const QList<Choice>& choices = {}, const QString& topic = {});
  /// Says something else in the message of a topic, whose choices stay.
  void reword(const QString& topic, const QString& sentence);
  /// What is shown, the newest first, a line for each message.
  QString text() const;
  bool shows(const QString& topic) const;

 public slots:
  /// Closes what is shown of a topic; without one, all that belongs to none.
  void dismiss(const QString& topic = {});
  void dismissNewest();
  /// The keyboard goes to the newest message's first button.
  void focusMessage();

 signals:
  void emptied(bool hadFocus);  ///< the last message was closed

 private:
  void close(MessageRow* row);

  QVBoxLayout* column_;
  QList<MessageRow*> rows_;  ///< the newest first
};

}  // namespace tapedeck::app
