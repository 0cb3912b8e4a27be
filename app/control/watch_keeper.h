// The watch expressions of a notebook, kept in its file.
#pragma once

#include <QObject>

#include "app/notebook/document/document.h"
#include "inspector/model/variables/watch_model.h"

namespace tapedeck::app {

/// A notebook without expressions has nothing of them in its file. Reading them runs nothing, in no session:
/// they wait until the user accepts them.
class WatchKeeper : public QObject {
  Q_OBJECT
 public:
  WatchKeeper(Document* document, inspector::WatchModel* watches, QObject* parent = nullptr);

 private:
  void read();
  void write();

  Document* document_;
  inspector::WatchModel* watches_;
  nlohmann::ordered_json beyond_ =
      nlohmann::ordered_json::array();  ///< more than are watched: they stay in the file
};

}  // namespace tapedeck::app
