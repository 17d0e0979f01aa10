// SPDX-License-Identifier: Apache-2.0
#include "loader/probe_io.h"

#include <bpf/btf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>

namespace lossless {
namespace {

constexpr const char* kBtf = "/sys/kernel/btf/vmlinux";

struct Needed {
  const char* name;
  const char* function;  // a function that the kernel's BTF has when the feature is there
  bool required;
  const char* detail;
};

constexpr Needed kNeeded[] = {
    {"tcx", "tcx_link_attach", true, "BPF links on ingress and egress of a port (kernel 6.6)"},
    {"kernel-context", "bpf_cast_to_kern_ctx", true, "the sk_buff behind a packet (kernel 6.2)"},
    {"typed-reads", "bpf_rdonly_cast", true, "queue depth, read from the qdisc itself (kernel 6.2)"},
    {"bpf-qdisc", "bpf_qdisc_skb_drop", false, "queueing engine in BPF (kernel 6.16, CONFIG_NET_SCH_BPF)"},
    {"skb-dynptr", "bpf_dynptr_from_skb", false, "dynamic packet pointers (kernel 6.4)"},
};

}  // namespace

std::string kernel_release() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "unknown";
}

std::vector<KernelFeature> probe_kernel() {
  const std::unique_ptr<btf, void (*)(btf*)> vmlinux(
      access(kBtf, R_OK) == 0 ? btf__load_vmlinux_btf() : nullptr, btf__free);
  std::vector<KernelFeature> features;
  features.push_back({"btf", vmlinux != nullptr, true,
                      vmlinux ? kBtf : std::string(kBtf) + " is missing (CONFIG_DEBUG_INFO_BTF)"});
  for (const Needed& need : kNeeded)
    features.push_back({need.name,
                        vmlinux && btf__find_by_name_kind(vmlinux.get(), need.function, BTF_KIND_FUNC) > 0,
                        need.required, need.detail});
  return features;
}

Status require_kernel() {
  std::string missing;
  for (const KernelFeature& feature : probe_kernel())
    if (feature.required && !feature.available)
      missing += (missing.empty() ? "" : "; ") + feature.name + ": " + feature.detail;
  if (missing.empty()) return {};
  return fail("kernel " + kernel_release() + " cannot run the datapath; missing: " + missing);
}

}  // namespace lossless
