// Why a machine has no GPU is told by one sentence, and its programs run on the CPU.
#include <dlfcn.h>

#include "engine/ops/core/ops.h"
#include "tests/cuda/child.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

/// What a program says that begins with these variables: "N GPUs: why", and where its ops run. An empty value
/// takes a variable away.
std::string told_with(const std::vector<std::pair<const char*, const char*>>& variables) {
  const Ending ending = ending_of([&] {
    for (const auto& [name, value] : variables)
      if (*value)
        setenv(name, value, 1);
      else
        unsetenv(name);
    load_gpus();
    const Tensor x = ops::negative(ops::ones({2}));
    std::fprintf(stderr, "%d GPUs: %s; %s %g", gpu_count(), why_no_gpu().c_str(),
                 to_string(x.device()).c_str(), x.to_vector()[1]);
  });
  return ending.died ? "died: " + ending.text : ending.text;
}
std::string told_in_state(const char* state) {
  return told_with({{"TAPEDECK_EMULATED_GPU_STATE", state}});
}

}  // namespace

/// Each case in a child: a process looks for GPUs once.
class NoGpuTest : public QObject {
  Q_OBJECT
 private slots:
  void a_machine_that_has_gpus_uses_them() { QCOMPARE(told_with({}), std::string("2 GPUs: ; /gpu:0 -1")); }

  void a_driver_that_is_too_old_is_told_with_both_versions() {
    QCOMPARE(
        told_in_state("old driver"),
        std::string("0 GPUs: this machine's CUDA driver is too old: it knows CUDA 11.4, and the kernels need "
                    "CUDA 12.8; /cpu:0 -1"));
  }

  void a_driver_that_does_not_work_is_told() {
    QCOMPARE(told_in_state("no driver"),
             std::string("0 GPUs: this machine's CUDA driver (libcuda.so.1) does not work; /cpu:0 -1"));
  }

  void a_machine_with_a_driver_and_no_device_says_so() {
    QCOMPARE(told_with({{"TAPEDECK_EMULATED_GPU_STATE", "no device"}, {"CUDA_VISIBLE_DEVICES", ""}}),
             std::string("0 GPUs: this machine has a CUDA driver, but no GPU; /cpu:0 -1"));
  }

  void devices_that_are_hidden_are_told_apart_from_none() {
    QCOMPARE(told_with({{"CUDA_VISIBLE_DEVICES", "-1"}}),
             std::string("0 GPUs: CUDA_VISIBLE_DEVICES hides all GPUs; /cpu:0 -1"));
    QCOMPARE(told_with({{"TAPEDECK_EMULATED_GPU_STATE", "no device"}, {"CUDA_VISIBLE_DEVICES", "7"}}),
             std::string("0 GPUs: CUDA_VISIBLE_DEVICES=7 names no GPU of this machine; /cpu:0 -1"));
  }

  void a_device_that_is_too_old_for_the_kernels_is_named() {
    QCOMPARE(told_in_state("old devices"),
             std::string("0 GPUs: Emulated GPU has compute capability 7.5; the kernels need 8.0; /cpu:0 -1"));
  }

  void whatever_else_hinders_cuda_is_told_in_its_words() {
    QCOMPARE(
        told_in_state("broken"),
        std::string("0 GPUs: CUDA finds no GPU: initialization error (cudaErrorInitializationError); /cpu:0 "
                    "-1"));
  }

  void a_library_that_is_not_there_is_named() {
    const std::string told = told_with({{"TAPEDECK_GPU_LIBRARY", "/nowhere/libtapedeck_cuda.so"}});
    QVERIFY2(told.starts_with("0 GPUs: /nowhere/libtapedeck_cuda.so: ") && told.ends_with("; /cpu:0 -1"),
             told.c_str());
  }

  void without_kernels_or_without_a_driver_it_is_told_which() {
    const bool has_kernels = ending_of([] {
                               unsetenv("TAPEDECK_GPU_LIBRARY");
                               std::fputs(has_gpu_kernels() ? "yes" : "no", stderr);
                             }).text == "yes";
    if (has_kernels && dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) QSKIP("this machine has a driver");
    QCOMPARE(told_with({{"TAPEDECK_GPU_LIBRARY", ""}, {"CUDA_VISIBLE_DEVICES", ""}}),
             std::string(has_kernels
                             ? "0 GPUs: this machine has no CUDA driver (libcuda.so.1); /cpu:0 -1"
                             : "0 GPUs: this build has no kernels for GPUs: nvcc 12 or a CUDA driver was not "
                               "found when it was made; /cpu:0 -1"));
  }
};

TAPEDECK_TEST(NoGpuTest)
#include "tst_no_gpu.moc"
