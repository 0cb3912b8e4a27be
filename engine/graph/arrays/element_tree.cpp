#include "engine/graph/arrays/element_tree.h"

#include <array>
#include <atomic>
#include <bitset>

namespace tapedeck::graph {

struct ElementTree::Leaf {
  std::array<Tensor, width> tensors;
  std::bitset<width> cleared;
};

struct ElementTree::Branch {
  std::array<std::shared_ptr<void>, width> below;
};

namespace {

/// The node, which is made where there is none, and copied where another state has it, too.
template <class Node>
Node& own(std::shared_ptr<void>& pointer) {
  if (!pointer) {
    pointer = std::make_shared<Node>();
  } else if (pointer.use_count() > 1) {
    pointer = std::make_shared<Node>(*static_cast<const Node*>(pointer.get()));
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);  // of those that have just given it up
  }
  return *static_cast<Node*>(pointer.get());
}

}  // namespace

ElementTree::Element ElementTree::operator[](std::int64_t index) const {
  const void* node = root_.get();
  for (int level = level_; node && level > 0; --level)
    node = static_cast<const Branch*>(node)->below[place(index, level)].get();
  if (!node) return {};
  const auto& leaf = *static_cast<const Leaf*>(node);
  return {leaf.tensors[place(index, 0)], leaf.cleared[place(index, 0)]};
}

void ElementTree::grow_to(std::int64_t size) {
  if (size <= size_) return;
  size_ = size;
  while (((size - 1) >> (bits * (level_ + 1))) != 0) {
    ++level_;
    if (!root_) continue;
    auto above = std::make_shared<Branch>();
    above->below[0] = std::move(root_);
    root_ = std::move(above);
  }
}

void ElementTree::set(std::int64_t index, Element element) {
  std::shared_ptr<void>* node = &root_;
  for (int level = level_; level > 0; --level) node = &own<Branch>(*node).below[place(index, level)];
  Leaf& leaf = own<Leaf>(*node);
  leaf.tensors[place(index, 0)] = std::move(element.tensor);
  leaf.cleared[place(index, 0)] = element.cleared;
}

}  // namespace tapedeck::graph
