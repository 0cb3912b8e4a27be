#include "inspector/model/what_if/branch_previews.h"

namespace tapedeck::inspector {

namespace {

constexpr std::size_t most_asked = 500;      // at once
constexpr std::size_t most_texts = 100'000;  // kept
const QString previews_channel = QStringLiteral("branch/previews");

}  // namespace

BranchPreviews::BranchPreviews(Session* session) : session_(session) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);
  connect(&timer_, &QTimer::timeout, this, &BranchPreviews::ask);
}

QString BranchPreviews::text(const protocol::TensorInfo& tensor) {
  if (!session_->look().elsewhere() || tensor.preview.empty()) return QString::fromStdString(tensor.preview);
  if (const auto known = texts_.find(tensor.id); known != texts_.end()) return known->second;
  wanted_.insert(tensor.id);
  if (!timer_.isActive()) timer_.start();
  return {};
}

void BranchPreviews::forget() {
  texts_.clear();
  wanted_.clear();
  session_->drop(previews_channel);
}

void BranchPreviews::ask() {
  if (wanted_.empty() || session_->asking(previews_channel)) return;  // the answer asks for the next
  if (texts_.size() > most_texts) texts_.clear();
  protocol::GetBranchPreviews get;
  get.branch = session_->look().branch;
  get.difference = session_->look().shown == Beside::difference;
  while (!wanted_.empty() && get.tensors.size() < most_asked)
    get.tensors.push_back(wanted_.extract(std::prev(wanted_.end())).value());  // the newest first
  session_->request<protocol::BranchPreviews>(
      get, this, [this, asked = get.tensors](const protocol::BranchPreviews& answer) { take(asked, answer); },
      [this, asked = get.tensors](const protocol::Failure&) { take(asked, {}); }, previews_channel);
}

void BranchPreviews::take(const std::vector<std::uint64_t>& tensors, const protocol::BranchPreviews& answer) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    texts_[tensors[i]] = i < answer.previews.size() && answer.previews[i]
                             ? QString::fromStdString(*answer.previews[i])
                             : QString();
  ask();
  emit arrived();
}

}  // namespace tapedeck::inspector
