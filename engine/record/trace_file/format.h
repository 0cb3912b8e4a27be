// The format of a trace file.
//
// It is an SQLite database of three tables. `about`: facts about the whole file, by name. `pages`: everything
// else except values, as pages of bytes (bytes.h) by section and number; `value_parts`: the values of
// tensors, in parts. Pages and parts have a checksum, and are read on demand.
//
// Pages are not messages: other versions of the debug protocol read the same files. Absent values are 0 or an
// empty text in pages; where a message has an optional field, if_there() (engine/protocol/if_there.h)
// converts to it, and value_or() back.
//
// Numbers of names, scopes, source lines, calls, specs and ops in pages count from 1 in the section of that
// name; a page of `records` has Trace::page_size of them, one of `tensors` a block of the TensorTable.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace tapedeck::trace_file {

constexpr std::int32_t application_id = 0x54415045;  // "TAPE"
/// Incremented whenever the previous release cannot read what is written. Since version 2 curves, pictures
/// and runs have their cells' executions, and curves the kind of their steps. Since version 3 there are ops
/// of other frameworks, by their schemas; a file without them is written as version 2. Since version 4 a page
/// of `records` may have, behind all else, the number of each record's call, as the program wrote it; a file
/// without any is written as version 3 or 2.
constexpr std::int32_t format_version = 4, version_without_calls = 3, version_without_foreign_ops = 2;
constexpr std::int32_t oldest_readable_version = 1;

constexpr const char* tables[] = {
    "CREATE TABLE about(name TEXT PRIMARY KEY, value)",
    "CREATE TABLE pages(section TEXT NOT NULL, number INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY(section, number))",
    "CREATE TABLE value_parts(tensor INTEGER NOT NULL, part INTEGER NOT NULL, checksum INTEGER NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY(tensor, part))"};

constexpr std::size_t part_bytes = std::size_t{4} << 20;

/// Why a trace cannot be saved or opened: a sentence that names the path and the cause.
struct TraceFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tapedeck::trace_file
