// SPDX-License-Identifier: Apache-2.0
// endpoint: drives RoCEv2 hosts of a lab. See docs/endpoint.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/loop_io.h"
#include "veth-topo/endpoint/report.h"

namespace lossless::endpoint {
namespace {

constexpr int kExitFailed = 1;  // the run could not be set up, or its results not be written
constexpr int kExitBadConfig = 2;

int complain(int code, const std::string& what) {
  std::cerr << "endpoint: " << what << '\n';
  return code;
}

std::expected<std::string, std::string> read_all(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) return std::unexpected(path + ": cannot be read");
  return text;
}

bool write_all(const std::string& path, const std::string& text) {
  if (path == "-") return static_cast<bool>(std::cout << text << std::flush);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  return static_cast<bool>(out << text << std::flush);
}

int run(const std::string& config_path, const std::string& out_path, bool progress) {
  const auto text = read_all(config_path);
  if (!text) return complain(kExitBadConfig, text.error());
  const auto config = parse_config(*text);
  if (!config) return complain(kExitBadConfig, "configuration: " + config.error());
  LoopOptions options;
  if (progress) options.progress = [](const SeriesPoint& p) { std::cout << progress_json(p) << std::endl; };
  const auto results = run_loop(*config, options);
  if (!results) return complain(kExitFailed, results.error());
  if (!write_all(out_path, to_json(*results))) return complain(kExitFailed, out_path + ": cannot be written");
  if (!results->error.empty()) return complain(kExitFailed, results->error);
  return 0;
}

}  // namespace
}  // namespace lossless::endpoint

int main(int argc, char** argv) {
  CLI::App app{"Sends and receives RoCEv2 traffic for the hosts of a lab", "endpoint"};
  std::string config;
  std::string out = "-";
  bool progress = false;
  app.add_option("--config", config, "configuration in JSON; - reads standard input")->required();
  app.add_option("--out", out, "where the results go; - is standard output");
  app.add_flag("--progress", progress, "one JSON line per 100 ms on standard output while it runs");
  app.set_version_flag("--version", LL_VERSION);
  CLI11_PARSE(app, argc, argv);
  return lossless::endpoint::run(config, out, progress);
}
