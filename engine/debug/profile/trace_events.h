// The recorder's records as the profile sees them.
#pragma once

#include "engine/debug/profile/events.h"
#include "engine/ops/core/cost.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

class TraceEvents final : public ProfileEvents {
 public:
  explicit TraceEvents(const Recorder& recorder) : recorder_(recorder) {}
  std::uint32_t oldest() const override { return recorder_.trace().oldest_kept(); }
  std::uint32_t newest() const override { return recorder_.trace().newest(); }
  std::uint32_t visit(std::uint32_t first, std::uint32_t last, const Visit& visit) override;
  const ProfileClasses& classes() const override { return classes_; }

 private:
  ProfileEvent event_of(const RecordGlance& record);
  std::uint32_t class_of(const RecordGlance& record);
  OpCost cost_of(const RecordGlance& record);

  const Recorder& recorder_;
  ProfileClasses classes_;
  struct ClassKey {
    std::uint64_t op = 0, place = 0;
    std::uint8_t gpu = 0;
    bool operator==(const ClassKey&) const = default;
  };
  struct HashKey {
    std::size_t operator()(const ClassKey& key) const {
      return (key.op * 0x9e3779b97f4a7c15ull ^ key.place) + key.gpu;
    }
  };
  std::unordered_map<ClassKey, std::uint32_t, HashKey> known_;
  /// By op, attributes and the operands' shapes, for those are few.
  std::unordered_map<std::uint64_t, OpCost> costs_;
};

}  // namespace tapedeck::debug
