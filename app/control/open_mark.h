// Tells the Tapedeck programs of one user which notebooks the others have open.
#pragma once

#include <QLockFile>
#include <QString>
#include <memory>

namespace tapedeck::app {

/// Marks one notebook as open here, until another one is or this is destroyed. A mark of a program that died
/// no longer counts.
class OpenMark {
 public:
  /// An empty path takes the mark away. False where another process has it open.
  bool set(const QString& path);

 private:
  std::unique_ptr<QLockFile> lock_;
};

}  // namespace tapedeck::app
