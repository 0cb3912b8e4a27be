#include "engine/record/values/values.h"

#include <algorithm>

#include "engine/ops/core/observer.h"
#include "engine/record/trace/trace_source.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck {
namespace {

constexpr std::size_t dropped_statistics = 20000;
constexpr std::uint32_t dropped_bins = 64;
// Records need some room, whatever the budget.
constexpr std::uint64_t free_bookkeeping = std::uint64_t{64} << 20;

/// The user of a pinned value: a number above every record's, so that the table does not forget it.
constexpr std::uint32_t somebody = UINT32_MAX;

/// The value to hold for `tensor`: itself, or a copy if its memory is borrowed (a NumPy array), because its
/// owner may write to it later. Another framework's on its device is a snapshot, which nothing writes to.
/// Undefined if the copy exceeds `limit`: a recording must not exhaust the program's memory, nor spend its
/// time on gigabytes.
Tensor own_within(const Tensor& tensor, std::uint64_t limit) {
  if (!tensor.storage()->borrowed() || is_foreign(tensor.device()))
    return tensor.storage()->size() <= limit ? tensor : Tensor();
  if (tensor.bytes() > limit) return {};
  try {
    const Tensor row_major = tensor.make_contiguous();
    if (!row_major.storage()->borrowed()) return row_major;
    Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
    std::copy_n(row_major.raw(), row_major.bytes(), copy.storage()->data());
    return copy;
  } catch (const ResourceExhaustedError&) {
    return {};
  }
}

}  // namespace

void Values::add_leaf(const Tensor& tensor, std::uint32_t name) {
  if (const TensorOrigin origin = table_.get(tensor.id()); origin.known() && !origin.lost()) {
    if (name != 0) table_.set_name(tensor.id(), name);
    return;
  }
  const std::uint32_t spec = spec_number(tensor);
  if (spec == 0) return;  // the table of shapes is full
  const std::optional<std::uint32_t> place =
      is_small(tensor) ? small_leaves_.put(tensor.id(), tensor) : std::nullopt;
  const TensorOrigin origin = place ? TensorOrigin::small_leaf(*place, spec) : TensorOrigin::leaf(spec);
  table_.set(tensor.id(), table_.get(tensor.id()).named() ? origin.with_name() : origin);
  if (name != 0) table_.set_name(tensor.id(), name);
  if (place) return;
  KeptValue value(own_within(tensor, options().budget_bytes), spec);
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  if (!value) {
    ++leaves_dropped_;
    ++changes_;
    return;
  }
  const bool is_view = value.bytes() != tensor.bytes();
  const auto [place_of, is_new] = leaves_.try_emplace(tensor.id(), std::move(value));
  if (!is_new) return;
  leaf_order_.push_back(tensor.id());
  count_leaf(tensor.id(), place_of->second, is_view);
  enforce(evicted);
}

void Values::count_leaf(std::uint64_t id, const KeptValue& leaf, bool is_view) {
  if (is_view) view_leaves_.insert(id);
  if (!is_view || viewed_[&leaf.storage()]++ == 0) bytes_ += leaf.bytes();
}

void Values::uncount_leaf(std::uint64_t id, const KeptValue& leaf) {
  if (!view_leaves_.empty() && view_leaves_.erase(id) != 0) {
    const auto views = viewed_.find(&leaf.storage());
    if (--views->second > 0) return;
    viewed_.erase(views);
  }
  subtract(leaf);
}

