// An error after which CUDA refuses everything: told with the ops in flight, again by each later call, and
// the process ends as any other.
#include "engine/cuda/handles.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/record/recorder.h"
#include "engine/tensor/internal_error.h"
#include "tests/cuda/child.h"
#include "tests/cuda/gpu_values.h"
#include "tests/cuda/gpus.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

Tensor ones_there(std::int64_t count) {
  const DeviceScope there(first_gpu);
  return ops::ones({count});
}

/// What an InternalError of `f` says, as a line.
template <class F>
void tell(F&& f) {
  try {
    f();
    std::fputs("nothing was thrown\n", stderr);
  } catch (const InternalError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

void break_at(const char* kernel) {
  setenv("TAPEDECK_EMULATED_GPU_FAULT", kernel, 1);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

#define VERIFY_HAS(text, part) QVERIFY2((text).find(part) != std::string::npos, (text).c_str())

}  // namespace

class LostGpuTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void the_error_names_the_ops_in_flight_and_their_kernels() {
    const Ending ending = ending_of([] {
      const Tensor before = ops::negative(ones_there(10));
      static_cast<void>(before.on_host());  // done, so it is not to blame
      break_at("exp");
      const Tensor x = ops::exp(ones_there(10));
      const Tensor y = ops::tanh(x);
      tell([&] { static_cast<void>(y.on_host()); });
    });
    QVERIFY2(!ending.died, ending.text.c_str());
    VERIFY_HAS(ending.text,
               "an illegal memory access was encountered (cudaErrorIllegalAddress) on /gpu:0; in flight, "
               "the newest first: tanh (kernel tanh), exp (kernel exp)");
    VERIFY_HAS(ending.text, "This process cannot use its GPUs any more");
    QVERIFY2(ending.text.find("negative") == std::string::npos, ending.text.c_str());
  }

  void every_error_that_loses_a_gpu_is_known_and_no_other() {
    // CUDA Runtime API, cudaError: those after which the process has to end.
    for (const int error : {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}) {
      const Ending ending = ending_of([error] {
        setenv("TAPEDECK_EMULATED_GPU_ERROR", std::to_string(error).c_str(), 1);
        break_at("exp");
        const Tensor y = ops::exp(ones_there(10));
        tell([&] { static_cast<void>(y.on_host()); });
        std::fprintf(stderr, "lost: %d", !gpu_loss().empty());
      });
      const std::string text = std::to_string(error) + ": " + ending.text;
      QVERIFY2(!ending.died, text.c_str());
      VERIFY_HAS(text, "in flight, the newest first: exp (kernel exp)");
      VERIFY_HAS(text, "This process cannot use its GPUs any more");
      VERIFY_HAS(text, "lost: 1");
    }
    const Ending ending = ending_of([] {
      tell([] { cuda::check(cudaErrorInvalidValue, "a test"); });
      std::fprintf(stderr, "lost: %d", !gpu_loss().empty());
    });
    VERIFY_HAS(ending.text, "a test failed: invalid argument (cudaErrorInvalidValue)");
    VERIFY_HAS(ending.text, "lost: 0");
  }

  void a_library_that_only_fails_tells_what_is_behind_it() {
    const Ending ending = ending_of([] {
      const cuda::OnDevice here(0);
      break_at("exp");
      const Tensor y = ops::exp(ones_there(10));
      cudaStreamSynchronize(cuda::stream());
      cudaGetLastError();
      tell([] { cuda::check_library(CUBLAS_STATUS_NOT_SUPPORTED, "a matrix product"); });
    });
    VERIFY_HAS(ending.text, "a matrix product failed: an illegal memory access was encountered");
    VERIFY_HAS(ending.text, "in flight, the newest first: exp (kernel exp)");
  }

  void every_later_call_gives_the_same_error() {
    const Ending ending = ending_of([] {
      break_at("exp");
      const Tensor x = ones_there(10);
      const Tensor y = ops::exp(x);
      for (int i = 0; i < 2; ++i) tell([&] { static_cast<void>(y.on_host()); });
      tell([&] { ops::tanh(x); });
      tell([] { ones_there(4); });
      tell([] { device_memory(first_gpu).synchronize(); });
    });
    QVERIFY2(!ending.died, ending.text.c_str());
    QCOMPARE(count_of(ending.text, "a copy from the device failed: an illegal memory access") +
                 count_of(ending.text, "work on a GPU failed: an illegal memory access"),
             5);
    QCOMPARE(count_of(ending.text, "in flight, the newest first: exp (kernel exp)"), 5);
  }

  void the_engine_is_told_once_and_listeners_that_come_later_too() {
    const Ending ending = ending_of([] {
      if (!gpu_loss().empty()) std::fputs("lost before\n", stderr);
      on_gpu_loss([](const std::string& text) { std::fprintf(stderr, "told: %s\n", text.c_str()); });
      break_at("exp");
      const Tensor y = ops::exp(ones_there(10));
      if (!gpu_loss().empty()) std::fputs("lost before\n", stderr);
      for (int i = 0; i < 2; ++i) try {
          static_cast<void>(y.on_host());
        } catch (const InternalError&) {
        }
      on_gpu_loss([](const std::string& text) { std::fprintf(stderr, "later: %s\n", text.c_str()); });
    });
    QCOMPARE(count_of(ending.text, "told: "), 1);
    QCOMPARE(count_of(ending.text, "later: "), 1);
    QCOMPARE(count_of(ending.text, "lost before"), 0);
  }

  void tensors_go_and_the_host_works_on() {
    const Ending ending = ending_of([] {
      break_at("exp");
      {
        const Tensor y = ops::exp(ones_there(10));
        tell([&] { static_cast<void>(y.on_host()); });
      }
      static_cast<void>(device_memory(first_gpu).statistics());
      const DeviceScope here{Device{}};
      std::fprintf(stderr, "the host has %g\n", ops::exp(ops::zeros({1})).to_vector()[0]);
      std::exit(0);  // with all destructors
    });
    QVERIFY2(!ending.died, ending.text.c_str());
    VERIFY_HAS(ending.text, "the host has 1");
  }

  void times_that_never_come_are_lost() {
    const Ending ending = ending_of([] {
      Recorder recorder;
      recorder.set_recording(true);
      break_at("exp");
      const Tensor y = ops::exp(ones_there(10));
      tell([&] { static_cast<void>(y.on_host()); });
      recorder.collect_device_times();
      RecordView view;
      recorder.trace().read(recorder.trace().newest(), view);
      std::fprintf(stderr, "pending %d, state %d\n",
                   static_cast<int>(recorder.trace().device_times_pending()),
                   static_cast<int>(view.device.state));
      recorder.set_recording(false);
    });
    VERIFY_HAS(ending.text, "pending 0, state " + std::to_string(static_cast<int>(WorkTime::lost)));
  }

  void a_lack_of_memory_loses_nothing() {
    const Ending ending = ending_of([] {
      try {
        ones_there(std::int64_t{1} << 40);
      } catch (const ResourceExhaustedError& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      std::fprintf(stderr, "lost: '%s', %g\n", gpu_loss().c_str(),
                   ops::exp(ones_there(1)).on_host().to_vector()[0]);
    });
    VERIFY_HAS(ending.text, "needs 4");
    VERIFY_HAS(ending.text, "free");
    VERIFY_HAS(ending.text, "lost: '', 2.71828");
  }
};

TAPEDECK_TEST(LostGpuTest)
#include "tst_lost_gpu.moc"
