#include "app/kernel/debug/trace_file_reader.h"

#include "app/kernel/debug/trace_session.h"

namespace tapedeck::app {
namespace {

class TraceFileReader : public inspector::TraceReader {
 public:
  void open(const QString& path) override {
    session_ = std::make_unique<TraceSession>(path);
    connect(session_.get(), &Kernel::stateChanged, this, [this](KernelState state, const QString& sentence) {
      if (state == KernelState::dead)
        emit failed(wasReady_ ? QStringLiteral("the process that reads it has ended.") : sentence);
      if (state == KernelState::idle) {
        wasReady_ = true;
        emit ready();
      }
    });
    session_->open();
  }
  inspector::Source* source() override { return session_->debugSource(); }

 private:
  std::unique_ptr<TraceSession> session_;
  bool wasReady_ = false;
};

}  // namespace

std::unique_ptr<inspector::TraceReader> makeTraceReader() {
  return std::make_unique<TraceFileReader>();
}

}  // namespace tapedeck::app
