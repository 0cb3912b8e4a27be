// Sentences for the user above the notebook, with what can be done about them; never blocks.
#pragma once

#include <QFrame>
#include <QHash>
#include <functional>

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace tapedeck::app {

class MessageRow;

/// One message is shown, at first the newest; those before it wait behind it until each is closed, and are
/// paged through: an offer is never lost because something else happened, and the notebook keeps its room.
/// Escape, with the focus among its buttons, closes a message.
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
  /// All messages, the newest first, a line for each.
  QString text() const;
  bool shows(const QString& topic) const;

 public slots:
  /// Closes what is shown of a topic; without one, all that belongs to none.
  void dismiss(const QString& topic = {});
  /// Closes the one that is shown.
  void dismissShown();
  /// The keyboard goes to the first button of the message that is shown; from there, to the message before
  /// it, and from the oldest to the newest.
  void focusMessage();

 signals:
  void emptied(bool hadFocus);  ///< the last message was closed

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void close(MessageRow* row);
  void page(qsizetype index);
  void showPage();

  QVBoxLayout* column_;
  QWidget* pager_;
  QLabel* place_;
  QToolButton *newer_, *older_;
  QList<MessageRow*> rows_;  ///< the newest first
  qsizetype shown_ = 0;
};

}  // namespace tapedeck::app
