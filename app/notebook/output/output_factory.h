// Which widget shows an output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"

namespace tapedeck::app {

/// Never null: what can't be shown becomes a note that names its type.
Block* makeOutputBlock(const nlohmann::ordered_json& output, const NotebookTheme& theme, QWidget* parent);

/// The text that a stream or error output shows.
std::string streamText(const nlohmann::ordered_json& output);
std::string tracebackText(const nlohmann::ordered_json& output);

}  // namespace tapedeck::app
