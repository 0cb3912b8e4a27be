#include "inspector/panels/console/console_view.h"

#include <QAction>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QTextCursor>
#include <QToolButton>

#include "inspector/panels/console/console_input.h"
#include "inspector/ui/icons.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_lines = 5000;

}  // namespace

ConsoleView::ConsoleView(Session& session, FramesModel& frames, QWidget* parent)
    : Panel(parent), session_(session), frames_(frames), model_(new ConsoleModel(&session, &frames, this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->setSpacing(4);
  place_ = plainLabel(this);
  place_->setObjectName(QStringLiteral("consolePlace"));
  place_->setWordWrap(true);  // the end of the text names the moment
  layout->addWidget(place_);
  const QFont letters = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  output_ = new QPlainTextEdit(this);
  output_->setObjectName(QStringLiteral("consoleOutput"));
  output_->setAccessibleName(QStringLiteral("Console output"));
  output_->setReadOnly(true);
  output_->setMaximumBlockCount(most_lines);
  output_->setFont(letters);
  output_->setPlaceholderText(
      QStringLiteral("Type Python below: it runs in the current frame (choose another in Variables, Call "
                     "stack), or between two cells. Its ops are neither recorded nor stopped."));
  layout->addWidget(output_, 1);
  auto* line = new QHBoxLayout;
  input_ = new ConsoleInput(this);
  input_->setObjectName(QStringLiteral("consoleInput"));
  input_->setAccessibleName(QStringLiteral("Python code"));
  input_->setPlaceholderText(QStringLiteral("Python; Tab completes"));
  input_->setFont(letters);
  line->addWidget(input_, 1);
  QAction* stop = addKeyedAction(this, QStringLiteral("Stop"), {Qt::CTRL | Qt::Key_Period},
                                 QStringLiteral("Interrupt the console's code"));
  stop->setIcon(icon(QStringLiteral("interrupt")));
  stop->setEnabled(false);
  stop_ = new QToolButton(this);
  stop_->setDefaultAction(stop);
  line->addWidget(stop_);
  layout->addLayout(line);
  QAction* clear = addKeyedAction(this, QStringLiteral("Clear"), {Qt::CTRL | Qt::Key_L},
                                  QStringLiteral("Clear what is shown"));
  actions_ = {stop, clear};
  setFocusProxy(input_);

  connect(clear, &QAction::triggered, output_, &QPlainTextEdit::clear);
  connect(stop, &QAction::triggered, model_, &ConsoleModel::stop);
  connect(input_, &ConsoleInput::stopWanted, model_, &ConsoleModel::stop);
  connect(input_, &ConsoleInput::entered, this, &ConsoleView::enter);
  connect(input_, &ConsoleInput::completionWanted, model_, &ConsoleModel::complete);
  connect(model_, &ConsoleModel::completed, input_, &ConsoleInput::showCompletions);
  connect(model_, &ConsoleModel::said, this, &ConsoleView::say);
  connect(model_, &ConsoleModel::runningChanged, this, [this, stop] {
    stop->setEnabled(model_->running());
    input_->setRunning(model_->running());
    look();
  });
  connect(&frames, &FramesModel::placeChanged, this, &ConsoleView::look);
  connect(&session, &Session::liveChanged, this, &ConsoleView::look);
  look();
}

QList<HandledKeys> ConsoleView::handledKeys() const {
  return {{{Qt::Key_Return}, QStringLiteral("Run the code; if it is incomplete, add a line")},
          {{Qt::Key_Up, Qt::Key_Down}, QStringLiteral("Previous input")},
          {{Qt::Key_Tab}, QStringLiteral("Complete the name; in an empty line: to the next place")},
          {{Qt::Key_Escape}, QStringLiteral("While code runs: stop it")}};
}

void ConsoleView::enter(const QString& code) {
  if (!model_->evaluate(code)) return;
  input_->clear();
  input_->setHistory(model_->history());
}

void ConsoleView::say(ConsoleModel::Part part, const QString& text) {
  const Theme theme = Theme::fromPalette(palette());
  QTextCharFormat format;
  QString shown = text;
  switch (part) {
    case ConsoleModel::Part::input:
      format.setForeground(theme.faintText);
      shown = QStringLiteral(">>> ") + QString(text).replace(QLatin1Char('\n'), QStringLiteral("\n... "));
      break;
    case ConsoleModel::Part::error:
      format.setForeground(theme.error.stroke);
      break;
    case ConsoleModel::Part::note:
      format.setForeground(theme.faintText);
      format.setFontItalic(true);
      break;
    case ConsoleModel::Part::printed:
    case ConsoleModel::Part::value:
      break;
  }
  while (shown.endsWith(QLatin1Char('\n'))) shown.chop(1);
  QTextCursor cursor(output_->document());
  cursor.movePosition(QTextCursor::End);
  if (!output_->document()->isEmpty()) cursor.insertBlock();
  cursor.insertText(shown, format);
  output_->setTextCursor(cursor);
  output_->ensureCursorVisible();
}

void ConsoleView::look() {
  const bool empty = !session_.live() && frames_.placeText().isEmpty();
  if (std::exchange(empty_, empty) != empty) emit emptyChanged();
  place_->setText(model_->running() ? QStringLiteral("It runs the code; Ctrl+. stops it")
                                    : frames_.placeText());
  place_->setVisible(!place_->text().isEmpty());
}

}  // namespace tapedeck::inspector
