// Memory on devices that another framework (PyTorch) has, and that only its own ops reach: its GPUs, beside
// those of this engine. Tensors there are values to look at and to give back to that framework. The engine's
// ops take them as copies on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/device.h"
#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Such devices have the numbers above those of the engine's own GPUs, so that records and trace files have
/// them as any other.
inline bool is_foreign(Device device) {
  return device.kind == DeviceKind::gpu && device.index >= detail::most_gpus;
}
/// The device that the framework calls "cuda:1"; nullopt where there is no number for it. A kind that is not
/// among PyTorch's own is one that the program added; only one such kind has a name.
std::optional<Device> foreign_device(std::string_view kind, int number);
/// "cuda:1".
std::string foreign_device_name(Device device);

/// A block of such memory: what the framework has it as. Its bytes are those of a storage.
StoragePointer foreign_storage(Device device, std::size_t bytes, Storage::Release release, void* owner);
/// The `owner` given to foreign_storage().
void* foreign_owner(const Storage& storage);

/// Statistics of a part of a tensor's elements, as kernels::BlockSummary.
struct ForeignStatistics {
  std::uint64_t finite = 0, zeros = 0, subnormals = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  double minimum = 0, maximum = 0, mean = 0, spread = 0;
};

/// Bytes on one of the devices.
struct ForeignUse {
  Device device;
  std::uint64_t used = 0;   ///< by the framework's tensors, as last asked
  std::uint64_t total = 0;  ///< 0: not known
};

/// What the framework does with them, on the device. Callable from any thread. All of it waits for the work
/// that the device has been given, and throws the errors of that, too.
class ForeignDevices {
 public:
  virtual ~ForeignDevices() = default;

  /// The same values, row-major, in host memory. Only they are transferred.
  virtual Tensor on_host(const Tensor& tensor) = 0;
  /// The magnitudes; of integers as floating-point numbers.
  virtual Tensor absolutes(const Tensor& tensor) = 0;
  /// now − before, of one device, dtype and shape.
  virtual Tensor difference(const Tensor& now, const Tensor& before) = 0;
  virtual std::vector<ForeignStatistics> statistics(const Tensor& tensor) = 0;
  /// Finite values in equal bins from `low` to `high`.
  virtual void histogram(const Tensor& tensor, double low, double high, std::span<std::uint64_t> bins) = 0;
  /// Of a matrix, for cells of `rows` × `columns` elements, smaller ones at the far edges: `which` is
  /// protocol::CellValue's number. Row-major.
  virtual std::vector<double> cells(const Tensor& matrix, std::int64_t rows, std::int64_t columns,
                                    int which) = 0;
  /// Waits for nothing.
  virtual std::vector<ForeignUse> use() = 0;
};

/// Lives until the process ends.
void set_foreign_devices(ForeignDevices& memory);
/// Throws FailedPreconditionError where no framework is there.
ForeignDevices& foreign_devices();
/// nullptr where no framework is there.
ForeignDevices* foreign_devices_or_null();

}  // namespace tapedeck
