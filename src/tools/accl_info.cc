// accl_info: shows what the library would do, without doing it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>

#include "accl/nccl.h"
#include "accl/version.h"
#include "src/base/process.h"
#include "src/config/load.h"
#include "src/tools/algorithms_page.h"
#include "src/tools/plan_command.h"

namespace {

constexpr int kBadInput = 2;

void add_plan_options(CLI::App& plan, accl::PlanRequest& request) {
  plan.add_option("collective", request.collective,
                  "allreduce, allgather, reducescatter, broadcast, reduce or alltoall")
      ->required();
  plan.add_option("--ranks", request.ranks, "How many ranks")->required();
  plan.add_option("--cores", request.cores,
                  "Cores that the ranks share (here, unless given); 0: one for each")
      ->capture_default_str();
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

int run_env() {
  accl::Result<accl::LoadedConfig> loaded = accl::load_config(accl::process_environment());
  if (!loaded.ok()) {
    std::cerr << "accl_info env: " << loaded.status().text() << "\n";
    return kBadInput;
  }
  std::cout << accl::describe_settings(*loaded);
  return 0;
}

int cores_here() {
  const int usable = accl::usable_cores().count();
  const int granted = accl::granted_cores();
  return granted > 0 ? std::min(usable, granted) : usable;
}

// Empty if the first word is a sub-command or an option.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return {};
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return std::string("accl_info: '") + argv[1] + "' is not a command; there are " + names +
         " (--help says more)\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what the library would do, without doing it."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "accl " ACCL_VERSION_TEXT ", with the interface of NCCL " +
                                        std::to_string(NCCL_MAJOR) + "." +
                                        std::to_string(NCCL_MINOR) + "." +
                                        std::to_string(NCCL_PATCH));
  accl::PlanRequest request;
  request.cores = cores_here();
  CLI::App* plan = app.add_subcommand("plan", "The program of a collective, step by step");
  add_plan_options(*plan, request);
  CLI::App* algorithms = app.add_subcommand("algorithms", "Prints docs/algorithms.md");
  CLI::App* env =
      app.add_subcommand("env", "Every setting: its value here, where that is from, what it does");
  if (const std::string text = unknown_command(app, argc, argv); !text.empty()) {
    std::cerr << text;
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  if (*plan) return run_plan(request);
  if (*algorithms) std::cout << accl::algorithms_page();
  if (*env) return run_env();
  return 0;
}
