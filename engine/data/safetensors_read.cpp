#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/data/data_error.h"
#include "engine/data/safetensors.h"
#include "engine/data/safetensors_dtypes.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::data {

namespace {

constexpr std::uint64_t part_size = 16 << 20;  // bytes between checks for an interrupt

/// A C++ bool must be 0 or 1.
void check_bools(const Tensor& tensor, const std::string& subject) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(tensor.raw());
  const auto* const end = bytes + tensor.count();
  const auto* const wrong = std::find_if(bytes, end, [](unsigned char byte) { return byte > 1; });
  if (wrong != end)
    fail<DataLossError>(subject, "element ", wrong - bytes, " of BOOL is ", static_cast<int>(*wrong),
                        "; must be 0 or 1");
}

}  // namespace

std::optional<std::string> safetensors_name(DType dtype) {
  for (const SafetensorsDType& each : safetensors_dtypes)
    if (each.engine == dtype_name(dtype)) return std::string(each.name);
  return std::nullopt;
}

std::optional<DType> dtype_of_safetensors_name(const std::string& name) {
  for (const SafetensorsDType& each : safetensors_dtypes)
    if (each.name == name) return dtype_from_name(each.engine);
  return std::nullopt;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  // Opening a pipe would wait for its writer.
  file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file_.number() < 0) fail_with_errno(errno, "cannot read " + path);
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail_with_errno(errno, "cannot read " + path);
  if (S_ISDIR(status.st_mode)) fail_with_errno(EISDIR, "cannot read " + path);
  if (!S_ISREG(status.st_mode))
    fail<FailedPreconditionError>("cannot read ", path, ": it is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < 8)
    fail<DataLossError>(path, ": has only ", size,
                        " bytes; a safetensors file begins with 8 for its header's length");
  std::uint64_t length = 0;
  read_bytes(reinterpret_cast<char*>(&length), 8, 0, "the header's length");
  if (length > most_header_bytes)
    fail<DataLossError>(path, ": the header would have ", length, " bytes; the format allows ",
                        most_header_bytes, ". Is it a safetensors file?");
  if (length > size - 8)
    fail<DataLossError>(path, ": the header has ", length, " bytes, but the file only ", size - 8,
                        " behind its length; it was cut short, or not written to its end");
  std::string header(length, '\0');
  read_bytes(header.data(), length, 8, "the header");
  data_begin_ = 8 + length;
  header_ = parse_safetensors_header(header, size - data_begin_, path);
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
}

const StoredTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

void SafetensorsFile::read_bytes(char* to, std::uint64_t count, std::uint64_t from,
                                 const std::string& what) const {
  for (std::uint64_t done = 0; done < count;) {
    check_interrupt();
    const ssize_t got = ::pread(file_.number(), to + done, std::min(count - done, part_size),
                                static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(errno, "cannot read " + path_);
    if (got == 0) fail<DataLossError>(path_, ": ", what, ": the file became shorter while it was read");
    done += static_cast<std::uint64_t>(got);
  }
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const StoredTensor* const stored = find(name);
  if (!stored) fail<NotFoundError>(path_, ": has no tensor \"", name, "\"");
  const std::string subject = path_ + ": tensor \"" + name + "\": ";
  const auto dtype = dtype_of_safetensors_name(stored->dtype);
  if (!dtype) fail<UnimplementedError>(subject, "tensors have no dtype ", stored->dtype);
  if (stored->shape.size() > static_cast<std::size_t>(max_rank))
    fail<UnimplementedError>(subject, "it has ", stored->shape.size(), " axes; tensors have at most ",
                             max_rank);
  // The header was checked: this allocates no more than the file's size.
  const Tensor tensor = [&] {
    try {
      return Tensor::allocate(*dtype, Shape(std::span(stored->shape)));
    } catch (const ResourceExhaustedError& error) {  // even if empty: its other extents may be anything
      fail<ResourceExhaustedError>(subject, error.what());
    }
  }();
  if (tensor.bytes() != stored->end - stored->begin)
    fail<DataLossError>(subject, "the shape does not fit its bytes");
  read_bytes(reinterpret_cast<char*>(tensor.writable_data<std::byte>()), tensor.bytes(),
             data_begin_ + stored->begin, "tensor \"" + name + "\"");
  if (*dtype == DType::bool_) check_bools(tensor, subject);
  return tensor;
}

}  // namespace tapedeck::data
