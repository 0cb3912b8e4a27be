// The Python environment of a window's sessions: chosen by the user, kept with the notebook, named by its
// metadata.
#pragma once

#include <QObject>

#include "app/control/chosen_environments.h"
#include "app/kernel/jupyter/kernel_session.h"
#include "app/kernel/process/python_environment.h"
#include "app/notebook/document/document.h"
#include "app/shell/window/message_bar.h"

namespace tapedeck::app {

/// What a file names runs only if the user chose that environment on this machine before; otherwise the
/// message bar offers it: the file may be anybody's.
class EnvironmentControl : public QObject {
  Q_OBJECT
 public:
  EnvironmentControl(KernelSession* kernel, Document* document, MessageBar* messages, QWidget* window);

  /// Shows the dialog.
  void choose();
  /// From the command line, for the sessions of this window and of those that it opens: it goes before what
  /// files name.
  void useForThisStart(const QString& given);
  /// To a window that this one opens.
  void handOn(EnvironmentControl& other) const;
  /// The window's document is another one, or its first.
  void documentEntered();

 signals:
  void told(const QString& sentence);
  /// Asks for a new session in place of the one that runs elsewhere.
  void restartWanted();

 private:
  void use(const QString& given);
  void offerRestart();
  void takeDocumentsEnvironment();
  void tellThatItIsGone(const WantedEnvironment& wanted, const QString& problem);
  void askForTorch();
  void offerTorch();

  static constexpr char about_environment[] = "environment";

  KernelSession* kernel_;
  Document* document_;
  MessageBar* messages_;
  QWidget* window_;
  EnvironmentProbe probe_;    ///< of the program's own Python
  bool entered_ = false;      ///< there is a document to keep the choice with
  bool forStart_ = false;     ///< of the command line
  bool keepOnEntry_ = false;  ///< chosen on the start page
};

}  // namespace tapedeck::app
