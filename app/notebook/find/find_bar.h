// Find and replace, at the top of the notebook.
#pragma once

#include <QFrame>
#include <QPointer>

#include "app/notebook/find/notebook_finder.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace tapedeck::app {

/// Enter goes to the next hit, Shift+Enter to the previous one, Ctrl+Enter into the text at the hit; Esc
/// closes the bar and returns to where the user was.
class FindBar : public QFrame {
  Q_OBJECT
 public:
  FindBar(Document* document, NotebookView* view, QWidget* parent = nullptr);

  /// Opens with the focus, and searches for the text selected in the editor, if any.
  void open(bool replace);
  void close();
  /// Also where the bar is closed: repeats the last search. In the notebook's text the cursor follows.
  void step(int steps);
  NotebookFinder* finder() const { return finder_; }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QToolButton* addToggle(QLayout* bar, const QString& text, const QString& name, const QString& tip);
  QToolButton* addButton(QLayout* bar, const QString& text, const QString& name, const QString& tip);
  void build();
  /// Of the text cursor, with what is selected; the beginning of the cell where there is none.
  struct Place {
    int cell = -1;
    qsizetype first = 0, last = 0;
    bool operator==(const Place&) const = default;
  };
  Place cursorPlace() const;
  void rememberPlace();
  void search();
  void update();
  void replaceAll();
  bool fieldKey(QLineEdit* field, const QKeyEvent& event);

  Document* document_;
  NotebookView* view_;
  NotebookFinder* finder_;
  QLineEdit* field_ = nullptr;
  QLineEdit* by_ = nullptr;
  QToolButton *case_ = nullptr, *word_ = nullptr, *expression_ = nullptr;
  QCheckBox* outputs_ = nullptr;
  QToolButton *previous_ = nullptr, *next_ = nullptr, *close_ = nullptr;
  QToolButton *replace_ = nullptr, *replaceAll_ = nullptr;
  QLabel* summary_ = nullptr;
  QWidget* replaceRow_ = nullptr;
  QString done_;  ///< what Replace all did, until the next search
  // Where the user was.
  Place stepped_;  ///< where the cursor was after the last step from the notebook
  QPointer<QWidget> focus_;
  int scrolled_ = 0;
};

}  // namespace tapedeck::app
