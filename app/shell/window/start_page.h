// What the window shows before a notebook is open: samples, recent notebooks, work that a crash left unsaved.
#pragma once

#include <QList>
#include <QScrollArea>

class QGridLayout;
class QPushButton;
class QVBoxLayout;

#include "app/shell/window/samples.h"

namespace tapedeck::app {

class StartCard;

/// Samples to learn from, puzzles, samples that train, and recent notebooks: in as many columns as there is
/// room for.
class StartPage : public QScrollArea {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);
  /// What the button says: the environment's name; empty: the program's own.
  void setEnvironment(const QString& given);

 signals:
  void openRequested(const QString& path);
  void newRequested();
  void browseRequested();
  void attachRequested();
  void environmentRequested();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* sampleColumn(SampleKind kind, const QString& title);
  QWidget* recentNotebookList();
  QWidget* torchSamples();
  void addCard(QVBoxLayout* column, StartCard* card, const QString& path);
  void placeColumns();

  QGridLayout* grid_ = nullptr;
  QPushButton* environment_ = nullptr;
  QList<QWidget*> columns_;
  int across_ = 0;
};

}  // namespace tapedeck::app
