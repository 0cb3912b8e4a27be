#include "inspector/panels/tensor/tensor_actions.h"

#include <QAction>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QRegularExpression>

#include "inspector/model/format.h"
#include "inspector/panels/tensor/element_link.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

namespace {

constexpr std::int64_t most_in_literal = 100'000;

/// A name for a file: "W:0" becomes "W_0".
QString fileNameOf(const protocol::TensorInfo& tensor) {
  static const QRegularExpression other(QStringLiteral("[^\\w.-]+"),
                                        QRegularExpression::UseUnicodePropertiesOption);
  QString name = QString::fromStdString(tensor.name).replace(other, QStringLiteral("_")).left(80);
  while (name.startsWith(QLatin1Char('.'))) name.remove(0, 1);
  return (name.isEmpty() ? QStringLiteral("tensor") : name) + QStringLiteral(".npy");
}

}  // namespace

TensorActions::TensorActions(TensorModel* model, TensorCanvas* canvas, QWidget* view)
    : QObject(view), model_(model), canvas_(canvas), view_(view), finder_(model), save_(model) {
  ask_path_ = [view](const QString& name) {
    return askForPath(view, QStringLiteral("Save values"), name,
                      QStringLiteral("NumPy array (*.npy);;Comma-separated values (*.csv)"));
  };
  makeJumps();
  makeWriting();
  connect(&finder_, &ElementFinder::told, this,
          [this](const QString& sentence) { emit told(sentence, true); });
  connect(&finder_, &ElementFinder::found, this,
          [this](const std::vector<std::int64_t>& element) { showElement(*model_, *canvas_, element); });
  connect(&save_, &TensorSave::told, this, [this](const QString& sentence) { emit told(sentence, true); });
  connect(&save_, &TensorSave::finished, this,
          [this](const QString& path, const QString& note, const QString& error) {
            const QString name = QFileInfo(path).fileName();
            emit told(!error.isEmpty() ? QStringLiteral("%1 was not written: %2").arg(name, error)
                      : note.isEmpty() ? QStringLiteral("Saved as %1.").arg(path)
                                       : QStringLiteral("Saved as %1: %2.").arg(path, note),
                      true);
          });
  connect(&finder_, &ElementFinder::lookingChanged, this, &TensorActions::update);
  connect(&save_, &TensorSave::savingChanged, this, &TensorActions::update);
  connect(model_, &TensorModel::chipsChanged, this, &TensorActions::update);
  update();
}

QAction* TensorActions::add(const QString& text, const QKeySequence& key, const QString& tip) {
  QAction* const action = addKeyedAction(view_, text, {key}, tip);
  canvas_->addAction(action);
  of_tensor_ << action;
  return action;
}

void TensorActions::makeJumps() {
  using protocol::Sought;
  struct Jump {
    Sought sought;
    const char* text;
    Qt::Key key;
    const char* tip;
  };
  for (const Jump& jump :
       {Jump{Sought::nan, "Next NaN", Qt::Key_N, "Go to the next element that is NaN, in the whole tensor"},
        Jump{Sought::infinity, "Next infinity", Qt::Key_Y,
             "Go to the next infinite element, in the whole tensor"},
        Jump{Sought::maximum, "Maximum", Qt::Key_PageUp,
             "Go to the largest finite element of the whole tensor; again: to the next that is as large"},
        Jump{Sought::minimum, "Minimum", Qt::Key_PageDown,
             "Go to the smallest finite element of the whole tensor; again: to the next that is as small"}}) {
    QAction* const action =
        add(QString::fromLatin1(jump.text), Qt::ALT | Qt::SHIFT | jump.key, QString::fromLatin1(jump.tip));
    connect(action, &QAction::triggered, &finder_, [this, sought = jump.sought] { finder_.find(sought); });
  }
}

