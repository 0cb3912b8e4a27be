#include "inspector/model/variables/console_model.h"

namespace tapedeck::inspector {

namespace {

const QString evaluate_channel = QStringLiteral("console");
const QString complete_channel = QStringLiteral("console/complete");
constexpr int most_history = 1000;

}  // namespace

ConsoleModel::ConsoleModel(Session* session, FramesModel* frames, QObject* parent)
    : QObject(parent), session_(session), frames_(frames) {
  connect(session, &Session::cleared, this, [this] { setRunning(false); });
}

void ConsoleModel::setRunning(bool running) {
  if (running_ == running) return;
  running_ = running;
  emit runningChanged();
}

// A block goes on until an empty line, as in Python's own console; a bracket until it is closed.
bool ConsoleModel::isWhole(const QString& code) {
  int open = 0;
  QChar quote;
  for (int i = 0; i < code.size(); ++i) {
    const QChar letter = code[i];
    if (!quote.isNull()) {
      if (letter == QLatin1Char('\\')) {
        ++i;
      } else if (letter == quote) {
        quote = QChar();
      }
    } else if (letter == QLatin1Char('\'') || letter == QLatin1Char('"')) {
      quote = letter;
    } else if (letter == QLatin1Char('#')) {
      while (i + 1 < code.size() && code[i + 1] != QLatin1Char('\n')) ++i;
    } else if (QStringLiteral("([{").contains(letter)) {
      ++open;
    } else if (QStringLiteral(")]}").contains(letter)) {
      --open;
    }
  }
  if (open > 0) return false;
  const QStringList lines = code.split(QLatin1Char('\n'));
  const bool block =
      lines.first().trimmed().endsWith(QLatin1Char(':')) || lines.first().startsWith(QLatin1Char('@'));
  return !block || lines.last().trimmed().isEmpty();
}

bool ConsoleModel::evaluate(const QString& code) {
  const QString text = code.trimmed();
  if (running_ || text.isEmpty()) return false;
  if (!frames_->readable()) {
    emit said(Part::note, session_->live()
                              ? QStringLiteral("A cell is running: pause it (F6), or wait until it ends.")
                              : QStringLiteral("No session: it starts with the first run of a cell."));
    return false;
  }
  history_.removeAll(text);
  history_ << text;
  if (history_.size() > most_history) history_.removeFirst();
  emit said(Part::input, text);
  setRunning(session_->request<protocol::Evaluation>(
      protocol::Evaluate{protocol::if_there(frames_->stop()),
                         static_cast<std::uint32_t>(frames_->current()),
                         text.toStdString(),
                         true,
                         {},
                         protocol::if_there(frames_->moment())},
      this, [this](const protocol::Evaluation& answer) { take(answer); },
      [this](const protocol::Failure& failure) {
        setRunning(false);
        emit said(Part::error, QString::fromStdString(failure.reason));
      },
      evaluate_channel));
  return true;
}

void ConsoleModel::take(const protocol::Evaluation& answer) {
  setRunning(false);
  const auto say = [this](Part part, const std::optional<std::string>& text) {
    if (text) emit said(part, QString::fromStdString(*text));
  };
  say(Part::printed, protocol::if_there(answer.printed));
  say(Part::value, answer.text);
  say(Part::error, answer.traceback);
  say(Part::note, answer.note);
  say(Part::note, answer.moment);
  frames_->touch();  // it may have assigned
}

void ConsoleModel::stop() {
  if (!running_) return;
  session_->drop(evaluate_channel);
  setRunning(false);
  emit said(Part::note, QStringLiteral("Stopped."));
  frames_->touch();
}

void ConsoleModel::complete(const QString& code, int position) {
  if (running_ || !frames_->readable()) return;
  session_->request<protocol::Completions>(
      protocol::Complete{protocol::if_there(frames_->stop()), static_cast<std::uint32_t>(frames_->current()),
                         code.toStdString(), static_cast<std::uint32_t>(position)},
      this,
      [this, position](const protocol::Completions& answer) {
        QStringList matches;
        for (const std::string& match : answer.matches) matches << QString::fromStdString(match);
        emit completed(static_cast<int>(answer.start), position, matches);
      },
      [](const protocol::Failure&) {},  // then there is nothing to offer
      complete_channel);
}

}  // namespace tapedeck::inspector
