#include "engine/cpu/loops/fused.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elementwise.h"
#include "engine/cpu/loops/fused_steps.h"
#include "engine/cpu/loops/reduced_blocks.h"

namespace tapedeck::cpu {
namespace {

using Place = FusedValue::Place;
using CallKind = FusedCall::Kind;

constexpr std::int64_t piece_bytes = 4096;  ///< of a value; several are in the first cache at once
constexpr std::int64_t alignment = 64;

int index_of(DType dtype) {
  return static_cast<int>(dtype);
}

/// A thread keeps its buffer for the next loops.
std::byte* thread_buffer(std::size_t bytes) {
  static thread_local std::unique_ptr<std::byte[]> buffer;
  static thread_local std::size_t size = 0;
  if (size < bytes + alignment) {
    size = 0;
    buffer = std::make_unique_for_overwrite<std::byte[]>(bytes + alignment);
    size = bytes + alignment;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.get());
  return buffer.get() + (alignment - address % alignment) % alignment;
}

/// The loop with its buffers laid out.
class Program {
 public:
  explicit Program(FusedLoop loop);
  void run();

 private:
  struct Buffer {
    std::optional<FusedAddress> address;
    bool whole_unit = false;
    std::size_t last_use = 0;  ///< a call's number
  };
  const FusedValue& value(std::int32_t number) const {
    return loop_.values[static_cast<std::size_t>(number)];
  }
  std::size_t size_of(std::int32_t number) const { return item_size(value(number).dtype); }
  bool is_single(std::int32_t number) const { return value(number).place == Place::single; }
  bool is_staged(std::int32_t number) const;

  void choose_unit();
  void compute_singles();
  void find_last_uses();
  void add_call(std::size_t number);
  FusedAddress operand(std::int32_t number);
  FusedAddress result(std::int32_t number);
  FusedAddress in_memory(const void* data, std::size_t size) const;
  FusedAddress buffer_of(std::int32_t number);
  void release(std::size_t call);
  void run_units(std::int64_t begin, std::int64_t end);
  void reduce_unit(std::byte* buffer, std::int64_t unit, std::int64_t n);
  void finish_reductions();