void TensorActions::makeWriting() {
  connect(add(QStringLiteral("Copy as NumPy literal"), Qt::ALT | Qt::SHIFT | Qt::Key_C,
              QStringLiteral("Copy the selected numbers, or all of the tensor, as “np.array(…)”")),
          &QAction::triggered, this, &TensorActions::copyLiteral);
  connect(add(QStringLiteral("Save values…"), Qt::ALT | Qt::SHIFT | Qt::Key_V,
              QStringLiteral("Save all of the tensor as .npy or .csv")),
          &QAction::triggered, this, &TensorActions::saveValues);
  stop_ = addKeyedAction(view_, QStringLiteral("Stop searching or saving"), {Qt::ALT | Qt::SHIFT | Qt::Key_Q},
                         QStringLiteral("Stop searching the values, or saving them"));
  canvas_->addAction(stop_);
  connect(stop_, &QAction::triggered, this, [this] {
    finder_.stop();
    save_.stop();
  });
}

void TensorActions::update() {
  for (QAction* action : of_tensor_) action->setEnabled(model_->tensor() != nullptr);
  stop_->setEnabled(finder_.looking() || save_.saving());
}

void TensorActions::saveValues() {
  const protocol::TensorInfo* tensor = model_->tensor();
  if (!tensor) return;
  const TensorId id = tensor->id;
  const QString path = ask_path_(fileNameOf(*tensor));
  if (path.isEmpty()) return;
  // The dialog may have been open for long.
  if (!model_->tensor() || model_->tensor()->id != id)
    return emit told(QStringLiteral("Nothing was saved: another tensor is shown now."), true);
  save_.start(path);
}

void TensorActions::copyLiteral() {
  const protocol::TensorInfo* tensor = model_->tensor();
  if (!tensor) return;
  protocol::GetTile get;
  get.tensor = tensor->id;
  std::vector<std::int64_t> shape = model_->shape();
  const std::optional<CellRange> range = canvas_->numbers().selection();
  const bool selected = canvas_->mode() == TensorMode::numbers && !canvas_->showsScalar() && range &&
                        (range->rows() > 1 || range->columns() > 1);
  if (selected) {
    if (shape != tensor->shape) get.reshape = protocol::if_there(shape);
    get.slice = protocol::if_there(model_->slice());
    get.row = range->top;
    get.column = range->left;
    get.rows = range->rows();
    get.columns = range->columns();
    const auto axes = std::count(get.slice->begin(), get.slice->end(), -1);
    shape =
        axes < 2 ? std::vector<std::int64_t>{get.columns} : std::vector<std::int64_t>{get.rows, get.columns};
  } else {
    const std::int64_t count = elementCount(shape);
    get.reshape = std::vector<std::int64_t>{count};
    get.slice = std::vector<std::int64_t>{-1};
    get.rows = 1;
    get.columns = count;
  }
  if (get.columns > 0 && get.rows > most_in_literal / get.columns)
    return emit told(
        QStringLiteral("%1 are too many for a literal: at most %2. Select some of the numbers.")
            .arg(selected ? QStringLiteral("%1×%2 values").arg(get.rows).arg(get.columns)
                          : countText(static_cast<quint64>(get.columns)) + QStringLiteral(" values"),
                 countText(most_in_literal)),
        false);
  const bool asked = model_->session()->request<protocol::Tile>(
      get, this,
      [this, shape](const protocol::Tile& tile) {
        const std::int64_t count = elementCount(shape);
        if (static_cast<std::int64_t>(tile.values.size()) != count ||
            (!tile.exact.empty() && tile.exact.size() != tile.values.size()))
          return emit told(QStringLiteral("The session's answer is malformed: %1 values of %2.")
                               .arg(tile.values.size())
                               .arg(count),
                           false);
        const Literal literal = numpyLiteral(tile, shape);
        if (!literal.error.isEmpty()) return emit told(literal.error, false);
        QGuiApplication::clipboard()->setText(literal.text);
        emit told(QStringLiteral("Copied %1 as np.array(…)%2.")
                      .arg(count == 1 ? QStringLiteral("1 value")
                                      : countText(static_cast<quint64>(count)) + QStringLiteral(" values"),
                           tile.dtype == "bfloat16" ? QStringLiteral(", as float32: NumPy has no bfloat16")
                                                    : QString()),
                  false);
      },
      [this](const protocol::Failure& failure) { emit told(QString::fromStdString(failure.reason), false); },
      QStringLiteral("tensor/literal"));
  if (!asked)
    emit told(QStringLiteral("The session has ended: these values can no longer be fetched."), false);
}

}  // namespace tapedeck::inspector
