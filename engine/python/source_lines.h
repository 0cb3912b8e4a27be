// Which line of the user's Python program an op comes from, and how the call is written there.
#pragma once

#include <cstdint>
#include <string>

#include "engine/python/python.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {

/// From now on each op learns its line (set_capture_call_site). `package`: folder whose files are not the
/// user's. Needs Python's lock, as all functions here.
void start_capturing_lines(const std::string& package);
/// For a program without cells: each file of the user's is a cell, named by its path, whose lines are the
/// file's. The innermost of them is an op's place. Until stop_capturing_lines().
void show_files_as_cells();
/// Files of that folder are not the user's either: those of another framework.
void skip_lines_of(const std::string& folder);
/// Ops learn no lines any longer. What was remembered of code objects goes.
void stop_capturing_lines();

/// The place of the innermost code that is the user's, as set_capture_call_site's function gives it, also
/// while none is captured. Slow.
std::uint32_t location_in_program();

/// Code compiled under `filename` from now on belongs to the notebook cell `cell`, wherever it runs later.
void name_cell(const std::string& cell, const std::string& filename);

/// What breakpoints call the cell of the code: the cell's id, or the file where files are cells. The code is
/// kept until stop_capturing_lines().
const std::string& cell_of_code(PyCodeObject* code);
/// Whether there may be code that cell_of_code() says this of.
bool has_cell(const std::string& cell);
/// The location of an instruction, by its offset in bytes.
std::uint32_t location_in_code(PyCodeObject* code, int instruction);
/// The same, with the text of the whole line in place of a call.
CallSite line_in_code(PyCodeObject* code, int instruction);
/// Code of the user's, in cells or files: none of the package's.
bool is_users(PyCodeObject* code);

/// Whether code of the user's runs on this thread that a frame called, which waits for it. The frame itself
/// does not count.
bool users_code_runs_in(PyFrameObject* outer);

/// Code of a notebook's cell; of no file, also where files are cells.
bool is_of_cell(PyCodeObject* code);

/// Id of the cell that was compiled under that name; empty: none.
std::string cell_of(const std::string& filename);

}  // namespace tapedeck::python
