// SPDX-License-Identifier: Apache-2.0
// Words of the command line: settings, suggestions, completion.
#include <gtest/gtest.h>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/suggest.h"
#include "cli/walk.h"

namespace lossless::cli {
namespace {

std::string fault(const std::vector<std::string>& settings) {
  const auto request = parse_ecn_settings("eth0", 3, settings);
  return request ? "" : request.error().message;
}

TEST(CliSetEcn, ReadsEverySetting) {
  const auto request =
      parse_ecn_settings("eth0", 3, {"kmin=100KB", "kmax=1MiB", "pmax=20%", "ewma=4", "enabled=off"});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->port(), "eth0");
  EXPECT_EQ(request->tc(), 3U);
  EXPECT_EQ(request->kmin_bytes(), 100'000U);
  EXPECT_EQ(request->kmax_bytes(), 1'048'576U);
  EXPECT_DOUBLE_EQ(request->pmax(), 0.2);
  EXPECT_EQ(request->ewma_shift(), 4U);
  EXPECT_FALSE(request->enabled());
}

TEST(CliSetEcn, WhatIsLeftOutStaysOut) {
  const auto request = parse_ecn_settings("eth0", 0, {"ewma=off"});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request->has_ewma_shift());
  EXPECT_EQ(request->ewma_shift(), 0U);
  EXPECT_FALSE(request->has_kmin_bytes() || request->has_kmax_bytes() || request->has_pmax() ||
               request->has_enabled());
}

TEST(CliSetEcn, FaultsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(fault({"kmn=1"}),
            "unknown setting 'kmn'; did you mean 'kmin'? (settings are kmin, kmax, pmax, ewma, enabled)");
  EXPECT_EQ(fault({"kmin"}), "'kmin' is not KEY=VALUE; settings are kmin, kmax, pmax, ewma, enabled");
  EXPECT_EQ(fault({"kmin=1", "kmin=2"}), "'kmin' is given twice");
  EXPECT_EQ(fault({"enabled=yes"}), "enabled: 'yes' is neither; allowed: on, off");
  EXPECT_TRUE(fault({"kmin=5XB"}).starts_with("kmin: '5XB' has no known unit")) << fault({"kmin=5XB"});
  EXPECT_TRUE(fault({"kmax="}).starts_with("kmax: ''")) << fault({"kmax="});
  for (const char* bad :
       {"pmax=0", "pmax=1.01", "pmax=20", "pmax=-1", "pmax=nan", "pmax=inf", "pmax=", "pmax=%", "pmax=1x"}) {
    EXPECT_TRUE(fault({bad}).starts_with("pmax: ")) << bad;
  }
  for (const char* bad : {"ewma=16", "ewma=-1", "ewma=", "ewma=4 ", "ewma=99999999999999"}) {
    EXPECT_TRUE(fault({bad}).starts_with("ewma: ")) << bad;
    EXPECT_TRUE(fault({bad}).ends_with("allowed: an integer from 0 to 15")) << fault({bad});
  }
  EXPECT_EQ(fault({}), "nothing to set; settings are kmin, kmax, pmax, ewma, enabled");
}

TEST(CliSuggest, FindsTheWordMeant) {
  const std::vector<std::string_view> words{"ports",        "queues",       "ecn",
                                            "priority-map", "capabilities", "version"};
  EXPECT_EQ(did_you_mean("prots", words), "; did you mean 'ports'?");
  EXPECT_EQ(did_you_mean("que", words), "; did you mean 'queues'?");
  EXPECT_EQ(did_you_mean("capabilites", words), "; did you mean 'capabilities'?");
  EXPECT_EQ(did_you_mean("ecm", words), "; did you mean 'ecn'?");
  EXPECT_EQ(did_you_mean("zzz", words), "");
  EXPECT_EQ(did_you_mean("", words), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'p'), words), "");
}

