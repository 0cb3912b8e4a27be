// Sections with data about whole runs: cells, waits at the gate, lifetimes of memory, health.
#pragma once

#include "engine/record/trace_file/sections.h"

namespace tapedeck::trace_file {

void save_cell_runs(const Recorder& recorder, SectionOut& out);
void load_cell_runs(Recorder& recorder, PageReader& page, const SectionIn& in);
void save_gate_waits(const Recorder& recorder, SectionOut& out);
void load_gate_waits(Recorder& recorder, PageReader& page, const SectionIn& in);
void save_memory_log(const Recorder& recorder, SectionOut& out);
void load_memory_log(Recorder& recorder, PageReader& page, const SectionIn& in);
void save_health(const Recorder& recorder, SectionOut& out);
void load_health(Recorder& recorder, PageReader& page, const SectionIn& in);

}  // namespace tapedeck::trace_file
