// One message of the message bar.
#pragma once

#include <QFrame>

#include "app/shell/window/message_bar.h"

class QGridLayout;
class QLabel;

namespace tapedeck::app {

class MessageRow : public QFrame {
  Q_OBJECT
 public:
  MessageRow(MessageBar::Kind kind, const QString& sentence, const QList<MessageBar::Choice>& choices,
             const QString& topic);
  const QString& sentence() const { return sentence_; }
  void setSentence(const QString& sentence);
  const QString& topic() const { return topic_; }
  bool offers() const { return offers_; }
  /// The keyboard goes to its first button.
  void focusFirst();

 signals:
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintSymbol();
  QColor colour() const;

  MessageBar::Kind kind_;
  QString sentence_, topic_;
  bool offers_;
  QLabel *symbol_, *label_;
  QGridLayout* grid_ = nullptr;
  QWidget *buttons_ = nullptr, *first_ = nullptr;
  bool below_ = false;  ///< where the buttons are
};

}  // namespace tapedeck::app
