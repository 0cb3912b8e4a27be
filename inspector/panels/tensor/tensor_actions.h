// The actions on the values of the shown tensor: find some of them, copy and save them.
#pragma once

#include <QObject>
#include <functional>

#include "inspector/model/tensor/element_finder.h"
#include "inspector/model/tensor/tensor_save.h"

class QAction;
class QWidget;

namespace tapedeck::inspector {

class TensorCanvas;

class TensorActions : public QObject {
  Q_OBJECT
 public:
  /// `view` owns the actions, and they are in the canvas's menu. `model` outlives this.
  TensorActions(TensorModel* model, TensorCanvas* canvas, QWidget* view);

  /// Asks for a file's path, as askForPath() does; tests give another one.
  using AskPath = std::function<QString(const QString& name)>;
  void setAskPath(AskPath ask) { ask_path_ = std::move(ask); }
  TensorSave* save() { return &save_; }

 signals:
  /// For the line below the values. `stays`: until another comes.
  void told(const QString& sentence, bool stays);

 private:
  void makeJumps();
  void makeWriting();
  QAction* add(const QString& text, const QKeySequence& key, const QString& tip);
  void copyLiteral();
  void saveValues();
  void update();

  TensorModel* model_;
  TensorCanvas* canvas_;
  QWidget* view_;
  ElementFinder finder_;
  TensorSave save_;
  AskPath ask_path_;
  QList<QAction*> of_tensor_;  ///< enabled where there is one
  QAction* stop_ = nullptr;
};

}  // namespace tapedeck::inspector
