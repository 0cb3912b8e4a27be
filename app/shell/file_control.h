// The window's notebook as a file: opening, saving, closing, and work that an earlier run could not save.
#pragma once

#include <QObject>
#include <functional>
#include <memory>

#include "app/kernel/kernel_session.h"
#include "app/notebook/document/document.h"
#include "app/shell/message_bar.h"

namespace tapedeck::app {

class RecoveryWriter;
struct RecoveryEntry;

/// What can go wrong is told in the message bar.
class FileControl : public QObject {
  Q_OBJECT
 public:
  /// `window`: of which dialogs are children.
  FileControl(Document* document, KernelSession* kernel, MessageBar* messages, QWidget* window);
  ~FileControl() override;

  /// In this window where it has nothing to lose, else elsewhere().
  void open(const QString& path);
  void create();
  /// Asks which one to open.
  void browse();
  void save();
  void saveAs();
  /// Asks about changes that are not saved. False: the window stays.
  bool mayClose();
  /// Tells of work that was kept when the program ended unexpectedly.
  void offerRecoveries();

  /// No notebook yet.
  bool empty() const { return empty_; }
  /// The notebook's name for people: its file's, or "Untitled2".
  QString name() const;

 signals:
  /// The first notebook came, or another one.
  void entered();
  void nameChanged();
  /// Something went well: for the status bar.
  void told(const QString& sentence);
  /// To be done with a window of its own.
  void elsewhere(const std::function<void(tapedeck::app::FileControl&)>& act);

 private:
  void enter();
  void load(const QString& path);
  bool write(const QString& path);
  bool saveOrAsk();
  void restore(const RecoveryEntry& entry);

  Document* document_;
  KernelSession* kernel_;
  MessageBar* messages_;
  QWidget* window_;
  std::unique_ptr<RecoveryWriter> recovery_;
  bool empty_ = true;
  int untitled_ = 0;
};

}  // namespace tapedeck::app
