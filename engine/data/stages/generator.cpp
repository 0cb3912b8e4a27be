// The elements of a user's generator.
#include "engine/data/stages/stage.h"

namespace tapedeck::data {

namespace {

class GeneratorIterator;
class Generator final : public Stage<Generator, GeneratorIterator> {
 public:
  explicit Generator(GeneratorStarter starter) : Stage("from_generator", {}), starter_(std::move(starter)) {}
  std::unique_ptr<GeneratorRun> run() const { return starter_(); }

 private:
  GeneratorStarter starter_;
};

class GeneratorIterator final : public Iterator {
 public:
  GeneratorIterator(std::shared_ptr<const Generator> dataset, const Start& how)
      : dataset_(std::move(dataset)), place_(*dataset_, how) {}
  bool next(Element& element) override {
    element.clear();
    if (ended_) return false;
    return place_.at(taken_, [&] {
      if (!run_) run_ = dataset_->run();
      ended_ = !run_->next(element);
      if (ended_)
        run_.reset();
      else
        ++taken_;
      return !ended_;
    });
  }
  void save(StateWriter& writer) override {
    writer.begin("generator");
    writer.number(taken_);
    writer.number(ended_);
  }
  void restore(StateReader& reader) override {
    reader.begin("generator");
    const std::int64_t taken = reader.number(INT64_MAX);
    const bool ended = reader.number(1) == 1;
    run_.reset();
    taken_ = 0;
    ended_ = false;
    Element passed;
    while (!ended && taken_ < taken && next(passed)) check_cancelled();
    if (ended) run_.reset();
    taken_ = taken;
    ended_ = ended;
  }

 private:
  std::shared_ptr<const Generator> dataset_;
  Place place_;
  std::unique_ptr<GeneratorRun> run_;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

DatasetPointer from_generator(GeneratorStarter starter) {
  return std::make_shared<Generator>(std::move(starter));
}

}  // namespace tapedeck::data