class CliCompletion : public testing::Test {
 protected:
  std::vector<std::string> candidates(const std::vector<std::string>& words) {
    const Names names{.ports =
                          [this](const std::string& instance, const std::string& socket) {
                            asked_ = instance + "|" + socket;
                            return std::vector<std::string>{"eth0", "eth1", "swp1"};
                          },
                      .instances = [] { return std::vector<std::string>{"a", "lab"}; },
                      .netns = [] { return std::vector<std::string>{"switch"}; }};
    std::vector<std::string> out;
    for (const auto& candidate : complete(*root_, words, names)) out.push_back(candidate.word);
    return out;
  }
  using Words = std::vector<std::string>;

  GlobalOptions options_;
  Action action_;
  std::unique_ptr<CLI::App> root_ = make_parser(options_, action_);
  std::string asked_;
};

TEST_F(CliCompletion, Commands) {
  EXPECT_EQ(candidates({""}), (Words{"show", "set", "pfc", "clear", "bgp", "zone", "default-zone",
                                     "hard-zoning", "config", "reload", "detach", "completion"}));
  EXPECT_EQ(candidates({"show", "p"}),
            (Words{"ports", "pfc", "pfc-watchdog", "packet-drop", "priority-map"}));
  EXPECT_EQ(candidates({"--json", "show", "que"}), Words{"queues"});
  EXPECT_EQ(candidates({"nonsense", ""}), Words{});
}

TEST_F(CliCompletion, Options) {
  EXPECT_EQ(candidates({"show", "queues", "--w"}), Words{"--watch"});
  EXPECT_EQ(candidates({"show", "ports", "--js"}), Words{"--json"});
  EXPECT_EQ(candidates({"--color", "a"}), (Words{"auto", "always"}));
  EXPECT_EQ(candidates({"--color=n"}), Words{"--color=never"});
  EXPECT_EQ(candidates({"--instance", ""}), (Words{"a", "lab"}));
  EXPECT_EQ(candidates({"detach", "--netns", ""}), Words{"switch"});
  EXPECT_EQ(candidates({"--socket", "/x"}), Words{":files"});
}

TEST_F(CliCompletion, Arguments) {
  EXPECT_EQ(candidates({"show", "ports", "e"}), (Words{"eth0", "eth1"}));
  EXPECT_EQ(candidates({"show", "ports", "eth0", ""}), Words{});
  EXPECT_EQ(candidates({"detach", "eth0", ""}), (Words{"eth1", "swp1"}));
  EXPECT_EQ(candidates({"config", "check", ""}), Words{":files"});
  EXPECT_EQ(candidates({"completion", ""}), (Words{"bash", "zsh"}));
  // A command of its own, or a port.
  EXPECT_EQ(candidates({"show", "pfc", ""}), (Words{"hook-flows", "eth0", "eth1", "swp1"}));
  EXPECT_EQ(candidates({"show", "pfc", "eth0", ""}), Words{});
  EXPECT_EQ(candidates({"show", "pfc", "hook-flows", ""}), Words{});
}

TEST_F(CliCompletion, PortsComeFromTheInstanceOnTheLine) {
  candidates({"--instance=lab", "show", "--socket", "/s", "ecn", ""});
  EXPECT_EQ(asked_, "lab|/s");
}

TEST_F(CliCompletion, SetEcn) {
  EXPECT_EQ(candidates({"set", "ecn", ""}), (Words{"eth0", "eth1", "swp1"}));
  EXPECT_EQ(candidates({"set", "ecn", "eth0", ""}).size(), 8U);
  EXPECT_EQ(candidates({"set", "ecn", "eth0", "3", "k"}), (Words{"kmin=", "kmax="}));
  EXPECT_EQ(candidates({"set", "ecn", "eth0", "3", "kmin=1", "k"}), Words{"kmax="});
  EXPECT_EQ(candidates({"set", "ecn", "eth0", "3", "enabled=o"}), (Words{"enabled=on", "enabled=off"}));
}

}  // namespace
}  // namespace lossless::cli
