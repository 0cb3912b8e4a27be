// What If's commands: in the menu Why, and the first of them in the context menus of whatever can be changed.
#pragma once

#include <QAction>
#include <QHash>
#include <QList>

#include "inspector/model/what_if/what_if_model.h"

namespace tapedeck::inspector {

/// One set for the window: their keys work everywhere in it. Actions that can't be done are disabled, with a
/// tooltip that says why.
class WhatIfActions : public QObject {
  Q_OBJECT
 public:
  /// `why` knows the selection.
  WhatIfActions(WhatIfModel* model, WhyModel* why, QObject* parent = nullptr);
  WhatIfModel* model() const { return model_; }

  /// All, with separators, for a menu.
  QList<QAction*> actions() const { return actions_; }
  QAction* ask() const { return ask_; }
  QAction* askSet() const { return askSet_; }
  QAction* curves() const { return curves_; }
  QAction* replay() const { return replay_; }
  QAction* takeOver() const { return takeOver_; }
  QAction* forget() const { return forget_; }
  /// Original, branch, difference: one is checked.
  const QList<QAction*>& looks() const { return looks_; }

 signals:
  void asked();         ///< the user wants to change the selection
  void askedForSet();   ///< … many ops
  void curvesWanted();  ///< … to see Plots

 private:
  QAction* add(const char* id, const QString& text, const QKeySequence& key, const QString& tip);
  void addSeparator();
  void addLooks();
  void update();

  WhatIfModel* model_;
  QList<QAction*> actions_, looks_;
  QAction *ask_, *askSet_, *curves_, *replay_, *takeOver_, *forget_;
  QHash<const QAction*, QString> tips_;
};

}  // namespace tapedeck::inspector
