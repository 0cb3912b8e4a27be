// Every action of the window, once: text, key, tooltip and icon. Menus and tool bar come from
// here.
#pragma once

#include <QAction>
#include <QHash>
#include <QObject>

namespace tapedeck::app {

class Actions : public QObject {
  Q_OBJECT
 public:
  explicit Actions(QWidget* window);
  /// The action called `id` ("step.op"). The id must exist.
  QAction* operator[](const QString& id) const;
  /// All ids in the order of the menus: "file.new", "file.open", …
  QStringList ids() const { return order_; }
  /// Puts the keys of these into force in `widget` only, with what is in it.
  void keepWithin(QWidget* widget, const QStringList& ids);

 private:
  QStringList order_;
  QHash<QString, QAction*> actions_;
};

}  // namespace tapedeck::app