void Values::make_version(const Tensor& tensor, std::uint64_t made_of, std::uint64_t variable,
                          std::int64_t now_ns, bool stays) {
  constexpr std::size_t latest_results = 8;  // an update's values are the latest
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  const auto leaf = leaves_.find(tensor.id());
  if (leaf == leaves_.end() || options_.keep_everything) return;
  const auto place = std::find(leaf_order_.rbegin(), leaf_order_.rend(), tensor.id());
  leaf_order_.erase(std::next(place).base());
  KeptValue value = std::move(leaf->second);
  leaves_.erase(leaf);
  uncount_leaf(tensor.id(), value);
  table_.set(tensor.id(), table_.get(tensor.id()).with_version());
  versions_.add({tensor.id(), made_of, variable}, std::move(value), now_ns, stays, evicted);
  // The result is the same value.
  for (std::size_t i = window_.size(); i > 0 && window_.size() - i < latest_results; --i) {
    if (window_[i - 1].id != made_of) continue;
    subtract(window_[i - 1].value);
    window_bytes_ -= window_[i - 1].value.bytes();
    evicted.push_back(std::move(window_[i - 1].value));
    window_.erase(window_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    break;
  }
  enforce(evicted);
}

void Values::release_newest(std::span<const std::uint64_t> variables) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t id : variables) versions_.release_newest(id, evicted);
}

void Values::variable_gone(std::uint64_t variable) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  versions_.variable_gone(variable, evicted);
}

void Values::forget(std::uint64_t below) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, unused] : pinned_) table_.set_user(id, somebody);
  // Values that are still known move to the end, after newer ones.
  const auto forget_in = [&](std::deque<std::uint64_t>& order, auto& values, auto&& subtract_from_sums) {
    for (std::size_t turns = order.size(); turns > 0 && order.front() < below; --turns) {
      const std::uint64_t id = order.front();
      order.pop_front();
      if (table_.get(id).known()) {
        order.push_back(id);
        continue;
      }
      const auto found = values.find(id);
      subtract_from_sums(id, found->second);
      evicted.push_back(std::move(found->second));
      values.erase(found);
    }
  };
  forget_in(leaf_order_, leaves_,
            [this](std::uint64_t id, const KeptValue& value) { uncount_leaf(id, value); });
  forget_in(checkpoint_order_, checkpoints_, [this](std::uint64_t, const KeptValue& value) {
    subtract(value);
    checkpoint_bytes_ -= value.bytes();
  });
  versions_.forget(below, table_, evicted);
  while (!everything_.empty() && everything_.front().id < below &&
         !table_.get(everything_.front().id).known())
    shrink(everything_, evicted);
  small_leaves_.forget(below);
}

void Values::add_result(const Tensor& tensor, bool stepping) {
  if (is_small(tensor)) {
    recent_.put(tensor);
    if (!keep_everything_.load(std::memory_order_relaxed)) return;
  }
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  stepping_ = stepping;
  const std::uint64_t size = tensor.storage()->size();
  bytes_ += size;
  if (options_.keep_everything) {
    if (everything_index_.try_emplace(tensor.id(), kept(tensor.id(), tensor)).second)
      everything_.push_back({tensor.id(), kept(tensor.id(), tensor)});
    else
      bytes_ -= size;
  } else {
    window_.push_back({tensor.id(), kept(tensor.id(), tensor)});
    window_bytes_ += size;
  }
  enforce(evicted);
}

void Values::shrink(std::deque<Held>& queue, Evicted& evicted) {
  Held& oldest = queue.front();
  subtract(oldest.value);
  if (&queue == &window_) {
    window_bytes_ -= oldest.value.bytes();
  } else {
    everything_index_.erase(oldest.id);
    ++changes_;
  }
  evicted.push_back(std::move(oldest.value));
  queue.pop_front();
}

bool Values::needs_checkpoint(const Tensor& tensor, std::uint64_t replay_ns) const {
  const std::uint64_t bound =
      std::max<std::uint64_t>(checkpoint_ns_, tensor.storage()->size() * checkpoint_ns_per_byte_);
  return replay_ns / checkpoint_scale_.load(std::memory_order_relaxed) >= bound &&
         !tensor.storage()->borrowed() && !keep_everything_.load(std::memory_order_relaxed);
}

