// Which of a branch and the original the views see.
#include "inspector/model/session/session_private.h"

namespace tapedeck::inspector {

void Session::Private::setLook(const BranchLook& next) {
  if (next == look) return;
  const bool same = look.sameValues(next);
  look = next;
  if (!same) previews.forget();
  emit q->lookChanged();
}

// The one place through which every view's questions about values go.
protocol::Request Session::Private::forShownBranch(const protocol::Request& message) const {
  if (!look.elsewhere()) return message;
  const bool difference = look.shown == Beside::difference;
  if (const auto* tile = protocol::get_if<protocol::GetTile>(&message))
    return protocol::GetBranchTile{look.branch, difference, *tile};
  if (const auto* statistics = protocol::get_if<protocol::GetStatistics>(&message))
    return protocol::GetBranchStatistics{look.branch, difference, *statistics};
  if (const auto* find = protocol::get_if<protocol::FindElement>(&message)) {
    protocol::FindElement there = *find;
    there.branch = look.branch;
    there.difference = difference;
    return there;
  }
  return message;
}

const BranchLook& Session::look() const {
  return d_->look;
}

void Session::setLook(const BranchLook& look) {
  d_->setLook(d_->live ? look : BranchLook{});
}

protocol::TensorInfo Session::withShownPreview(protocol::TensorInfo tensor) {
  tensor.preview = d_->previews.text(tensor).toStdString();
  return tensor;
}

protocol::Record Session::withShownPreviews(protocol::Record record) {
  for (auto* tensors : {&record.inputs, &record.outputs})
    for (protocol::TensorInfo& tensor : *tensors) tensor = withShownPreview(std::move(tensor));
  return record;
}

}  // namespace tapedeck::inspector
