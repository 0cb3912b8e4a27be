// What the window shows before a notebook is open: samples, recent notebooks, work that a crash left unsaved.
#pragma once

#include <QScrollArea>

class QVBoxLayout;

namespace tapedeck::app {

class StartPage : public QScrollArea {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);

 signals:
  void openRequested(const QString& path);
  void newRequested();
  void browseRequested();
  void attachRequested();

 private:
  void addCard(QVBoxLayout* column, const QString& title, const QString& text, const QString& path);
};

}  // namespace tapedeck::app
