// accl_info: shows what the library would do, without doing it.
#include <CLI/CLI.hpp>
#include <iostream>

#include "src/tools/algorithms_page.h"
#include "src/tools/plan_command.h"

namespace {

constexpr int kBadInput = 2;

void add_plan_options(CLI::App& plan, accl::PlanRequest& request) {
  plan.add_option("collective", request.collective,
                  "allreduce, allgather, reducescatter, broadcast, reduce or alltoall")
      ->required();
  plan.add_option("--ranks", request.ranks, "How many ranks, each with a core of its own")
      ->required();
  plan.add_option("--bytes", request.bytes, "Size of the vector, or of one rank's block")
      ->capture_default_str();
  plan.add_option("--algo", request.algorithm, "Algorithm; else the tuner chooses");
  plan.add_option("--rank", request.rank, "Whose program: a rank or all")->capture_default_str();
  plan.add_option("--root", request.root, "Root of broadcast and reduce")->capture_default_str();
  plan.add_option("--groups", request.groups, "Groups of the hierarchical algorithm, 0: choose")
      ->capture_default_str();
  plan.add_flag("--json", request.json, "Print JSON");
}

int run_plan(const accl::PlanRequest& request) {
  accl::Result<std::string> text = accl::plan_command(request);
  if (!text.ok()) {
    std::cerr << "accl_info plan: " << text.status().text() << "\n";
    return kBadInput;
  }
  std::cout << *text;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what the library would do, without doing it."};
  app.require_subcommand(1);
  accl::PlanRequest request;
  CLI::App* plan = app.add_subcommand("plan", "The program of a collective, step by step");
  add_plan_options(*plan, request);
  CLI::App* algorithms = app.add_subcommand("algorithms", "Prints docs/algorithms.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  if (*plan) return run_plan(request);
  if (*algorithms) std::cout << accl::algorithms_page();
  return 0;
}
