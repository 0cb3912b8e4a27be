// The current row of a comparison: its operands, and their pictures.
#include "inspector/model/compare/compare_model.h"

namespace tapedeck::inspector {

namespace {

const QString operands_channel = QStringLiteral("compare/operands");
const QString compare_tile_channel = QStringLiteral("compare/tile %1");
constexpr int most_tiles = 3;                    // left, right, difference
constexpr std::int64_t most_picture_cells = 96;  // a side

}  // namespace

void CompareModel::dropOperands() {
  where_->drop(operands_channel);
  dropTiles();
}

void CompareModel::dropTiles() {
  for (int part = 0; part < most_tiles; ++part) where_->drop(compare_tile_channel.arg(part));
}

void CompareModel::setCurrentRow(int row) {
  if (row == current_ || row >= rowCount()) return;
  current_ = row;
  operands_.reset();
  pictures_ = {};
  dropTiles();
  fetchOperands();
  emit currentChanged();
  emit operandsChanged();
  emit picturesChanged();
}

void CompareModel::fetchOperands() {
  if (!compared_ || current_ < 0) return;
  where_->request<protocol::ComparedOperands>(
      protocol::CompareOperands{compared_->comparison, static_cast<std::uint64_t>(current_), relative_,
                                absolute_},
      this,
      [this](const protocol::ComparedOperands& answer) {
        if (!compared_ || answer.comparison != compared_->comparison ||
            static_cast<int>(answer.row) != current_)
          return;
        operands_ = answer;
        asked_.remove(current_ / rows_of_page);
        emit operandsChanged();
        emit rowsChanged(current_, current_);
      },
      [this, comparison = compared_->comparison](const protocol::Failure& failure) {
        failOf(comparison, failure);
        emit operandsChanged();
      },
      operands_channel);
}

bool CompareModel::askingForOperands() const {
  return where_->asking(operands_channel);
}

void CompareModel::show(int at, bool right) {
  const protocol::ComparedRow* shown = row(at);
  if (!shown) return;
  const bool onRight = !shown->left || (right && shown->right);
  const auto& choice = onRight ? right_ : left_;
  if (const auto& record = onRight ? shown->right : shown->left; record && choice && !choice->side.path)
    session_->setCursor(record->number);
}

void CompareModel::setPictured(int operand) {
  if (operand == pictures_.operand) return;
  dropTiles();
  pictures_ = {};
  pictures_.operand = operand;
  emit picturesChanged();
  fetchPictures();
}

void CompareModel::fetchPictures() {
  if (!compared_ || !operands_ || pictures_.operand < 0 ||
      pictures_.operand >= static_cast<int>(operands_->operands.size()))
    return;
  const protocol::ComparedOperand& operand = operands_->operands[static_cast<std::size_t>(pictures_.operand)];
  if (operand.left) fetchTile(protocol::ComparedPart::left, &OperandPictures::left);
  if (operand.right) fetchTile(protocol::ComparedPart::right, &OperandPictures::right);
  if (operand.left && operand.right && operand.left->shape == operand.right->shape)
    fetchTile(protocol::ComparedPart::difference, &OperandPictures::difference);
}

void CompareModel::fetchTile(protocol::ComparedPart part,
                             std::optional<protocol::Tile> OperandPictures::*into) {
  const protocol::ComparedOperand& operand = operands_->operands[static_cast<std::size_t>(pictures_.operand)];
  const auto& tensor = part == protocol::ComparedPart::right ? operand.right : operand.left;
  const std::vector<std::int64_t> shape = tensor ? tensor->shape : std::vector<std::int64_t>();
  const std::size_t axes = shape.size();
  const std::int64_t rows = axes >= 2 ? shape[axes - 2] : 1, columns = axes >= 1 ? shape[axes - 1] : 1;
  if (rows <= 0 || columns <= 0) return;
  protocol::GetComparisonTile get{compared_->comparison, part, {}, {}, {}};
  if (operand.left) get.left = operand.left->id;
  if (operand.right) get.right = operand.right->id;
  get.tile.rows = rows;
  get.tile.columns = columns;
  get.tile.row_step = (rows + most_picture_cells - 1) / most_picture_cells;
  get.tile.column_step = (columns + most_picture_cells - 1) / most_picture_cells;
  where_->request<protocol::Tile>(
      get, this,
      [this, into](const protocol::Tile& tile) {
        pictures_.*into = tile;
        emit picturesChanged();
      },
      [this](const protocol::Failure& failure) {
        pictures_.problem = panelSentence(failure.reason);
        emit picturesChanged();
      },
      compare_tile_channel.arg(static_cast<int>(part)));
}

void CompareModel::pick(int operand, bool right) {
  if (!operands_ || operand < 0 || operand >= static_cast<int>(operands_->operands.size())) return;
  const protocol::ComparedOperand chosen = operands_->operands[static_cast<std::size_t>(operand)];
  const auto& choice = right ? right_ : left_;
  const auto& tensor = right ? chosen.right : chosen.left;
  if (!tensor || !choice || choice->side.path) return;
  show(current_, right);
  if (!chosen.element || chosen.element->empty())
    session_->pickTensor(*tensor);
  else
    session_->pickElement(*tensor, *chosen.element);
}

}  // namespace tapedeck::inspector
