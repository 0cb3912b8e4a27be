// Small values of a branch as text, fetched when a view asks for them.
#pragma once

#include <QObject>
#include <QTimer>
#include <set>
#include <unordered_map>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class BranchPreviews : public QObject {
  Q_OBJECT
 public:
  explicit BranchPreviews(Session* session);

  /// The original's preview where that is shown; empty while the branch's is being fetched.
  QString text(const protocol::TensorInfo& tensor);
  /// Another branch, or the other of the two, is shown.
  void forget();

 signals:
  void arrived();

 private:
  void ask();
  void take(const std::vector<std::uint64_t>& tensors, const protocol::BranchPreviews& answer);

  Session* session_;
  std::unordered_map<std::uint64_t, QString> texts_;
  std::set<std::uint64_t> wanted_;
  QTimer timer_;
};

}  // namespace tapedeck::inspector
