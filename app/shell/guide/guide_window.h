// The guide in a window of its own, which stays open beside the work: pages, search, and the way back. It has
// no parent, because a window manager keeps a window above its parent, and what a link opens there behind it.
#pragma once

#include <QDialog>
#include <QList>

class QAction;
class QLineEdit;
class QListWidget;

namespace tapedeck::app {

class GuideText;

class GuideWindow : public QDialog {
  Q_OBJECT
 public:
  /// `owner`: the window that it is the guide of; it begins in its middle, and closes when that is hidden.
  explicit GuideWindow(QWidget* owner);

  /// `address`: "why.md", "why.md#heading" or "#heading" of the page that is shown.
  void open(const QString& address);

 signals:
  void commandWanted(const QString& id);
  void sampleWanted(const QString& file);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Place {
    int page = 0;
    QString anchor;
  };
  void place();
  void follow(const QString& address);
  void visit(const Place& place, const QString& words = {});
  void listPages();
  void search(const QString& words);
  void choose(int row);
  void go(int by);
  void updateWay();

  QWidget* owner_;
  QLineEdit* field_;
  QListWidget* list_;
  GuideText* text_;
  QAction* back_;
  QAction* forward_;
  QList<Place> history_;  ///< pages that were shown, the oldest first
  int at_ = -1;
};

}  // namespace tapedeck::app
