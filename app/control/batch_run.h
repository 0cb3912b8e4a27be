// Runs a notebook from top to bottom without a user, and collects the results.
#pragma once

#include <QObject>
#include <functional>
#include <string>
#include <vector>

#include "app/control/cell_runner.h"
#include "inspector/model/runs/picture_model.h"
#include "inspector/model/runs/series_model.h"

namespace tapedeck::app {

enum class BatchState {
  running,
  connecting,  ///< the cells are done; the debug server is not there yet
  collecting,  ///< records, then the last tape, then what is missing of the curves, histograms and images
  ending,      ///< the session process is asked to end
  done
};

/// Always ends: a request that gets no answer fails, at the latest when the process ends. What can't be
/// fetched is reported, and the run ends with what there is.
class BatchRun : public QObject {
  Q_OBJECT
 public:
  BatchRun(Document* document, Kernel* kernel, inspector::Session* session, QObject* parent = nullptr);

  void start();
  BatchState state() const { return state_; }
  int cells() const { return total_; }
  int started() const { return started_; }  ///< how many cells began

  // What was collected, when it has finished.
  /// JSON of the newest ones: 100,000 at most, as each takes a kilobyte.
  const std::vector<std::string>& records() const { return records_; }
  quint64 omittedRecords() const { return omittedRecords_; }       ///< older than these
  const protocol::TapeRecords& lastTape() const { return tape_; }  ///< empty: nothing was played
  const inspector::SeriesModel& series() const { return series_; }
  const inspector::PictureModel& pictures() const { return pictures_; }
  quint64 newestRecord() const { return expectedRecords_; }

 signals:
  void said(const QString& sentence);  ///< progress and trouble
  /// All is collected; the session process still lives. `failed`: a cell failed, the process ended, or
  /// something could not be fetched.
  void collected(bool failed);
  /// The session process is gone too.
  void finished();

 private:
  void follow(KernelState state, const QString& sentence);
  void tellProgress(const QString& cellId, CellState state);
  void tellError(const QString& cellId, const nlohmann::json& error);
  void answerInput(const QString& cellId, const QString& prompt);
  void collect();
  template <class Answer>
  void ask(const char* what, const protocol::Request& request, std::function<void(const Answer&)> answer,
           std::function<void()> without);
  void takeStatus(const protocol::Status& status);
  void requestRecords();
  void takeRecords(const protocol::Records& page);
  void requestTape();
  void finishPlots();
  void lookAtPlots();
  void finishCollecting();
  void trouble(const QString& sentence);

  Document* document_;
  Kernel* kernel_;
  inspector::Session* session_;
  inspector::SeriesModel series_;
  inspector::PictureModel pictures_;
  CellRunner runner_;
  BatchState state_ = BatchState::running;
  int total_ = 0, started_ = 0;
  bool failed_ = false;
  bool tapeDone_ = false;
  bool ended_ = false;  ///< the end of the process was reported
  QString asked_;       ///< the cell that was given a line of input
  quint64 expectedRecords_ = 0, omittedRecords_ = 0;
  std::vector<std::string> records_;
  protocol::Record lastPlayback_;
  protocol::TapeRecords tape_;
};

}  // namespace tapedeck::app
