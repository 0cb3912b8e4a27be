// An observer that logs its calls, one line per call.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "engine/ops/core/observer.h"

/// Observes from construction to destruction.
class EventLog : public tapedeck::Observer {
 public:
  EventLog() { tapedeck::set_observer(this); }
  ~EventLog() override { tapedeck::set_observer(nullptr); }

  /// "begin 1 op test_exp", "end 1", "end 2 failed: …", "leaf w:0".
  std::vector<std::string> lines;
  std::vector<tapedeck::Event> events;                 // their spans are dangling
  std::vector<std::vector<tapedeck::Tensor>> results;  // of every end, in order
  /// Called in begin; may throw.
  std::function<void(const tapedeck::Event&)> gate;

  std::uint64_t begin(const tapedeck::Event& event) override {
    static constexpr const char* kinds[] = {"op", "custom", "playback", "vjp", "call"};
    std::lock_guard lock(mutex_);
    if (gate) gate(event);
    const std::uint64_t record = ++last_;
    lines.push_back("begin " + std::to_string(record) + " " + kinds[static_cast<int>(event.kind)] + " " +
                    std::string(event.name));
    events.push_back(event);
    inputs.emplace_back(event.inputs.begin(), event.inputs.end());
    return record;
  }
  void end(std::uint64_t record, std::span<const tapedeck::Tensor> outputs, const char* error) override {
    std::lock_guard lock(mutex_);
    lines.push_back("end " + std::to_string(record) + (error ? std::string(" failed: ") + error : ""));
    results.emplace_back(outputs.begin(), outputs.end());
  }
  void leaf(const tapedeck::Tensor& tensor, std::string_view name) override {
    std::lock_guard lock(mutex_);
    lines.push_back("leaf " + std::string(name));
    leaves.push_back(tensor);
  }
  void assigned(const tapedeck::Tensor&, const tapedeck::Tensor&, std::uint64_t, std::uint64_t) override {}
  void left(const tapedeck::Tensor&) override {}

  std::vector<std::vector<tapedeck::Tensor>> inputs;  // of every begin
  std::vector<tapedeck::Tensor> leaves;

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
};