bool Values::add_checkpoint(const Tensor& tensor, std::int64_t now_ns) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  if (now_ns < next_checkpoint_ns_) return false;
  next_checkpoint_ns_ =
      now_ns + static_cast<std::int64_t>(tensor.storage()->size() * checkpoint_ns_per_byte_);
  if (!checkpoints_.try_emplace(tensor.id(), kept(tensor.id(), tensor)).second) return true;
  checkpoint_order_.push_back(tensor.id());
  bytes_ += tensor.storage()->size();
  checkpoint_bytes_ += tensor.storage()->size();
  enforce(evicted);
  return true;
}

// Every second one, so that the others stay evenly spaced.
void Values::thin_checkpoints(Evicted& evicted) {
  ++changes_;
  std::deque<std::uint64_t> kept;
  for (std::size_t i = 0; i < checkpoint_order_.size(); ++i) {
    if (i % 2 == 1) {
      kept.push_back(checkpoint_order_[i]);
      continue;
    }
    const auto found = checkpoints_.find(checkpoint_order_[i]);
    subtract(found->second);
    checkpoint_bytes_ -= found->second.bytes();
    evicted.push_back(std::move(found->second));
    checkpoints_.erase(found);
  }
  checkpoint_order_.swap(kept);
  constexpr std::uint64_t most = 1 << 20;
  if (const std::uint64_t scale = checkpoint_scale_.load(); scale < most) checkpoint_scale_.store(2 * scale);
}

void Values::add_recomputed(std::uint64_t id, const Tensor& value) {
  if (value.storage()->borrowed()) return;
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = value.storage()->size();
  if (size > options_.recomputed_bytes || all_bytes() + recomputed_bytes_ + size > room()) return;
  if (!recomputed_.try_emplace(id, kept(id, value)).second) return;
  recomputed_order_.push_back(id);
  recomputed_bytes_ += size;
  enforce(evicted);
}

void Values::let_recomputed_go() {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  while (!recomputed_order_.empty()) drop_recomputed(evicted);
}

void Values::drop_recomputed(Evicted& evicted) {
  const auto found = recomputed_.find(recomputed_order_.front());
  recomputed_order_.pop_front();
  recomputed_bytes_ -= found->second.bytes();
  evicted.push_back(std::move(found->second));
  recomputed_.erase(found);
}

// Drops values that can be recomputed first; pinned values and the newest result stay.
std::uint64_t Values::room() const {
  const std::uint64_t bookkeeping = bookkeeping_.load(std::memory_order_relaxed);
  const std::uint64_t counted = bookkeeping - std::min(bookkeeping, free_bookkeeping);
  return options_.budget_bytes - std::min(counted, options_.budget_bytes / 2);
}

void Values::enforce(Evicted& evicted) {
  const std::uint64_t most = room();
  const auto over = [&] { return all_bytes() > most; };
  while (!recomputed_order_.empty() &&
         (recomputed_bytes_ > options_.recomputed_bytes || all_bytes() + recomputed_bytes_ > most))
    drop_recomputed(evicted);
  while (window_.size() > 1 &&
         (window_bytes_ > window_limit() || window_.size() > options_.window_count || over()))
    shrink(window_, evicted);
  // Leaves will need the other half eventually.
  while (!checkpoint_order_.empty() && (checkpoint_bytes_ > most / 2 || over())) thin_checkpoints(evicted);
  while ((versions_.bytes() > most / 2 || (over() && versions_.bytes() > most / 4)) &&
         versions_.thin(evicted)) {
  }
  while (over() && everything_.size() > 1) shrink(everything_, evicted);
  while (over() && !leaf_order_.empty()) drop_oldest_leaf(evicted);
}

// Dropping values that the program also holds would free nothing: skips a few of those.
void Values::drop_oldest_leaf(Evicted& evicted) {
  constexpr std::size_t most_passed = 16;
  for (std::size_t turns = std::min(leaf_order_.size(), most_passed); turns > 0; --turns) {
    if (leaves_.at(leaf_order_.front()).storage().is_released()) break;
    leaf_order_.push_back(leaf_order_.front());
    leaf_order_.pop_front();
  }
  const std::uint64_t id = leaf_order_.front();
  leaf_order_.pop_front();
  const auto found = leaves_.find(id);
  uncount_leaf(id, found->second);
  if (!pinned_.contains(id)) remember_dropped(id, found->second);
  evicted.push_back(std::move(found->second));
  leaves_.erase(found);
}