  FusedLoop loop_;
  std::int64_t unit_ = fused_block, piece_ = 1;
  std::size_t buffer_bytes_ = 0;
  double cost_ = 0;  ///< nanoseconds an element
  std::vector<Buffer> buffers_;
  std::vector<std::int64_t> free_;               ///< offsets of pieces in the buffer
  std::vector<FusedStep> first_, steps_, last_;  ///< for each block of units, and for each piece
  std::vector<FusedAddress> reduced_;
  std::vector<std::vector<std::byte>> parts_;  ///< of each reduction of all elements: a result for each unit
  std::vector<std::array<std::byte, 8>> singles_;
};

Program::Program(FusedLoop loop) : loop_(std::move(loop)), buffers_(loop_.values.size()) {
  choose_unit();
  compute_singles();
  find_last_uses();
  for (std::size_t i = 0; i < loop_.calls.size(); ++i) {
    add_call(i);
    release(i);
  }
  for (const FusedReduction& each : loop_.reductions) {
    reduced_.push_back(operand(each.value));
    const std::int64_t units = (loop_.count + unit_ - 1) / unit_;
    parts_.emplace_back(each.row == loop_.count && units > 1
                            ? static_cast<std::size_t>(units) * size_of(each.value)
                            : std::size_t{0});
  }
}

void Program::choose_unit() {
  std::vector<std::int64_t> rows;
  for (const FusedReduction& each : loop_.reductions) rows.push_back(each.row);
  unit_ = fused_unit(loop_.count, rows);
  std::size_t largest = 1;
  for (const FusedValue& each : loop_.values) largest = std::max(largest, item_size(each.dtype));
  piece_ = std::min(unit_, piece_bytes / static_cast<std::int64_t>(largest));
}

/// Calls whose operands are one value each give one value.
void Program::compute_singles() {
  singles_.resize(loop_.values.size());
  std::vector<FusedCall> others;
  for (const FusedCall& call : loop_.calls) {
    const bool all_single = std::ranges::all_of(
        call.operands, [&](std::int32_t operand) { return operand < 0 || is_single(operand); });
    FusedValue& result = loop_.values[static_cast<std::size_t>(call.result)];
    const bool is_reduced = std::ranges::any_of(
        loop_.reductions, [&](const FusedReduction& each) { return each.value == call.result; });
    if (!all_single || is_reduced || result.place == Place::kept) {
      others.push_back(call);
      continue;
    }
    const auto data = [&](std::size_t i) { return value(call.operands[i]).data; };
    const int dtype = index_of(value(call.operands[call.kind == CallKind::select ? 1 : 0]).dtype);
    void* out = singles_[static_cast<std::size_t>(call.result)].data();
    switch (call.kind) {
      case CallKind::unary:
        loops().unary[static_cast<int>(call.unary)][dtype](data(0), 1, out, 1);
        break;
      case CallKind::binary:
        loops().binary[static_cast<int>(call.binary)][dtype](data(0), 0, data(1), 0, out, 1);
        break;
      case CallKind::select:
        loops().select[dtype](data(0), 1, data(1), 1, data(2), 1, out, 1);
        break;
      case CallKind::cast:
        loops().cast[dtype][index_of(result.dtype)](data(0), 1, out, 1);
        break;
      case CallKind::clip:
        loops().clip[dtype](data(0), data(1), data(2), out, 1);
        break;
    }
    result.place = Place::single;
    result.data = out;
  }
  loop_.calls = std::move(others);
}

void Program::find_last_uses() {
  for (std::size_t i = 0; i < loop_.calls.size(); ++i)
    for (const std::int32_t operand : loop_.calls[i].operands)
      if (operand >= 0) buffers_[static_cast<std::size_t>(operand)].last_use = i;
  for (const FusedReduction& each : loop_.reductions) {
    Buffer& buffer = buffers_[static_cast<std::size_t>(each.value)];
    buffer.whole_unit = true;
    buffer.last_use = SIZE_MAX;
  }
}

/// Whether a kept value goes to its memory when its piece has been through all calls: where that is the
/// memory of an operand that they may read, and past the cache.
bool Program::is_staged(std::int32_t number) const {
  const FusedValue& of = value(number);
  const auto size = static_cast<std::int64_t>(item_size(of.dtype));
  const bool streams = loop_.count * size >= streaming_bytes && unit_ * size % alignment == 0;
  return of.place == Place::kept && (of.overlaps || streams);
}

FusedAddress Program::in_memory(const void* data, std::size_t size) const {
  return {static_cast<const std::byte*>(data), 0, static_cast<std::int64_t>(size), 0};
}

FusedAddress Program::buffer_of(std::int32_t number) {
  Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  if (buffer.address) return *buffer.address;
  const auto size = static_cast<std::int64_t>(size_of(number));
  const auto grow = [&](std::int64_t bytes) {
    const auto offset = static_cast<std::int64_t>(buffer_bytes_);
    buffer_bytes_ += static_cast<std::size_t>((bytes + alignment - 1) / alignment * alignment);
    return offset;
  };
  if (buffer.whole_unit) {
    buffer.address = FusedAddress{nullptr, grow(unit_ * size), 0, size};
  } else {
    if (free_.empty()) free_.push_back(grow(piece_bytes));
    buffer.address = FusedAddress{nullptr, free_.back(), 0, 0};
    free_.pop_back();
  }
  return *buffer.address;
}

/// The buffers of values that no call behind this one reads.
void Program::release(std::size_t call) {
  for (Buffer& buffer : buffers_)
    if (buffer.address && !buffer.whole_unit && buffer.last_use == call) {
      free_.push_back(buffer.address->offset);
      buffer.last_use = SIZE_MAX;
    }
}

FusedAddress Program::operand(std::int32_t number) {
  const FusedValue& of = value(number);
  const std::size_t size = size_of(number);
  Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  switch (of.place) {
    case Place::elements:
      return in_memory(of.data, size);
    case Place::single:
      return in_memory(of.data, 0);
    case Place::kept:
      if (!is_staged(number)) return in_memory(of.target, size);
      return *buffer.address;
    case Place::computed:
      return *buffer.address;
    case Place::repeated:
      break;
  }
  if (buffer.address) return *buffer.address;
  FusedStep step;
  step.kind = FusedStep::Kind::repeat;
  step.from[0] = in_memory(of.data, 0);
  step.to = buffer_of(number);
  step.size = size;
  step.inner = of.inner;
  step.extent = of.extent;
  steps_.push_back(step);
  return step.to;
}

FusedAddress Program::result(std::int32_t number) {
  if (value(number).place == Place::kept && !is_staged(number))
    return in_memory(value(number).target, size_of(number));
  if (is_staged(number)) {
    buffers_[static_cast<std::size_t>(number)].last_use = SIZE_MAX;
    FusedStep copy;
    copy.kind = FusedStep::Kind::copy;
    copy.from[0] = buffer_of(number);
    copy.to = in_memory(value(number).target, size_of(number));
    copy.size = size_of(number);
    copy.streams = loop_.count * static_cast<std::int64_t>(copy.size) >= streaming_bytes &&
                   unit_ * static_cast<std::int64_t>(copy.size) % alignment == 0;
    last_.push_back(copy);
  }
  return buffer_of(number);
}

void Program::add_call(std::size_t number) {
  const FusedCall& call = loop_.calls[number];
  FusedStep step;
  for (std::size_t i = 0; i < call.operands.size() && call.operands[i] >= 0; ++i) {
    step.from[i] = operand(call.operands[i]);
    step.steps[i] = is_single(call.operands[i]) ? 0 : 1;
    // The loops of choices are quick where all operands are there element by element.
    const bool needs_elements = call.kind == CallKind::select || (call.kind == CallKind::clip && i == 0);
    if (!needs_elements || step.steps[i] == 1) continue;
    FusedStep fill;
    fill.kind = FusedStep::Kind::fill;
    fill.size = size_of(call.operands[i]);
    fill.from[0] = step.from[i];
    fill.to = {nullptr, static_cast<std::int64_t>(buffer_bytes_), 0, 0};
    buffer_bytes_ += static_cast<std::size_t>(piece_bytes);
    first_.push_back(fill);
    step.from[i] = fill.to;
    step.steps[i] = 1;
  }
  const DType dtype = value(call.operands[call.kind == CallKind::select ? 1 : 0]).dtype;
  switch (call.kind) {
    case CallKind::unary:
      step.kind = FusedStep::Kind::unary;
      step.unary = loops().unary[static_cast<int>(call.unary)][index_of(dtype)];
      cost_ += element_cost(call.unary, dtype);
      break;
    case CallKind::binary:
      step.kind = FusedStep::Kind::binary;
      step.binary = loops().binary[static_cast<int>(call.binary)][index_of(dtype)];
      cost_ += element_cost(call.binary, dtype);
      break;
    case CallKind::select:
      step.kind = FusedStep::Kind::select;
      step.select = loops().select[index_of(dtype)];
      cost_ += 0.4;
      break;
    case CallKind::cast:
      step.kind = FusedStep::Kind::unary;
      step.unary = loops().cast[index_of(dtype)][index_of(value(call.result).dtype)];
      cost_ += 0.4;
      break;
    case CallKind::clip:
      step.kind = FusedStep::Kind::clip;
      step.clip = loops().clip[index_of(dtype)];
      cost_ += element_cost(Binary::add, dtype);
      break;
  }
  step.to = result(call.result);
  steps_.push_back(step);
}

void Program::reduce_unit(std::byte* buffer, std::int64_t unit, std::int64_t n) {
  for (std::size_t i = 0; i < loop_.reductions.size(); ++i) {
    const FusedReduction& each = loop_.reductions[i];
    const std::size_t size = size_of(each.value);
    const ReduceLoop reduce = loops().reduce[static_cast<int>(each.op)][index_of(value(each.value).dtype)];
    const std::byte* values = reduced_[i].in(buffer, unit * unit_, 0);
    auto* out = static_cast<std::byte*>(each.out);
    if (each.row == loop_.count) {
      reduce(values, n, parts_[i].empty() ? out : parts_[i].data() + static_cast<std::size_t>(unit) * size);
      continue;
    }
    const std::int64_t first = unit * unit_ / each.row;
    for (std::int64_t row = 0; row < n / each.row; ++row)
      reduce(values + static_cast<std::size_t>(row * each.row) * size, each.row,
             out + static_cast<std::size_t>(first + row) * size);
  }
}

void Program::run_units(std::int64_t begin, std::int64_t end) {
  std::byte* buffer = thread_buffer(buffer_bytes_);
  for (const FusedStep& step : first_) run_fused_step(step, buffer, 0, 0, piece_);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t start = unit * unit_, n = std::min(unit_, loop_.count - start);
    for (std::int64_t in_unit = 0; in_unit < n; in_unit += piece_) {
      const std::int64_t length = std::min(piece_, n - in_unit);
      for (const FusedStep& step : steps_) run_fused_step(step, buffer, start + in_unit, in_unit, length);
      for (const FusedStep& step : last_) run_fused_step(step, buffer, start + in_unit, in_unit, length);
    }
    reduce_unit(buffer, unit, n);
  }
}

void Program::finish_reductions() {
  for (std::size_t i = 0; i < loop_.reductions.size(); ++i) {
    const FusedReduction& each = loop_.reductions[i];
    const DType dtype = value(each.value).dtype;
    const std::size_t size = item_size(dtype);
    if (!parts_[i].empty())
      combine_reduced_blocks(each.op, dtype, parts_[i].data(),
                             static_cast<std::int64_t>(parts_[i].size() / size), each.out);
    if (each.divisor == 0) continue;
    const std::int64_t rows = loop_.count / each.row;
    const std::vector<std::byte> sums(
        static_cast<std::byte*>(each.out),
        static_cast<std::byte*>(each.out) + static_cast<std::size_t>(rows) * size);
    const double divisor = static_cast<double>(each.divisor);
    const auto narrow = static_cast<float>(divisor);
    const void* by = dtype == DType::float32 ? static_cast<const void*>(&narrow) : &divisor;
    loops().binary[static_cast<int>(Binary::divide)][index_of(dtype)](sums.data(), 1, by, 0, each.out, rows);
  }
}

void Program::run() {
  const std::int64_t units = (loop_.count + unit_ - 1) / unit_;
  // In the cache calls take about half of what they do alone.
  const std::int64_t grain = std::max<std::int64_t>(1, grain_for(cost_ / 2) / unit_);
  for_blocks(units, grain, [&](std::int64_t begin, std::int64_t end) { run_units(begin, end); });
  finish_reductions();
}

}  // namespace

