// The questions as actions: in the menu Why, and in the context menus of whatever they can be asked about.
#pragma once

#include <QAction>
#include <QList>
#include <QMenu>

#include "inspector/model/what_if/why.h"

namespace tapedeck::inspector {

/// One set for the window: their keys work everywhere in it. Each asks about the model's subject, and is
/// disabled, with a tooltip that says why, where its question makes no sense.
class WhyActions : public QObject {
  Q_OBJECT
 public:
  explicit WhyActions(WhyModel* model, QObject* parent = nullptr);
  WhyModel* model() const { return model_; }
  const QList<QAction*>& questions() const { return actions_; }
  /// The questions, and what was added to them.
  QList<QAction*> actions() const { return actions_ + others_; }
  /// Another action on the selection: it is in the context menus, too.
  void addOther(QAction* action) { others_ << action; }
  /// Adds them to a context menu, after a separator.
  void addTo(QMenu* menu) const;

 private:
  void update();

  WhyModel* model_;
  QList<QAction*> actions_, others_;
  QList<QString> tips_;
};

}  // namespace tapedeck::inspector