void Values::remember_dropped(std::uint64_t id, const KeptValue& leaf) {
  ++leaves_dropped_;
  ++changes_;
  dropped_.emplace(id, summarize(leaf.tensor(id), dropped_bins, false));
  dropped_order_.push_back(id);
  if (dropped_order_.size() <= dropped_statistics) return;
  dropped_.erase(dropped_order_.front());
  dropped_order_.pop_front();
}

TensorOrigin Values::restore_small(std::uint64_t id, TensorOrigin origin, const void* bytes,
                                   std::size_t size) {
  if (!origin.is_leaf()) {
    recent_.put(id, bytes, size);
    return origin;
  }
  const std::optional<std::uint32_t> place = small_leaves_.put(id, bytes, size);
  return place ? origin.at_index(*place) : origin;
}

bool Values::pin(std::uint64_t id, const Tensor& value) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  std::uint64_t pinned_bytes = value.storage()->size();
  for (const auto& [unused, kept] : pinned_) pinned_bytes += kept.bytes();
  if (pinned_bytes > options_.budget_bytes) return false;
  if (!pinned_.try_emplace(id, kept(id, value)).second) return true;
  table_.set_user(id, somebody);
  bytes_ += value.storage()->size();
  enforce(evicted);
  return true;
}

void Values::unpin(std::uint64_t id, std::uint32_t newest_record) {
  KeptValue released;
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(id);
  if (found == pinned_.end()) return;
  released = std::move(found->second);
  pinned_.erase(found);
  subtract(released);
  ++changes_;
  table_.set_user(id, newest_record + 1);  // a record that takes it may begin concurrently
  // A leaf may have been due for dropping while it was pinned. Small ones are copies: they stay.
  const TensorOrigin origin = table_.get(id);
  if (origin.is_leaf() && !origin.is_small_leaf() && !origin.is_version() && !leaves_.contains(id))
    remember_dropped(id, released);
}

void Values::clear() {
  decltype(window_) window;
  decltype(everything_) everything;
  decltype(everything_index_) index;
  decltype(leaves_) leaves;
  decltype(pinned_) pinned;
  decltype(checkpoints_) checkpoints;
  decltype(recomputed_) recomputed;
  Evicted versions;
  const std::lock_guard lock(mutex_);
  versions_.clear(versions);
  window_.swap(window);
  everything_.swap(everything);
  everything_index_.swap(index);
  leaves_.swap(leaves);
  pinned_.swap(pinned);
  checkpoints_.swap(checkpoints);
  recomputed_.swap(recomputed);
  leaf_order_.clear();
  checkpoint_order_.clear();
  recomputed_order_.clear();
  checkpoint_scale_.store(1);
  next_checkpoint_ns_ = 0;
  view_leaves_.clear();
  viewed_.clear();
  bytes_ = window_bytes_ = checkpoint_bytes_ = recomputed_bytes_ = 0;
  ++cleared_;
  ++changes_;
}

void Values::set_budget(std::uint64_t bytes) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  if (bytes > options_.budget_bytes) checkpoint_scale_.store(1);
  options_.budget_bytes = bytes;
  enforce(evicted);
}

void Values::set_keep_everything(bool on) {
  Evicted evicted;
  const std::lock_guard lock(mutex_);
  options_.keep_everything = on;
  keep_everything_.store(on);
  if (on) return;
  while (!everything_.empty()) shrink(everything_, evicted);
}

std::uint64_t Values::small_bytes() const {
  const std::uint64_t small = recent_.bytes() + small_leaves_.bytes();
  const std::lock_guard lock(mutex_);
  return small + dropped_.size() * (sizeof(Summary) + dropped_bins * 8);
}

}  // namespace tapedeck