std::int64_t fused_unit(std::int64_t count, const std::vector<std::int64_t>& rows) {
  std::int64_t unit = 0;
  for (const std::int64_t row : rows) {
    if (row == count || row <= 0) continue;
    if (row > fused_block || count % row != 0) return 0;
    unit = unit == 0 ? fused_block / row * row : unit;
    if (unit % row != 0) return 0;
  }
  static_assert(fused_block == reduced_block);
  const bool reduces_all = std::ranges::find(rows, count) != rows.end();
  if (unit == 0) return fused_block;
  return reduces_all && unit != fused_block ? 0 : unit;
}

bool has_loop(const FusedCall& call, DType operand, DType result) {
  switch (call.kind) {
    case CallKind::unary:
      return loops().unary[static_cast<int>(call.unary)][index_of(operand)] != nullptr;
    case CallKind::binary:
      return loops().binary[static_cast<int>(call.binary)][index_of(operand)] != nullptr;
    case CallKind::select:
      return loops().select[index_of(operand)] != nullptr;
    case CallKind::cast:
      return loops().cast[index_of(operand)][index_of(result)] != nullptr;
    case CallKind::clip:
      return loops().clip[index_of(operand)] != nullptr;
  }
  return false;
}

void run_fused(FusedLoop loop) {
  Program(std::move(loop)).run();
}

}  // namespace tapedeck::cpu
