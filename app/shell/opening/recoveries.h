// Work that an earlier run of the program could not save: kept, offered until it is decided, restored or
// thrown away.
#pragma once

#include <QObject>

#include "app/control/recovery.h"
#include "app/shell/window/message_bar.h"

namespace tapedeck::app {

class FileControl;

class Recoveries : public QObject {
  Q_OBJECT
 public:
  Recoveries(Document* document, MessageBar* messages, FileControl* files);
  ~Recoveries() override;

  /// Offers each in the message bar, until it is restored, thrown away or its message closed; showAll() still
  /// lists it then.
  void offer();
  /// A notebook was opened: its own work is offered as such, that on others stays with the program's first
  /// window.
  void offerFor(const QString& path);
  /// All that is kept, in a list.
  void showAll();
  /// The document has the recovered work now: the recovery file becomes the document's own until that is
  /// saved.
  void adopt(const RecoveryEntry& entry);
  /// Asks; false: it stays.
  bool throwAway(const RecoveryEntry& entry);
  RecoveryWriter* writer() { return &writer_; }

 private:
  void tell(const RecoveryEntry& entry, const QString& sentence);
  void tellOthers(qsizetype count);
  void decided(const RecoveryEntry& entry);

  Document* document_;
  MessageBar* messages_;
  FileControl* files_;
  RecoveryWriter writer_;
  QString failure_;  ///< of writing, that was told
  bool first_;
};

}  // namespace tapedeck::app
