// The line above a long text: how much it is, and the actions on all of it.
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QToolButton;

namespace tapedeck::app {

class TextBar : public QWidget {
  Q_OBJECT
 public:
  explicit TextBar(QWidget* parent);

  void setAmount(const QString& text);
  QString amount() const;
  /// Which part of a text that scrolls by itself is shown; empty: all of it.
  void setInSight(const QString& text);
  QString inSight() const;
  /// Which part of it is stored where, in words; empty: there is nothing to say.
  void setNote(const QString& sentence);
  QString note() const;
  /// The result of a command, until the amount changes.
  void tell(const QString& text);
  void setFold(bool folded, const QString& tip);
  void setSearchable(bool on);
  void search();  ///< the keyboard goes to the words to be found
  int heightFor(int width) const;

 signals:
  void foldToggled();
  void copyWanted();
  void editorWanted();
  void findWanted(const QString& words, bool forward);
  void searchLeft();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* row_;
  QToolButton* fold_;
  QLabel* amount_;
  QLineEdit* words_;
  QLabel* inSight_;
  QLabel* note_;
  QString amountText_;
};

}  // namespace tapedeck::app
