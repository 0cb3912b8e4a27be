// The machine's peak rates: measured once, kept in a file of the user's.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/protocol/profile.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// The processor's name, and how many threads the engine computes in.
std::string machine_name();
std::uint32_t machine_threads();

/// Runs products, copies of large and small vectors and the smallest op, for half a second at most. If the
/// program starts to run meanwhile, which `disturbed` reports, the measurement is abandoned: `problem` says
/// so. Throws Cancelled, and what ops throw.
protocol::Peaks measure_peaks(const std::function<bool()>& disturbed, const CancelFlag* cancel);

/// $XDG_CACHE_HOME/tapedeck, or ~/.cache/tapedeck; empty where the user has no home.
std::filesystem::path peaks_folder();
/// What was measured on this machine with so many threads; not known where there is no such file, or none
/// that can be read.
protocol::Peaks load_peaks(const std::filesystem::path& folder);
/// Does nothing where the folder cannot be written: it is measured anew next time.
void save_peaks(const std::filesystem::path& folder, const protocol::Peaks& peaks);

}  // namespace tapedeck::debug
