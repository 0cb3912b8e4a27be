// The console: its output, above the field for the next input.
#pragma once

#include "inspector/model/variables/console_model.h"
#include "inspector/panels/panel.h"

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace tapedeck::inspector {

class ConsoleInput;

/// Empty until there is a session.
class ConsoleView : public Panel {
  Q_OBJECT
 public:
  ConsoleView(Session& session, FramesModel& frames, QWidget* parent = nullptr);

  bool isEmpty() const override { return empty_; }
  QList<QAction*> menuActions() const override { return actions_; }
  QList<HandledKeys> handledKeys() const override;

  ConsoleModel* model() const { return model_; }
  ConsoleInput* input() const { return input_; }
  QPlainTextEdit* output() const { return output_; }

 private:
  void say(ConsoleModel::Part part, const QString& text);
  void enter(const QString& code);
  void look();

  Session& session_;
  FramesModel& frames_;
  ConsoleModel* model_;
  bool empty_ = true;
  QLabel* place_ = nullptr;
  QPlainTextEdit* output_ = nullptr;
  ConsoleInput* input_ = nullptr;
  QToolButton* stop_ = nullptr;
  QList<QAction*> actions_;
};

}  // namespace tapedeck::inspector
