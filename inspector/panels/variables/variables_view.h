// Variables, watch expressions and the call stack, one below the other.
#pragma once

#include "inspector/panels/panel.h"

class QLabel;
class QLineEdit;
class QListView;
class QPushButton;
class QToolButton;

namespace tapedeck::inspector {

class FramesModel;
class ValueFilter;
class ValueTree;
class ValueView;
class VariablesModel;
class WatchModel;

/// Empty until there is a session.
class VariablesView : public Panel {
  Q_OBJECT
 public:
  VariablesView(Session& session, FramesModel& frames, WatchModel& watches, QWidget* parent = nullptr);

  bool isEmpty() const override { return empty_; }
  QList<QAction*> menuActions() const override { return panelActions_; }
  QList<HandledKeys> handledKeys() const override;

  // What tests press.
  VariablesModel* model() const { return model_; }
  ValueView* table() const { return table_; }
  ValueView* watchTable() const { return watchTable_; }
  QListView* stack() const { return stack_; }
  QLineEdit* filterEdit() const { return filter_; }
  QLineEdit* watchEdit() const { return watch_; }
  QLabel* offerText() const { return offerText_; }
  QToolButton* acceptButton() const { return accept_; }
  QToolButton* discardButton() const { return discard_; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void makeVariables();
  void makeWatches();
  void makeOffer();
  /// The file's watch expressions, which do not run until the user accepts them.
  void showOffer();
  void makeStack();
  void fit();
  void makeActions();
  void makeValueActions();
  QAction* addPanelAction(QWidget* owner, const QString& text, const QKeySequence& key, const QString& tip,
                          const std::function<void()>& act);
  /// Variables or watches: where the keyboard is.
  ValueView* focusedTable() const;
  void connectTree(ValueTree* tree);
  void look();
  void showPlace();
  void moveFrame(int by);

  Session& session_;
  FramesModel& frames_;
  WatchModel& watches_;
  VariablesModel* model_;
  ValueFilter* proxy_;
  bool empty_ = true;
  QLabel *place_ = nullptr, *stackTitle_ = nullptr, *offerText_ = nullptr;
  QWidget* offer_ = nullptr;
  QToolButton *accept_ = nullptr, *discard_ = nullptr;
  QLineEdit *filter_ = nullptr, *watch_ = nullptr;
  ValueView *table_ = nullptr, *watchTable_ = nullptr;
  QListView* stack_ = nullptr;
  QPushButton* moreFrames_ = nullptr;
  QList<QAction*> panelActions_;
};

}  // namespace tapedeck::inspector
