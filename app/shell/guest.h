// A window that looks at what runs, or ran, elsewhere: an attached program, or a trace file.
#pragma once

#include <QObject>

#include "app/kernel/attached_program.h"
#include "app/kernel/trace_session.h"
#include "app/notebook/document/document.h"
#include "app/shell/actions.h"
#include "app/shell/message_bar.h"
#include "inspector/model/frames_model.h"
#include "inspector/model/session.h"

namespace tapedeck::app {

/// Its lines are shown and can't be changed; what would run cells is disabled, and says why.
class Guest : public QObject {
  Q_OBJECT
 public:
  struct Parts {
    Kernel* kernel;
    Document* document;
    inspector::Session* session;
    inspector::FramesModel* frames;
    MessageBar* messages;
    Actions* actions;
  };
  explicit Guest(const Parts& parts, QObject* parent = nullptr);
  /// After the window has enabled what belongs to a notebook.
  void disableActions();

 private:
  void lookAt(AttachedProgram& program);
  void lookAt(const TraceSession& trace);

  Parts parts_;
  QString doubt_;  ///< told last: that files are newer than the program
};

}  // namespace tapedeck::app
