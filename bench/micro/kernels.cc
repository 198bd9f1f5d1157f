// Speed of single kernel passes: bytes of output a second, from cache-line sizes to memory.
//
// Run pinned to one core, for example: taskset -c 1 kernels_bench --benchmark_filter=sum
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "device/reduce.h"

namespace accl {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

/// Page-aligned memory, touched, so that no page fault is measured.
Buffer make_buffer(size_t bytes) {
  const size_t page = 4096;
  Buffer buffer(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  std::memset(buffer.get(), 0, bytes);
  return buffer;
}

struct Case {
  std::string name;
  Kernel kernel;
  size_t element;
  bool two_operands;
  bool two_outputs;
  bool nontemporal;
  bool scaled;
};

void run_case(benchmark::State& state, const Case& c) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffer left = make_buffer(bytes);
  const Buffer right = make_buffer(bytes);
  const Buffer out = make_buffer(bytes);
  const Buffer ring = make_buffer(bytes);
  const Pass pass = {.out = out.get(),
                     .ring = c.two_outputs ? ring.get() : nullptr,
                     .left = left.get(),
                     .right = c.two_operands ? right.get() : nullptr,
                     .count = bytes / c.element,
                     .scale_left = c.scaled,
                     .nontemporal = c.nontemporal,
                     .scale = 0.5};
  for (auto _ : state) {
    c.kernel(pass);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void library_copy(const Pass& pass) {
  std::memcpy(pass.out, pass.left, pass.count);
  if (pass.ring != nullptr) std::memcpy(pass.ring, pass.left, pass.count);
}

void add(const Case& c) {
  auto* bench = benchmark::RegisterBenchmark(c.name.c_str(),
                                             [c](benchmark::State& state) { run_case(state, c); });
  for (const int64_t bytes : {8, 64, 1024, 16 << 10, 256 << 10, 4 << 20, 64 << 20}) {
    bench->Arg(bytes);
  }
}

void add_variants(Case c) {
  const std::string base = c.name;
  for (const bool two_outputs : {false, true}) {
    for (const bool nontemporal : {false, true}) {
      c.name = base + (two_outputs ? "/two" : "/one") + (nontemporal ? "/nt" : "");
      c.two_outputs = two_outputs;
      c.nontemporal = nontemporal;
      add(c);
    }
  }
}

void add_all() {
  add_variants({"memcpy", library_copy, 1, false, false, false, false});
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (best_isa(isa) != isa) continue;
    const std::string suffix = std::string("/").append(name_of(isa));
    add_variants({"copy" + suffix, copy_kernel(isa), 1, false, false, false, false});
    for (int i = 0; i < kDataTypes; ++i) {
      const auto type = static_cast<DataType>(i);
      Case c = {std::string("sum/").append(name_of(type)).append(suffix),
                reduce_kernel(type, ReduceOp::kSum, isa),
                size_of(type),
                true,
                false,
                false,
                false};
      add_variants(c);
      if (!is_float(type)) continue;
      c.name = std::string("average/").append(name_of(type)).append(suffix);
      c.scaled = true;
      add(c);
      c.name = std::string("max/").append(name_of(type)).append(suffix);
      c.scaled = false;
      c.kernel = reduce_kernel(type, ReduceOp::kMax, isa);
      add(c);
    }
  }
}

}  // namespace
}  // namespace accl

int main(int argc, char** argv) {
  accl::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
