// A program that the gate stops: a C++ thread plays the session.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "tests/engine/record/recording.h"
#include "tests/engine/wait_for.h"

/// It runs on a separate thread under a recorder whose gate the test controls.
struct GatedProgram : Recording {
  explicit GatedProgram(std::function<void()> program, const tapedeck::RecorderOptions& options = {})
      : Recording(options), program_(std::move(program)) {}
  ~GatedProgram() { let_it_end(); }
  tapedeck::Gate& gate() { return recorder.gate(); }
  void start() {
    thread_ = std::thread([this] {
      try {
        program_();
      } catch (const tapedeck::Interrupted&) {
        interrupted = true;
      }
      finished = true;
    });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// To be called first in destructors of classes whose members the program uses.
  void let_it_end() {
    gate().set_attended(false);
    join();
  }

  std::atomic<bool> finished{false}, interrupted{false};

 private:
  std::function<void()> program_;
  std::thread thread_;
};

/// The test goes from stop to stop.
struct SteppedProgram : GatedProgram {
  using GatedProgram::GatedProgram;
  /// The record at which it stopped, after the stop before; op "" where it ended instead.
  tapedeck::protocol::Record next_stop() {
    const auto stopped = [this] {
      const tapedeck::GateStatus status = gate().status();
      return status.state == tapedeck::GateState::stopped && status.stop != last_;
    };
    if (!wait_for([&] { return stopped() || finished; })) return {};
    if (!stopped()) return {};
    last_ = gate().status().stop;
    return at(gate().status().stopped_before);
  }
  tapedeck::protocol::Record step(tapedeck::GateCommand command = tapedeck::GateCommand::step_op) {
    gate().command(command);
    return next_stop();
  }

 private:
  std::uint64_t last_ = 0;
};

/// y = sum(x · custom_square(x)), and its gradient.
inline void program_with_gradients() {
  using namespace tapedeck;
  using namespace test_ops;
  const Tensor x = vector_of({3});
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = sum(multiply(x, custom_square(x)));
  gradient(tape, y, x);
  add(x, x);
}
