// What stands where in a trace file.
//
// It is an SQLite database of three tables. `about`: facts of the whole file by name. `pages`: everything
// else but values, as pages of bytes (bytes.h), each of a section and a number in it; `value_parts`: the
// values of tensors, in parts. Pages and parts have a checksum, and are read when somebody looks.
//
// Pages are no messages: another version of the debug protocol reads the same files. What is not there is 0
// or an empty text in them; where a message has an absent value for it, if_there()
// (engine/protocol/if_there.h) makes it that, and value_or() writes it.
//
// Numbers of names, scopes, source lines, specs and ops in pages count from 1 in the section of that name; a
// page of `records` has Trace::page_size of them, one of `tensors` a block of the TensorTable.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace tapedeck::trace_file {

constexpr std::int32_t application_id = 0x54415045;  // "TAPE"
/// Raised whenever the program before this one can no longer read what is written. Since 2 curves, pictures
/// and runs have their cells' executions, and curves what their steps are.
constexpr std::int32_t format_version = 2;
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
