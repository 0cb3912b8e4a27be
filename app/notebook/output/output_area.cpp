#include "app/notebook/output/output_area.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolButton>

#include "app/notebook/document/nbformat.h"
#include "app/notebook/output/output_factory.h"
#include "app/notebook/output/text_output.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr int gap = 4;
constexpr std::size_t most_rows = 100;

void mixIn(std::size_t& seed, std::size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2);
}

/// Tells outputs apart without keeping a copy of them.
std::size_t signatureOf(const ordered_json& value) {
  std::size_t seed = static_cast<std::size_t>(value.type());
  if (value.is_string()) {
    mixIn(seed, std::hash<std::string_view>()(value.get_ref<const std::string&>()));
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      mixIn(seed, std::hash<std::string_view>()(key));
      mixIn(seed, signatureOf(member));
    }
  } else if (value.is_array()) {
    for (const auto& element : value) mixIn(seed, signatureOf(element));
  } else {
    mixIn(seed, std::hash<ordered_json>()(value));
  }
  return seed;
}

std::string kindOf(const ordered_json& output) {
  if (!output.is_object()) return "";
  const std::string type = output.value("output_type", "");
  if (type != "stream") return type;
  return type + (output.contains("name") && output["name"] == "stderr" ? " stderr" : " stdout");
}

QString promptOf(const ordered_json& output) {
  if (!output.is_object() || output.value("output_type", "") != "execute_result") return {};
  const auto count = output.find("execution_count");
  if (count == output.end() || !count->is_number_integer()) return "Out";
  return QString("Out[%1]").arg(count->get<std::int64_t>());
}

}  // namespace

int gutterWidth(const NotebookTheme& theme) {
  return QFontMetrics(theme.codeFont).horizontalAdvance("Out[999]") + 14;
}

OutputArea::OutputArea(const NotebookTheme& theme, QWidget* parent) : Block(parent), theme_(theme) {}

OutputArea::Row OutputArea::makeRow(const ordered_json& output) {
  Row row{signatureOf(output), kindOf(output), promptOf(output), makeOutputBlock(output, theme_, this)};
  if (auto* text = qobject_cast<TextOutput*>(row.block)) {
    connect(text, &TextOutput::placeClicked, this, &OutputArea::placeClicked);
  }
  row.block->show();
  return row;
}

void OutputArea::discard(const Row& row) {
  // Later: a click in it may be what led here.
  row.block->hide();
  row.block->deleteLater();
}

void OutputArea::setOutputs(const ordered_json& outputs) {
  const std::size_t count = showAll_ ? outputs.size() : std::min(outputs.size(), most_rows);
  for (std::size_t i = 0; i < count; ++i) {
    const ordered_json& output = outputs[i];
    if (i >= rows_.size()) {
      rows_.push_back(makeRow(output));
      continue;
    }
    Row& row = rows_[i];
    const std::size_t signature = signatureOf(output);
    if (row.signature == signature) continue;
    if (row.kind == kindOf(output) && row.kind.starts_with("stream")) {
      static_cast<TextOutput*>(row.block)->setText(streamText(output));
      row.signature = signature;
      continue;
    }
    discard(row);
    row = makeRow(output);
  }
  while (rows_.size() > count) {
    discard(rows_.back());
    rows_.pop_back();
  }
  if (outputs.size() > count) {
    if (more_ == nullptr) more_ = new QToolButton(this);
    more_->setText(QString("Show %1 more outputs").arg(outputs.size() - count));
    more_->setToolTip("Only the first 100 outputs of a cell are shown at once");
    more_->disconnect();
    connect(more_, &QToolButton::clicked, this, [this, outputs] {
      showAll_ = true;
      setOutputs(outputs);
    });
    more_->show();
  } else if (more_ != nullptr) {
    more_->hide();
    more_->deleteLater();
    more_ = nullptr;
  }
  contentsChanged();
}

void OutputArea::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  for (const Row& row : rows_) discard(row);
  rows_.clear();
}

int OutputArea::computeHeight(int width) {
  const int room = std::max(40, width - gutterWidth(theme_));
  int height = 0;
  for (const Row& row : rows_) height += row.block->heightFor(room) + gap;
  if (more_ != nullptr) height += more_->sizeHint().height() + gap;
  return height;
}

void OutputArea::place() {
  const int left = gutterWidth(theme_);
  const int room = std::max(40, width() - left);
  int y = gap;
  for (const Row& row : rows_) {
    const int height = row.block->heightFor(room);
    row.block->setGeometry(left, y, room, height);
    row.block->arrange();
    y += height + gap;
  }
  if (more_ != nullptr) more_->setGeometry(QRect(QPoint(left, y), more_->sizeHint()));
  update();
}

void OutputArea::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(theme_.codeFont);
  painter.setPen(theme_.muted);
  const QFontMetrics metrics(theme_.codeFont);
  for (const Row& row : rows_) {
    if (row.prompt.isEmpty()) continue;
    painter.drawText(QRect(0, row.block->y() + 3, gutterWidth(theme_) - 8, metrics.lineSpacing()),
                     Qt::AlignRight | Qt::AlignVCenter, row.prompt);
  }
}

int OutputArea::estimate(const ordered_json& outputs, const NotebookTheme& theme) {
  const int line = QFontMetrics(theme.codeFont).lineSpacing();
  int height = 0;
  for (const ordered_json& output : outputs) {
    const std::string kind = kindOf(output);
    if (kind.starts_with("stream")) {
      const std::string text = streamText(output);
      height += line * static_cast<int>(
                           std::min<std::ptrdiff_t>(300, std::count(text.begin(), text.end(), '\n') + 1));
    } else if (kind == "error") {
      height += line * 10;
    } else if (output.contains("data") && output["data"].is_object() &&
               output["data"].contains("text/plain") && output["data"].size() == 1) {
      height += line;
    } else {
      height += 260;
    }
    height += 10;
  }
  return height;
}

}  // namespace tapedeck::app
