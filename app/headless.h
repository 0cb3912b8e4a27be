// Runs a notebook without a window, through the same session code, and writes the results.
#pragma once

#include <QString>

namespace tapedeck::app {

struct HeadlessOptions {
  QString notebook;
  QString folder;       ///< for the results; created where it is missing
  QString environment;  ///< the Python that runs it; empty: the one kept with it, where the user chose that
                        ///< before
};

/// Writes NAME.ipynb (executed), plots.svg and plots.png and one of each per series, histogram-NAME.svg and
/// .png and images-NAME.png (of the newest step) of summaries, tape.svg (the last playback's graph) and
/// records.json. Progress goes to stderr. Returns the exit code: 0; 1 where a cell failed or the session
/// process ended (the results up to there are written); 2 where the notebook can't be read or the results not
/// written.
int runHeadless(const HeadlessOptions& options);

}  // namespace tapedeck::app
