// The slider under the window: where in the session the views are.
#pragma once

#include <QWidget>

class QLabel;
class QSlider;

namespace tapedeck::inspector {
class Session;
}

namespace tapedeck::app {

class Actions;

/// |◀ ◀ ━━━●━━━ ▶ ▶| and where the cursor is, in words.
class PlaybackBar : public QWidget {
  Q_OBJECT
 public:
  PlaybackBar(inspector::Session* session, const Actions& actions, QWidget* parent = nullptr);

 private:
  void update();

  inspector::Session* session_;
  QSlider* slider_;
  QLabel* label_;
};

}  // namespace tapedeck::app
