#include "engine/record/trace_file/numbering.h"

#include <algorithm>

#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/trace.h"

namespace tapedeck::trace_file {
namespace {

constexpr std::size_t numbers_page_bytes = std::size_t{1} << 20;

template <class Key, class Write>
void write_list(const char* section, const std::vector<Key>& keys, const PutPage& put, Write&& write) {
  PageWriter page;
  std::uint64_t number = 0;
  for (const Key& key : keys) {
    write(page, key);
    if (page.size() < numbers_page_bytes) continue;
    put(section, number++, page);
    page.clear();
  }
  if (page.size() > 0) put(section, number, page);
}

void write_spec(PageWriter& page, const RecordedSpec& spec) {
  page.byte(static_cast<std::uint8_t>(spec.dtype));
  page.byte(static_cast<std::uint8_t>(spec.device.kind));
  page.byte(spec.device.index);
  page.number(static_cast<std::uint64_t>(spec.shape.rank()));
  for (const std::int64_t extent : spec.shape) page.number(static_cast<std::uint64_t>(extent));
}

RecordedSpec read_spec(PageReader& page) {
  RecordedSpec spec;
  spec.dtype = static_cast<DType>(page.byte());
  if (static_cast<std::size_t>(spec.dtype) >= dtype_count)
    throw DamagedPage("there is no dtype " + std::to_string(static_cast<int>(spec.dtype)));
  spec.device.kind = static_cast<DeviceKind>(page.byte());
  if (spec.device.kind != DeviceKind::cpu && spec.device.kind != DeviceKind::gpu)
    throw DamagedPage("there is no such kind of device");
  spec.device.index = page.byte();
  const std::uint64_t rank = page.number_up_to(max_rank, "a rank");
  // As in Tensor: the product of the other extents must not overflow even if one is 0.
  std::uint64_t product = item_size(spec.dtype);
  for (std::uint64_t axis = 0; axis < rank; ++axis) {
    const std::uint64_t extent = page.number_up_to(INT64_MAX, "an extent");
    spec.shape.push_back(static_cast<std::int64_t>(extent));
    if (extent != 0 && __builtin_mul_overflow(product, extent, &product))
      throw DamagedPage("a shape has more elements than can be counted");
  }
  if (product > INT64_MAX) throw DamagedPage("a shape has more elements than can be counted");
  return spec;
}

/// An op of another framework is written as its schema.
const OpDef* op_of(const std::string& text) {
  if (text.find('(') == std::string::npos) return Registry::instance().find(text);
  try {
    return foreign_op(text).row;
  } catch (const InvalidArgumentError& error) {
    throw DamagedPage(error.what());
  }
}

}  // namespace

bool has_foreign_ops(const FileNumbers& numbers) {
  return std::ranges::any_of(numbers.ops.keys(), [](const OpDef* op) { return is_foreign(*op); });
}

void write_numbers(const FileNumbers& numbers, const PutPage& put) {
  write_list("names", numbers.names.keys(), put,
             [](PageWriter& page, std::uint32_t name) { page.text(name_of(name)); });
  write_list("scopes", numbers.scopes.keys(), put,
             [](PageWriter& page, std::uint32_t scope) { page.text(scope_text(scope)); });
  write_list("locations", numbers.locations.keys(), put, [](PageWriter& page, std::uint32_t number) {
    const SourceLocation location = location_of(number);
    page.text(location.cell);
    page.text(location.file);
    page.number(location.line);
  });
  write_list("calls", numbers.calls.keys(), put, [](PageWriter& page, std::uint32_t number) {
    const SourceCall call = call_of(number);
    page.text(call.text);
    page.byte(call.whole_line);
  });
  write_list("specs", numbers.specs.keys(), put,
             [](PageWriter& page, std::uint32_t number) { write_spec(page, spec_of(number)); });
  write_list("ops", numbers.ops.keys(), put, [](PageWriter& page, const OpDef* op) {
    const ForeignOp* foreign = foreign_of(*op);
    page.text(foreign ? foreign->schema : op->name);
  });
}

void read_numbers(std::string_view section, PageReader& page, ProcessNumbers& numbers) {
  while (page.left() > 0) {
    if (section == "names") {
      numbers.names.push_back(intern_name(page.text()));
    } else if (section == "scopes") {
      numbers.scopes.push_back(intern_scope(std::string(page.text())));
    } else if (section == "locations") {
      SourceLocation location;
      location.cell = page.text();
      location.file = page.text();
      location.line = static_cast<std::uint32_t>(page.number_up_to(UINT32_MAX, "a line"));
      numbers.locations.push_back(intern_location(location));
    } else if (section == "calls") {
      SourceCall call;
      call.text = page.text("a call");
      call.whole_line = page.number_up_to(1, "a truth value") != 0;
      if (call.text.empty()) throw DamagedPage("a call without a text");
      numbers.calls.push_back(intern_call(call));
    } else if (section == "specs") {
      numbers.specs.push_back(spec_number(read_spec(page)));
    } else {
      const std::string name(page.text());
      numbers.ops.push_back(op_of(name));
      if (!numbers.ops.back()) throw DamagedPage("this engine has no op '" + name + "'");
    }
  }
}

}  // namespace tapedeck::trace_file
